package bundle

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func newStore(t *testing.T) *Store {
	dir := t.TempDir()
	t.Cleanup(func() { // every file has been unlinked
		if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
			t.Errorf("files are left: %v", left)
		}
	})
	return New(func() (*os.File, error) { return os.CreateTemp(dir, "*") })
}

func written(write func(io.Writer) error) Source { return Source{write, func() {}} }

func text(s string) Source {
	return written(func(w io.Writer) error { _, err := io.WriteString(w, s); return err })
}

// Callers of one key share one file, also if they come together.
func TestOnce(t *testing.T) {
	s := newStore(t)
	var made, done atomic.Int32
	content := strings.Repeat("x", 200_000)
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			f := s.Open("a", Source{func(w io.Writer) error { made.Add(1); return text(content).Write(w) }, func() { done.Add(1) }})
			defer f.Close()
			if b, err := io.ReadAll(f); err != nil || string(b) != content {
				t.Errorf("%d bytes, %v", len(b), err)
			}
			if whole := f.Whole(); whole == nil || whole.Size() != int64(len(content)) {
				t.Errorf("whole: %v", whole)
			}
		})
	}
	all.Wait()
	if made.Load() != 1 || done.Load() != 50 {
		t.Errorf("made %d times, %d of 50 sources done", made.Load(), done.Load())
	}
}

// A reader gets the bytes that are there while the rest is being made.
func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		goOn := make(chan error)
		f := s.Open("a", written(func(w io.Writer) error {
			io.WriteString(w, strings.Repeat("a", bufferBytes+1))
			if err := <-goOn; err != nil {
				return err
			}
			_, err := io.WriteString(w, "b")
			return err
		}))
		defer f.Close()
		if err := f.Begun(t.Context(), time.Second); err != nil || f.Whole() != nil {
			t.Fatalf("begun: %v, whole: %v", err, f.Whole())
		}
		b := make([]byte, bufferBytes)
		if _, err := io.ReadFull(f, b); err != nil {
			t.Fatal(err)
		}
		close(goOn)
		if rest, err := io.ReadAll(f); string(rest) != "ab" || err != nil {
			t.Errorf("%q, %v", rest, err)
		}
	})
}

// After a failure, which its readers get, the next caller tries again.
func TestFailure(t *testing.T) {
	s := newStore(t)
	broken := errors.New("broken")
	f := s.Open("a", written(func(w io.Writer) error { io.WriteString(w, "some"); return broken }))
	if _, err := io.ReadAll(f); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	f.Close()
	f = s.Open("a", text("good"))
	defer f.Close()
	if b, err := io.ReadAll(f); string(b) != "good" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
}

// The files used longest ago leave, except that their readers read them to the end.
func TestBounds(t *testing.T) {
	s := newStore(t)
	open := func(key string) *File {
		t.Helper()
		f := s.Open(key, text(key))
		if err := f.Begun(t.Context(), time.Hour); err != nil {
			t.Fatal(err)
		}
		return f
	}
	first := open("0")
	for n := 1; n < 3*maxFiles; n++ {
		open(fmt.Sprint(n)).Close()
	}
	if len(s.files) != maxFiles {
		t.Errorf("%d files, want %d", len(s.files), maxFiles)
	}
	if s.files["0"] != nil || s.files[fmt.Sprint(3*maxFiles-1)] == nil {
		t.Error("the wrong files have left")
	}
	if b, err := io.ReadAll(first); string(b) != "0" || err != nil {
		t.Errorf("the file in use has %q, %v", b, err)
	}
	first.Close()
	if first.entry.file != nil {
		t.Error("a file without users is still open")
	}
}

// A caller waits for other files for a while.
func TestBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		end := make(chan struct{})
		for n := range cap(s.making) {
			defer s.Open(fmt.Sprint("slow", n), written(func(io.Writer) error { <-end; return nil })).Close()
		}
		synctest.Wait()
		f := s.Open("other", text("there"))
		if err := f.Begun(t.Context(), time.Second); !errors.Is(err, ErrBusy) {
			t.Errorf("%v, want ErrBusy", err)
		}
		f.Close()
		close(end)
		synctest.Wait()
		f = s.Open("other", text("there"))
		if err := f.Begun(t.Context(), time.Second); err != nil {
			t.Error(err)
		}
		f.Close()
	})
}
