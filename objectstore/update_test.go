package objectstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
)

func TestUpdate(t *testing.T) {
	ctx := context.Background()
	b := Dir(t.TempDir())
	read := func() int {
		body, err := ReadAll(ctx, b, "n", 100)
		if errors.Is(err, ErrNotExist) {
			return 0
		}
		n, err := strconv.Atoi(string(body))
		if err != nil {
			t.Error(err)
		}
		return n
	}

	// Of concurrent updates none is lost.
	var group sync.WaitGroup
	for range 3 {
		group.Go(func() {
			if err := Update(ctx, b, "n", func() ([]byte, error) { return []byte(fmt.Sprint(read() + 1)), nil }); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if n := read(); n != 3 {
		t.Errorf("three updates give %d", n)
	}

	// An object that always changes is given up, and the content of the last try is not written.
	err := Update(ctx, b, "n", func() ([]byte, error) {
		content := fmt.Sprint(read() + 10)
		if err := Update(ctx, b, "n", func() ([]byte, error) { return []byte(content), nil }); err != nil {
			t.Error(err)
		}
		return []byte("0"), nil
	})
	if n := read(); !errors.Is(err, ErrChanged) || n != 3+10*updateTries {
		t.Errorf("an object that changes at every try: %v, %d", err, n)
	}

	// An error, and no content, leave the object alone.
	want := errors.New("no")
	if err := Update(ctx, b, "n", func() ([]byte, error) { return []byte("0"), want }); err != want || read() == 0 {
		t.Errorf("a change that fails: %v, %d", err, read())
	}
	if err := Update(ctx, b, "n", func() ([]byte, error) { return nil, nil }); err != nil || read() == 0 {
		t.Errorf("a change without content: %v, %d", err, read())
	}
}
