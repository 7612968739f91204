package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"time"

	"github.com/iconedge/iconedge/internal/cli"
)

// stopWithin is how long a command may take to end after a signal: longer, and whoever sent it kills the process. Every command
// ends by itself, as soon as it next looks at its context; this is for one that can't, because a disk does not answer, say.
const stopWithin = 4500 * time.Millisecond

// defaultDrain is what --drain 0 means to the servers.
const defaultDrain = 15 * time.Second

// drained is when a server ends that has a while to drain, at the latest.
func drained(drain time.Duration) time.Duration { return cmp.Or(drain, defaultDrain) + stopWithin }

// endBy ends the process when it has not ended by itself some time after a signal. Servers have their --drain, and this on top.
func endBy(ctx context.Context, std cli.Streams, within time.Duration) {
	context.AfterFunc(ctx, func() {
		time.AfterFunc(within, func() {
			fmt.Fprintln(std.Err, "iconedge: stopped")
			os.Exit(1)
		})
	})
}

// stopping returns a command that ends within stopWithin after a signal. Servers use their --drain
// instead.
func stopping(run func(context.Context, cli.Streams, []string) error) func(context.Context, cli.Streams, []string) error {
	return func(ctx context.Context, std cli.Streams, args []string) error {
		endBy(ctx, std, stopWithin)
		return run(ctx, std, args)
	}
}
