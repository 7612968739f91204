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
		defer endBy(ctx, stopWithin, exit(std))()
		return run(ctx, std, args)
	}
}

// exit returns a function that ends the process.
func exit(std cli.Streams) func() {
	return func() {
		fmt.Fprintln(std.Err, "iconedge: stopped")
		os.Exit(1)
	}
}

// endBy calls end if the command still runs some time after a signal, which cancels ctx. The
// command calls the returned function when it returns, so that end is not called after that.
func endBy(ctx context.Context, within time.Duration, end func()) (returned func()) {
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() {
		select {
		case <-time.After(within):
			end()
		case <-running.Done():
		}
	})
	return stop
}
