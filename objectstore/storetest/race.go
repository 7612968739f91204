package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/iconedge/iconedge/objectstore"
)

// replacedWhileRead checks that a reader reads the version that it opened, to its end.
func replacedWhileRead(t *testing.T, b objectstore.Bucket) {
	old := blob(8 << 20)
	put(t, b, "o", string(old))
	f, err := b.Open(t.Context(), "o")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := io.ReadFull(f, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	put(t, b, "o", "new")
	rest, err := io.ReadAll(f)
	if err != nil || !bytes.Equal(rest, old[1:]) {
		t.Errorf("the rest of the old object: %d bytes (%v), want %d", len(rest), err, len(old)-1)
	}
	wants(t, b, "o", "new")
}

// readersAndWriters checks that every reader sees one complete version.
func readersAndWriters(t *testing.T, b objectstore.Bucket) {
	version := func(i int) string { return strings.Repeat(strconv.Itoa(i%10), 1000*(i%10+1)) }
	put(t, b, "o", version(0))
	done := make(chan struct{})
	var readers, writers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for {
				got, err := objectstore.ReadAll(t.Context(), b, "o", 1<<20)
				if err != nil || len(got) == 0 || string(got) != version(int(got[0]-'0')) {
					t.Errorf("read %d bytes, %.20q… (%v), want one of the versions", len(got), got, err)
					return
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	for w := range 2 {
		writers.Go(func() {
			for i := range 20 {
				content := version(i + w)
				if err := b.Put(t.Context(), "o", strings.NewReader(content), int64(len(content))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	close(done)
	readers.Wait()
}

// oneWins checks that of several writers that create an object at once, exactly one succeeds.
func oneWins(t *testing.T, b objectstore.Bucket) {
	for round := range 5 {
		key := fmt.Sprintf("round/%d", round)
		errs := make([]error, 8)
		var writers sync.WaitGroup
		for i := range errs {
			writers.Go(func() {
				errs[i] = b.PutIf(t.Context(), key, strings.NewReader(strconv.Itoa(i)), 1, "")
			})
		}
		writers.Wait()
		winner := slices.Index(errs, nil)
		if winner < 0 {
			t.Fatalf("no writer succeeded: %v", errs)
		}
		for i, err := range errs {
			if i != winner && !errors.Is(err, objectstore.ErrChanged) {
				t.Errorf("writer %d: %v, want ErrChanged, because writer %d succeeded", i, err, winner)
			}
		}
		wants(t, b, key, strconv.Itoa(winner))
	}
}

// noLostUpdate checks that a number which several writers increment on the condition of its ETag
// ends with the right value.
func noLostUpdate(t *testing.T, b objectstore.Bucket) {
	put(t, b, "n", "0")
	var writers sync.WaitGroup
	for range 4 {
		writers.Go(func() {
			for range 5 {
				if err := count(t, b, "n"); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	writers.Wait()
	wants(t, b, "n", "20")
}

// count increments the number in an object, and tries again as often as other writers interfere.
func count(t *testing.T, b objectstore.Bucket, key string) error {
	for {
		info, err := b.Stat(t.Context(), key)
		if err != nil {
			return err
		}
		old, err := objectstore.ReadAll(t.Context(), b, key, 100)
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(string(old))
		if err != nil {
			return err
		}
		content := strconv.Itoa(n + 1)
		err = b.PutIf(t.Context(), key, strings.NewReader(content), int64(len(content)), info.ETag)
		if !errors.Is(err, objectstore.ErrChanged) {
			return err
		}
	}
}

// longList lists more objects than one answer of S3 holds, which is 1,000.
func longList(t *testing.T, b objectstore.Bucket) {
	var want []string
	for i := range 1005 {
		want = append(want, fmt.Sprintf("many/%04d", i))
	}
	var writers sync.WaitGroup
	for part := range slices.Chunk(want, 100) {
		writers.Go(func() {
			for _, key := range part {
				if err := b.Put(t.Context(), key, strings.NewReader("x"), 1); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	if got := keys(t, b, "many/"); !slices.Equal(got, want) {
		t.Errorf("List names %d objects, want %d in order", len(got), len(want))
	}
}
