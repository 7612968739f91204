//go:build linux

package h2load

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestParse reads outputs of h2load 1.52, from an nginx with alternating responses of 1,000 and
// 2,000 bytes.
func TestParse(t *testing.T) {
	two := Config{Requests: 2000}
	for _, row := range []struct {
		file   string
		config Config
		data   int64
		wrong  string // part of Wrong's result; empty: nothing is wrong
	}{
		{"h2.txt", two, 3_000_000, ""},
		{"h2.txt", two, 2_999_999, "3000000 bytes in total, want 2999999"},
		{"h2.txt", Config{Requests: 2001}, 3_000_000, "of 2001 requests 2000 were answered"},
		{"h2.txt", Config{Requests: 2000, Protocol: HTTP1}, 3_000_000, "h2 over TLSv1.3, want http/1.1"},
		{"http1.txt", Config{Requests: 2000, Protocol: HTTP1}, 3_000_000, ""},
		{"notfound.txt", two, 1_153_000, "1000 with 2xx"},
		// closed by GOAWAY, as nginx does after keepalive_requests
		{"closed.txt", Config{Requests: 8000}, 6_000_000, "4000 errors"},
		{"refused.txt", two, 0, "of 2000 requests 0 were answered"},
	} {
		b, err := os.ReadFile(filepath.Join("testdata", row.file))
		if err != nil {
			t.Fatal(err)
		}
		r, err := Parse(b)
		if err != nil {
			t.Errorf("%s: %v", row.file, err)
			continue
		}
		got := r.Wrong(&row.config, row.data)
		if (got == "") != (row.wrong == "") || !strings.Contains(got, row.wrong) {
			t.Errorf("%s, %+v: %q is wrong, want %q", row.file, row.config, got, row.wrong)
		}
		if row.file != "refused.txt" && (r.Mean <= 0 || r.Max < r.Mean || r.Cipher != "TLS_AES_128_GCM_SHA256") {
			t.Errorf("%s: %+v", row.file, r)
		}
	}
}

func TestParseOthers(t *testing.T) {
	whole, err := os.ReadFile("testdata/h2.txt")
	if err != nil {
		t.Fatal(err)
	}
	summary := string(whole)
	for _, printed := range []string{
		"", "requests: many total", summary[:strings.Index(summary, "traffic:")],
		strings.Replace(summary, "2000 total, ", "2000 total ", 1), strings.Replace(summary, ") data", " bytes", 1),
	} {
		if r, err := Parse([]byte(printed)); err == nil {
			t.Errorf("%+v was read from %q", r, printed)
		}
	}
}

// FuzzParse: lines that Parse does not know change nothing.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, printed []byte) {
		r, err := Parse(printed)
		again, errAgain := Parse([]byte("progress: 10% done\n\n" + string(printed) + "\nreq/s: 1 1 1"))
		if (err == nil) != (errAgain == nil) || err == nil && *r != *again {
			t.Fatalf("%+v (%v) with other lines becomes %+v (%v)", r, err, again, errAgain)
		}
	})
}

func TestArgs(t *testing.T) {
	c := Config{URLs: "list", Protocol: HTTP1, Conns: 64, Streams: 1, Requests: 6400, Fields: []string{"Accept: x"}}
	want := strings.Fields("-t 1 -i list -c 64 -m 1 -n 6400 --h1 -H")
	if got := c.args(); !slices.Equal(got, append(want, "Accept: x")) {
		t.Errorf("%q", got)
	}
}

// script returns a program that replaces h2load.
func script(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "h2load")
	if err := os.WriteFile(name, []byte("#!/bin/sh\n"+text), 0o700); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestRun(t *testing.T) {
	printed, err := filepath.Abs("testdata/h2.txt")
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	meter := func() (time.Duration, error) {
		read++
		return time.Duration(read*read) * time.Millisecond, nil // 1 ms, then 4 ms
	}
	r, err := Run(t.Context(), Config{Program: script(t, "cat "+printed), Requests: 2000, Meter: meter})
	if err != nil {
		t.Fatal(err)
	}
	if read != 2 || r.Done != 2000 || r.CPU != 3*time.Millisecond || r.Time <= 0 {
		t.Errorf("the clock was read %d times: %+v", read, r)
	}
}

func TestRunFails(t *testing.T) {
	broken := errors.New("no clock")
	still := func() (time.Duration, error) { return 0, nil }
	for _, row := range []struct {
		name, script string
		meter        func() (time.Duration, error)
		want         string
	}{
		{"it complains", "echo cannot go on >&2; exit 3", still, "exit status 3: cannot go on"},
		{"it says nothing", "true", still, "printed no summary"},
		{"the server's clock is gone", "true", func() (time.Duration, error) { return 0, broken }, broken.Error()},
	} {
		_, err := Run(t.Context(), Config{Program: script(t, row.script), Meter: row.meter})
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v, want %q", row.name, err, row.want)
		}
	}
}

// TestRunStops: the error of a cancelled run is that of the context, not that of the killed
// process.
func TestRunStops(t *testing.T) {
	begun := filepath.Join(t.TempDir(), "begun")
	if err := syscall.Mkfifo(begun, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		os.ReadFile(begun) // waits until the script has written
		stop()
	}()
	c := Config{Program: script(t, "echo > "+begun+"; exec sleep 60"), Meter: func() (time.Duration, error) { return 0, nil }}
	if _, err := Run(ctx, c); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want %v", err, context.Canceled)
	}
}
