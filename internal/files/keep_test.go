package files

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// TestKept checks that files are read when one of them has changed and settled, and on a signal,
// and that each result is reported.
func TestKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		paths := []string{filepath.Join(dir, "a"), filepath.Join(dir, "b")}
		fails := errors.New("it can't be used")
		var mu sync.Mutex // the race detector does not treat the fake clock as synchronisation
		readings, answer, reported := 0, error(nil), []error{}
		do := func(f func()) { mu.Lock(); defer mu.Unlock(); f() }
		k := Watch(func(time.Time) (err error) { do(func() { readings++; err = answer }); return err }, paths...)
		if err := k.Reload(time.Now()); err != nil || readings != 1 {
			t.Fatalf("%v after %d readings", err, readings)
		}
		ctx, stop := context.WithCancel(t.Context())
		signals, done := make(chan os.Signal, 1), make(chan struct{})
		go func() {
			defer close(done)
			k.Run(ctx, signals, func(err error) { do(func() { reported = append(reported, err) }) })
		}()
		for _, step := range []struct {
			do   func()
			want []error // the results that are reported
		}{
			{func() {}, nil},
			{func() { os.WriteFile(paths[1], []byte("x"), 0o600); answer = fails }, []error{fails}},
			{func() { signals <- syscall.SIGHUP; answer = nil }, []error{nil}},
			{func() { os.Remove(paths[1]) }, []error{nil}},
		} {
			do(func() { reported = nil; step.do() })
			time.Sleep(3*Every + time.Millisecond)
			do(func() {
				if !slices.Equal(reported, step.want) {
					t.Errorf("reported %v, want %v", reported, step.want)
				}
			})
		}
		stop()
		<-done
	})
}
