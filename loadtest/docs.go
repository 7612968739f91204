//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/iconedge/iconedge/internal/cli"
	"github.com/iconedge/iconedge/loadtest/report"
)

const reportHelp = `
Writes performance.md, performance/lab-book.md and the plots again from the figures of bench, grow, handshakes and pages in
performance/, and from the texts beside them: performance/tried.md (attempts) and performance/knees.md (why cost grows where it
does).

  loadtest report --docs docs/reference`

func runReport(_ context.Context, std cli.Streams, args []string) error {
	fs := program.Flags("report", "", reportHelp)
	docs := fs.String("docs", filepath.Join("docs", "reference"), "`folder` of performance.md and performance/")
	if err := fs.Parse(std, args); err != nil {
		return err
	}
	return writeDocs(*docs, report.Page{})
}

// writeDocs writes performance.md and the lab book behind it. It takes the parts that are missing
// from page from the figures of earlier runs.
func writeDocs(docs string, page report.Page) error {
	dir := filepath.Join(docs, "performance")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	err := errors.Join(
		figures(filepath.Join(dir, "hits.json"), &page.Hits), figures(filepath.Join(dir, "bench.json"), &page.Bench),
		figures(filepath.Join(dir, "tls.json"), &page.Secure),
		figures(filepath.Join(dir, "iconify.json"), &page.Lists), figures(filepath.Join(dir, "grow.json"), &page.Grow),
		figures(filepath.Join(dir, "handshakes.json"), &page.Handshakes), figures(filepath.Join(dir, "pages.json"), &page.Pages),
		words(filepath.Join(dir, "tried.md"), &page.Tried), words(filepath.Join(dir, "knees.md"), &page.Knees),
	)
	if err != nil {
		return err
	}
	for name, plot := range page.Plots() {
		if err := os.WriteFile(filepath.Join(dir, name), plot, 0o666); err != nil {
			return err
		}
	}
	results, err := page.Results()
	if err != nil {
		return err
	}
	book, err := page.LabBook()
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(filepath.Join(docs, "performance.md"), results, 0o666),
		os.WriteFile(filepath.Join(dir, "lab-book.md"), book, 0o666))
}

// writeScale replaces the section of scale.md that a command makes, in a folder of documents.
func writeScale(docs, section, command, text string) error {
	file := filepath.Join(docs, "scale.md")
	page, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	replaced, err := report.ReplaceSection(string(page), section, command, text)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return os.WriteFile(file, []byte(replaced), 0o666)
}

// figures writes the figures that were measured, or reads those of an earlier run.
func figures[T any](name string, measured **T) error {
	if *measured != nil {
		b, err := json.MarshalIndent(*measured, "", " ")
		if err != nil {
			return err
		}
		return os.WriteFile(name, append(b, '\n'), 0o666)
	}
	b, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	*measured = new(T)
	return json.Unmarshal(b, *measured)
}

func words(name string, into *string) error {
	b, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	*into = strings.TrimSpace(string(b))
	return err
}

// lineOf returns the value of the first line of a file that begins with a name.
func lineOf(file, name, separator string) string {
	f, err := os.Open(file)
	if err != nil {
		return "unknown"
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if key, value, ok := strings.Cut(lines.Text(), separator); ok && strings.TrimSpace(key) == name {
			return strings.Trim(value, ` "`)
		}
	}
	return "unknown"
}

// machine describes this machine.
func machine() report.Machine {
	m := report.Machine{CPU: lineOf("/proc/cpuinfo", "model name", ":"),
		System: lineOf("/etc/os-release", "PRETTY_NAME", "="), Kernel: "unknown"}
	m.Cores = runtime.NumCPU()
	if b, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = strings.TrimSpace(string(b))
	}
	return m
}
