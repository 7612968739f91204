package files

import (
	"context"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
)

// Each receiver gets a signal, also where another does not look at its own.
func TestSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		said := make(chan os.Signal)
		all := Spread(ctx, said, 3)
		said <- syscall.SIGHUP
		said <- syscall.SIGHUP
		synctest.Wait()
		for i, c := range all {
			if len(c) != 1 {
				t.Errorf("receiver %d has %d signals, want 1", i, len(c))
			}
		}
		<-all[1]
		said <- syscall.SIGHUP
		synctest.Wait()
		if len(all[1]) != 1 {
			t.Error("a receiver that has looked gets no further signal")
		}
		stop()
		synctest.Wait()
	})
}
