// Package vhoststest makes the sites of a configuration file for tests.
package vhoststest

import (
	"flag"
	"log/slog"
	"testing"
	"time"

	"github.com/iconedge/iconedge/config/flags"
	"github.com/iconedge/iconedge/edge/clock"
	"github.com/iconedge/iconedge/edge/vhosts"
)

// New returns the sites of a file, whose origins are never asked.
func New(t testing.TB, now clock.Clock, file string) *vhosts.Set {
	t.Helper()
	loaded, err := flags.Parse("edge.yaml", []byte(file), func() *flag.FlagSet { return flag.NewFlagSet("edge", flag.ContinueOnError) })
	if err != nil {
		t.Fatal(err)
	}
	b := &vhosts.Builder{Life: t.Context(), Drain: time.Second, Log: slog.New(slog.DiscardHandler), Clock: now}
	set, err := b.Build(loaded, func(*vhosts.Set) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return set
}
