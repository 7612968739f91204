package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"time"

	"github.com/iconedge/iconedge/internal/cli"
)

// stopWithin is how long a command may take to end after a signal, because service managers kill a
// process that takes much longer. Every command ends by itself as soon as it next checks its
// context; the limit is for a command that can't check it because a disk does not answer.
const stopWithin = 4500 * time.Millisecond

// defaultDrain is the value that servers use for --drain 0.
const defaultDrain = 15 * time.Second

// drained returns how long a server may take to end: the time of its drain, and stopWithin.
func drained(drain time.Duration) time.Duration { return cmp.Or(drain, defaultDrain) + stopWithin }

// prompt makes a command end within stopWithin of a signal.
func prompt(run func(context.Context, cli.Streams, []string) error) func(context.Context, cli.Streams, []string) error {
	return func(ctx context.Context, std cli.Streams, args []string) error {
		endBy(ctx, std, stopWithin)
		return run(ctx, std, args)
	}
}

// endBy ends the process if it still runs some time after a signal.
func endBy(ctx context.Context, std cli.Streams, within time.Duration) {
	context.AfterFunc(ctx, func() {
		time.AfterFunc(within, func() {
			fmt.Fprintln(std.Err, "iconedge: stopped")
			os.Exit(1)
		})
	})
}
