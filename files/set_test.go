package files

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/iconedge/iconedge/logtest"
)

// The files that are named are read again, and what came of it is logged by the flag that names them; all that can't be used are told at once.
func TestSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var log logtest.Log
		readings := map[string]int{}
		open := func(path string) (*Kept, error) {
			k := NewKept(func(time.Time) error {
				mu.Lock()
				defer mu.Unlock()
				if readings[path]++; path == "bad" || path == "worse" || readings[path] > 1 && path == "later-bad" {
					return errors.New(path)
				}
				return nil
			}, path)
			return k, k.Reload(time.Now())
		}
		var broken, s Set
		broken.Add("--a", "bad", open)
		broken.Add("--b", "worse", open)
		if err := broken.Err(); err == nil || err.Error() != "--a: bad\n--b: worse" {
			t.Errorf("error is %v", err)
		}
		s.Add("--none", "", open)
		s.Add("--good", "good", open)
		s.Add("--later", "later-bad", open)
		if err := s.Err(); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		said := make(chan os.Signal, 1)
		go s.Run(ctx, said, log.Logger())
		said <- syscall.SIGHUP
		synctest.Wait()
		stop()
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if readings["good"] != 2 || readings["later-bad"] != 2 || readings[""] != 0 {
			t.Errorf("readings: %v", readings)
		}
		if got := log.String(); !strings.Contains(got, "flag=--later err=later-bad") || !strings.Contains(got, `msg="a file was read again" flag=--good`) {
			t.Errorf("log is %s", got)
		}
	})
}
