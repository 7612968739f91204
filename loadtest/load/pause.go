package load

import (
	"context"
	"time"
)

// Pause waits, unless ctx ends: then the error is that of ctx.
func Pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
