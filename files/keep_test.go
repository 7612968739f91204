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

// Files are read when one of them has changed and is no longer being written, and when somebody says so; each reading is told of.
func TestKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		paths := []string{filepath.Join(dir, "a"), filepath.Join(dir, "b")}
		fails := errors.New("it can't be used")
		var mu sync.Mutex // time orders nothing for the race detector
		readings, answer, told := 0, error(nil), []error{}
		do := func(f func()) { mu.Lock(); defer mu.Unlock(); f() }
		k := NewKept(func(time.Time) (err error) { do(func() { readings++; err = answer }); return err }, paths...)
		if err := k.Reload(time.Now()); err != nil || readings != 1 {
			t.Fatalf("%v after %d readings", err, readings)
		}
		ctx, stop := context.WithCancel(t.Context())
		said, done := make(chan os.Signal, 1), make(chan struct{})
		go func() {
			defer close(done)
			k.Run(ctx, said, func(err error) { do(func() { told = append(told, err) }) })
		}()
		for _, step := range []struct {
			do   func()
			want []error // that are told
		}{
			{func() {}, nil},
			{func() { os.WriteFile(paths[1], []byte("x"), 0o600); answer = fails }, []error{fails}},
			{func() { said <- syscall.SIGHUP; answer = nil }, []error{nil}},
			{func() { os.Remove(paths[1]) }, []error{nil}},
		} {
			do(func() { told = nil; step.do() })
			time.Sleep(3*Every + time.Millisecond)
			do(func() {
				if !slices.Equal(told, step.want) {
					t.Errorf("told %v, want %v", told, step.want)
				}
			})
		}
		stop()
		<-done
	})
}
