//go:build linux

// Package library measures what a library of icons costs: to publish, to publish again with one
// changed pack, and an origin that serves it.
package library

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/iconedge/iconedge/loadtest/peers"
	"github.com/iconedge/iconedge/loadtest/report"
)

// Config describes a measurement.
type Config struct {
	Program string // iconedge
	Library string // folder in the form of @iconify/json; the measurement changes one of its packs
	Dir     string // for the store, the mirror and temporary files
	Log     io.Writer
}

// A measurement is one in progress.
type measurement struct {
	Config
	store string // folder
	table report.Table
}

// Run measures. The table has the figures that were measured until an error.
func Run(ctx context.Context, c Config) (report.Table, error) {
	m := &measurement{Config: c, store: filepath.Join(c.Dir, "store"), table: report.Table{Head: []string{"figure", "measured"}}}
	err := m.publish(ctx, "publishing")
	if err == nil {
		err = m.sizes()
	}
	if err == nil {
		err = m.change()
	}
	if err == nil {
		err = m.publish(ctx, "publishing again with one pack changed")
	}
	if err == nil {
		err = m.serve(ctx)
	}
	return m.table, errors.Join(err, ctx.Err())
}

// add adds a figure.
func (m *measurement) add(name, format string, values ...any) {
	value := fmt.Sprintf(format, values...)
	fmt.Fprintf(m.Log, "%s: %s\n", name, value)
	m.table.Rows = append(m.table.Rows, []string{name, value})
}

func megabytes(bytes int64) string { return report.Grouped(float64(bytes)/1e6) + " MB" }

// publish publishes the library, and measures the process.
func (m *measurement) publish(ctx context.Context, name string) error {
	cmd := exec.CommandContext(ctx, m.Program, "publish", "--store", "dir:"+m.store, "--work", filepath.Join(m.Dir, "work"), m.Library)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	var errs bytes.Buffer
	cmd.Stderr = &errs
	began, peak := time.Now(), int64(0)
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	var err error
	for running := true; running; {
		select {
		case err = <-ended:
			running = false
		case <-time.After(100 * time.Millisecond):
			if n, err := peers.Peak(cmd.Process.Pid); err == nil {
				peak = n
			}
		}
	}
	if err != nil {
		words := errs.String()
		return fmt.Errorf("publishing: %w: %s", err, words[max(0, len(words)-500):])
	}
	took, used := time.Since(began), cmd.ProcessState
	m.add(name+", CPU", "%.0f s", (used.UserTime() + used.SystemTime()).Seconds())
	m.add(name, "%.0f s", took.Seconds())
	m.add(name+", memory", "%s", megabytes(peak))
	return nil
}

// sizes adds the sizes of the objects in the store by kind.
func (m *measurement) sizes() error {
	for _, kind := range []struct{ name, folder string }{
		{"archives", "packs"}, {"index", "search"}, {"parts of the index, for the next publication", "docs"},
	} {
		var total int64
		err := filepath.WalkDir(filepath.Join(m.store, kind.folder), func(_ string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			info, err := e.Info()
			if err == nil {
				total += info.Size()
			}
			return err
		})
		if err != nil {
			return err
		}
		m.add(kind.name, "%s", megabytes(total))
	}
	return nil
}

// change changes an icon of the pack whose key is in the middle.
func (m *measurement) change() error {
	files, err := filepath.Glob(filepath.Join(m.Library, "json", "*.json"))
	if err != nil || len(files) == 0 {
		return errors.Join(err, fmt.Errorf("%s has no packs", m.Library))
	}
	file := files[len(files)/2]
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	const path = ` d=\"`
	before, after, ok := strings.Cut(string(data), path)
	if !ok {
		return fmt.Errorf("%s has no icon with a path", file)
	}
	return os.WriteFile(file, []byte(before+path+"M0 0h.5z"+after), 0o644)
}
