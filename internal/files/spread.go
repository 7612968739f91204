package files

import (
	"context"
	"os"
)

// Spread copies each signal to n channels, until ctx ends. It drops a copy if its receiver has not
// taken the previous one yet.
func Spread(ctx context.Context, signals <-chan os.Signal, n int) []chan os.Signal {
	all := make([]chan os.Signal, n)
	for i := range all {
		all[i] = make(chan os.Signal, 1)
	}
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case s := <-signals:
				for _, c := range all {
					select {
					case c <- s:
					default:
					}
				}
			}
		}
	}()
	return all
}
