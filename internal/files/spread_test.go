package files

import (
	"context"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
)

// Each receiver gets a signal, even if another receiver has not taken its own.
func TestSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		signals := make(chan os.Signal)
		all := Spread(ctx, signals, 3)
		signals <- syscall.SIGHUP
		signals <- syscall.SIGHUP
		synctest.Wait()
		for i, c := range all {
			if len(c) != 1 {
				t.Errorf("receiver %d has %d signals, want 1", i, len(c))
			}
		}
		<-all[1]
		signals <- syscall.SIGHUP
		synctest.Wait()
		if len(all[1]) != 1 {
			t.Error("a receiver that has taken its signal gets no further one")
		}
		stop()
		synctest.Wait()
	})
}
