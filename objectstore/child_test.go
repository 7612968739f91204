//go:build unix

package objectstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/iconedge/iconedge/objectstore"
)

// child is what another process does with the store; it returns the exit status.
func child(what string, b objectstore.Bucket) int {
	if err := map[string]func(context.Context, objectstore.Bucket) error{
		"count": countTo25, "put": putInput, "full": putTooMuch,
	}[what](context.Background(), b); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func countTo25(ctx context.Context, b objectstore.Bucket) error {
	for done := 0; done < 25; {
		info, err := b.Stat(ctx, "n")
		if err != nil {
			return err
		}
		old, err := objectstore.ReadAll(ctx, b, "n", 100)
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(string(old))
		if err != nil {
			return err
		}
		content := strconv.Itoa(n + 1)
		err = b.PutIf(ctx, "n", strings.NewReader(content), int64(len(content)), info.ETag)
		switch {
		case err == nil:
			done++
		case !errors.Is(err, objectstore.ErrChanged):
			return err
		}
	}
	return nil
}

func putInput(ctx context.Context, b objectstore.Bucket) error {
	// A byte to the parent when a megabyte was asked for: the ones before are written then.
	return b.Put(ctx, "a", &tells{r: os.Stdin, left: 1 << 20}, -1)
}

type tells struct {
	r    io.Reader
	left int
}

func (t *tells) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	if t.left > 0 && t.left <= n {
		os.Stdout.WriteString("!")
	}
	t.left -= n
	return n, err
}

func putTooMuch(ctx context.Context, b objectstore.Bucket) error {
	signal.Ignore(syscall.SIGXFSZ) // then write fails, as on a full disk
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 1 << 20, Max: 1 << 20}); err != nil {
		return err
	}
	err := b.Put(ctx, "a", bytes.NewReader(make([]byte, 2<<20)), 2<<20)
	if err == nil {
		return errors.New("two megabytes were written where one fits")
	}
	fmt.Println(err)
	return nil
}
