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

	"github.com/iconedge/iconedge/internal/logtest"
)

// TestSet checks that the named files are read again, that the log names the flag of each result,
// and that Err reports all files that can't be used.
func TestSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var log logtest.Log
		readings := map[string]int{}
		open := func(path string) (*Watched, error) {
			k := Watch(func(time.Time) error {
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
			t.Errorf("error: %v", err)
		}
		s.Add("--none", "", open)
		s.Add("--good", "good", open)
		s.Add("--later", "later-bad", open)
		if err := s.Err(); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		signals := make(chan os.Signal, 1)
		go s.Run(ctx, signals, log.Logger())
		signals <- syscall.SIGHUP
		synctest.Wait()
		stop()
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if readings["good"] != 2 || readings["later-bad"] != 2 || readings[""] != 0 {
			t.Errorf("readings: %v", readings)
		}
		if got := log.String(); !strings.Contains(got, "flag=--later err=later-bad") ||
			!strings.Contains(got, `msg="file read again" flag=--good`) {
			t.Errorf("log: %s", got)
		}
	})
}
