package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"time"
)

// stopWithin is how long a command may take to end after a signal: service managers kill a process that takes much longer. Every
// command ends by itself, as soon as it next looks at its context; the limit is for one that can't because a disk does not answer.
const stopWithin = 4500 * time.Millisecond

// defaultDrain is what --drain 0 means to the servers.
const defaultDrain = 15 * time.Second

// drained is how long a server may take to end: the time that it has to drain, and stopWithin.
func drained(drain time.Duration) time.Duration { return cmp.Or(drain, defaultDrain) + stopWithin }

// endBy ends the process when it has not ended by itself some time after a signal. Servers have their --drain, and this on top.
func endBy(ctx context.Context, std streams, within time.Duration) {
	context.AfterFunc(ctx, func() {
		time.AfterFunc(within, func() {
			fmt.Fprintln(std.err, "iconedge: stopped")
			os.Exit(1)
		})
	})
}
