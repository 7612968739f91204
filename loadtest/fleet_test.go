//go:build linux

package main

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/internal/cli"
	"github.com/iconedge/iconedge/loadtest/fleet"
)

func TestFleetFlags(t *testing.T) {
	for _, row := range []struct {
		args string
		want string // part of the error; empty: no error
	}{
		{"", ""},
		{"--shields 1 --clients 2 --phase 1s", ""},
		{"--shields 0", "--shields"},
		{"--clients 1", "--clients"},
		{"--rate 0", "--rate"},
		{"--icons 10", "--icons"},
		{"--phase 1ms", "--phase"},
	} {
		fs, c := program.Flags("fleet", "", fleetHelp), fleet.Config{}
		fleetFlags(fs, &c)
		if err := fs.Parse(cli.Streams{Out: io.Discard, Err: io.Discard}, strings.Fields(row.args)); err != nil {
			t.Fatal(err)
		}
		switch err := c.Validate(); {
		case row.want == "" && err != nil, row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)):
			t.Errorf("fleet %s: %v, want %q", row.args, err, row.want)
		}
	}
}

// TestUnread: a pipe without a reader is unread; a file never is.
func TestUnread(t *testing.T) {
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if unread(out) {
		t.Error("a pipe with a reader counts as unread")
	}
	in.Close()
	if !unread(out) {
		t.Error("a pipe without a reader counts as read")
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if unread(null) {
		t.Error("a file counts as a pipe without a reader")
	}
}
