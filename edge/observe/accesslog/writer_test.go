package accesslog

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// A disk accepts bytes until it is full.
type disk struct {
	mu     sync.Mutex
	file   bytes.Buffer
	buf    int
	writes int
}

func (d *disk) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.writes++
	n, err := min(len(p), d.buf), error(nil)
	if n < len(p) {
		err = syscall.ENOSPC
	}
	d.buf -= n
	d.file.Write(p[:n])
	return n, err
}

func (d *disk) grow(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.buf += n
}

func (d *disk) Close() error { return nil }

// state returns the number of writes and the content.
func (d *disk) state() (writes int, file string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.writes, d.file.String()
}

// lines counts the lines of a file, each of which must be whole.
func lines(t *testing.T, file string) int {
	t.Helper()
	n := 0
	for line := range strings.Lines(file) {
		if n++; !strings.HasSuffix(line, "\n") || !json.Valid([]byte(line)) {
			t.Fatalf("line %d is %q", n, line)
		}
	}
	return n
}

func logger(to *bytes.Buffer) *slog.Logger { return slog.New(slog.NewTextHandler(to, nil)) }

func TestLinesAreGathered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{buf: 1 << 20}
		l := start(Config{Sample: 1}, d)
		for range 10 {
			l.Write(&full)
		}
		synctest.Wait()
		if writes, _ := d.state(); writes != 0 {
			t.Error("a line was written before others could join it")
		}
		time.Sleep(gatherDelay)
		synctest.Wait()
		if writes, file := d.state(); writes != 1 || lines(t, file) != 10 || l.Stats() != (Stats{10, 0}) {
			t.Errorf("%d writes, %+v, want one of 10 lines", writes, l.Stats())
		}
		for range flushSize / 100 {
			l.Write(&full)
		}
		synctest.Wait() // no time passes
		if n := l.Stats().Written; n < flushSize/500 {
			t.Errorf("%d lines written at once from a large queue", n)
		}
		l.Write(&full)
		l.Close()
		if n := lines(t, d.file.String()); n != 10+flushSize/100+1 {
			t.Errorf("%d lines after Close", n)
		}
	})
}

// While the disk is full, Write does not block, lines that do not fit are counted and one warning
// is logged. When there is space again, whole lines are written in order, the queued ones first.
func TestFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logged bytes.Buffer
		d := &disk{buf: 1000} // two and a half lines
		l := start(Config{Sample: 1, File: "x", Log: logger(&logged)}, d)
		written := int64(2 * maxQueue / 300)
		for range written {
			l.Write(&full)
			time.Sleep(time.Millisecond)
		}
		synctest.Wait()
		if s := l.Stats(); s.Written != 2 || s.Dropped == 0 || strings.Count(logged.String(), "level=WARN") != 1 {
			t.Fatalf("%+v, want two lines written and some dropped; logged %s", s, logged.String())
		}
		d.grow(1 << 30)
		time.Sleep(retryDelay)
		synctest.Wait()
		if s := l.Stats(); s.Written+s.Dropped != written || strings.Count(logged.String(), "written again") != 1 {
			t.Errorf("%+v, want all of %d counted; logged %s", s, written, logged.String())
		}
		l.Write(&full)
		l.Close()
		if n := int64(lines(t, d.file.String())); n != l.Stats().Written {
			t.Errorf("%d lines in the file, %+v", n, l.Stats())
		}
	})
}

// A file that blocks delays neither Write nor Close for longer than closeTimeout.
func TestBlockedFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := blocked(make(chan struct{}))
		defer close(out)
		l := start(Config{Sample: 1, Log: slog.New(slog.DiscardHandler)}, out)
		for range 2 * maxQueue / 300 {
			l.Write(&full)
		}
		time.Sleep(time.Second)
		l.Write(&full)
		if l.Stats().Dropped == 0 {
			t.Error("no line was dropped")
		}
		began := time.Now()
		if l.Close(); time.Since(began) != closeTimeout {
			t.Errorf("closed after %v", time.Since(began))
		}
	})
}

type blocked chan struct{}

func (s blocked) Write(p []byte) (int, error) { <-s; return 0, errors.New("gone") }
func (s blocked) Close() error                { return nil }

func TestReopened(t *testing.T) {
	file := filepath.Join(t.TempDir(), "access.log")
	hangup := make(chan os.Signal)
	var logged bytes.Buffer
	l, err := Open(Config{File: file, Sample: 1, Reopen: hangup, Log: logger(&logged)})
	if err != nil {
		t.Fatal(err)
	}
	l.Write(&full)
	os.Rename(file, file+".1")
	hangup <- syscall.SIGHUP
	hangup <- syscall.SIGHUP // accepted once the first signal has been handled
	l.Write(&full)
	l.Write(&full)
	l.Close()
	for name, want := range map[string]int{file + ".1": 1, file: 2} {
		b, err := os.ReadFile(name)
		if got := lines(t, string(b)); err != nil || got != want {
			t.Errorf("%s has %d lines, want %d: %v", name, got, want, err)
		}
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm()&0o007 != 0 {
		t.Errorf("the file is readable for others: %v, %v", info.Mode(), err)
	}
}

// The new file begins with a whole line if the previous file ends in the middle of one.
func TestReopenedMidLine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "access.log")
	hangup := make(chan os.Signal)
	var logged bytes.Buffer
	l := start(Config{File: file, Sample: 1, Reopen: hangup, Log: logger(&logged)}, &disk{buf: 100})
	l.Write(&full)
	l.Write(&full)
	hangup <- syscall.SIGHUP
	l.Close()
	b, _ := os.ReadFile(file)
	if n := lines(t, string(b)); n != 1 || l.Stats() != (Stats{1, 1}) {
		t.Errorf("%d lines, %+v", n, l.Stats())
	}
}

func TestReopenFails(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "logs", "access.log")
	os.Mkdir(filepath.Dir(file), 0o755)
	hangup := make(chan os.Signal)
	var logged bytes.Buffer
	l, err := Open(Config{File: file, Sample: 1, Reopen: hangup, Log: logger(&logged)})
	if err != nil {
		t.Fatal(err)
	}
	os.Rename(filepath.Dir(file), filepath.Join(dir, "old"))
	hangup <- syscall.SIGHUP
	l.Write(&full)
	l.Close()
	b, _ := os.ReadFile(filepath.Join(dir, "old", "access.log"))
	if n := lines(t, string(b)); n != 1 || strings.Count(logged.String(), "level=WARN") != 1 {
		t.Errorf("%d lines in the renamed file, logged %s", n, logged.String())
	}
}

func TestOpenFails(t *testing.T) {
	if _, err := Open(Config{File: filepath.Join(t.TempDir(), "none", "x")}); err == nil ||
		!strings.HasPrefix(err.Error(), "opening the access log: ") {
		t.Errorf("%v", err)
	}
}

func TestSampled(t *testing.T) {
	const n = 100_000
	for _, row := range []struct {
		sample     float64
		status     int
		least, top int
	}{{0, 200, 0, 0}, {0, 503, n, n}, {0.01, 503, n, n}, {1, 200, n, n}, {0.01, 404, n / 200, n / 50}} {
		l := &Log{config: Config{Sample: row.sample}}
		logs := 0
		for range n {
			if l.Sampled(row.status, nil) {
				logs++
			}
		}
		if logs < row.least || logs > row.top {
			t.Errorf("%d responses of %d with status %d get a line at a sample of %v, want %d to %d", logs, n,
				row.status, row.sample, row.least, row.top)
		}
	}
	var none *Log
	if none.Close(); none.Sampled(503, nil) || none.Stats() != (Stats{}) {
		t.Error("a nil Log wants lines")
	}
}

func BenchmarkWrite(b *testing.B) {
	l := start(Config{Sample: 1}, &disk{buf: 1 << 60})
	defer l.Close()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			l.Write(&full)
		}
	})
}

func BenchmarkLine(b *testing.B) {
	var buf [1 << 10]byte
	b.ReportAllocs()
	for b.Loop() {
		full.append(buf[:0])
	}
}
