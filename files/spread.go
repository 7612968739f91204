package files

import (
	"context"
	"os"
)

// Spread gives each of n receivers every signal of said, until ctx ends. A receiver that has one to look at already gets no second one.
func Spread(ctx context.Context, said <-chan os.Signal, n int) []chan os.Signal {
	all := make([]chan os.Signal, n)
	for i := range all {
		all[i] = make(chan os.Signal, 1)
	}
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case s := <-said:
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
