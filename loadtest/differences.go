//go:build linux

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/molecule-man/go-brrr"

	"github.com/iconedge/iconedge/edge/dictionaries"
	"github.com/iconedge/iconedge/internal/cli"
)

// A release is a file of a package in npm, in successive versions.
type release struct{ name, file, versions string }

// releases are files that pages load as they are. Those of a series of patches come before the last
// one, with a new minor version.
var releases = []release{
	{"react-dom", "cjs/react-dom-client.production.js", "19.1.0 19.1.1 19.2.0"},
	{"vue", "dist/vue.global.prod.js", "3.5.16 3.5.17 3.5.18"},
	{"three", "build/three.module.min.js", "0.177.0 0.178.0 0.179.0"},
	{"three", "build/three.core.min.js", "0.177.0 0.178.0 0.179.0"},
	{"bootstrap", "dist/css/bootstrap.min.css", "5.3.5 5.3.6 5.3.7"},
}

const differencesHelp = `
Gets successive versions of files from npm, and prints what the later one costs a client that has the earlier one: bytes, as a
part of those in br of level 11, and milliseconds of one processor. It needs npm.

  loadtest differences`

// runDifferences prints what the second of two successive versions costs a client that has the
// first one: bytes, as a part of those in br of level 11, and the time of one processor.
func runDifferences(ctx context.Context, s cli.Streams, args []string) error {
	if err := program.Flags("differences", "", differencesHelp).Parse(s, args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "differences")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	w := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "file\tversions\tbytes\tbr 11\tms\tdcz\t% of br\tms\tdcb\t% of br\tms\t")
	shares := map[dictionaries.Coding][]float64{}
	for _, r := range releases {
		versions := strings.Fields(r.versions)
		old, err := packed(ctx, dir, r, versions[0])
		if err != nil {
			return err
		}
		for i, version := range versions[1:] {
			body, err := packed(ctx, dir, r, version)
			if err != nil {
				return err
			}
			began := time.Now()
			br, err := brotliBest(body)
			if err != nil {
				return err
			}
			fmt.Fprintf(w, "%s %s\t%s to %s\t%d\t%d\t%d\t", r.name, filepath.Base(r.file), versions[i], version, len(body), br,
				time.Since(began).Milliseconds())
			for _, coding := range []dictionaries.Coding{dictionaries.Zstd, dictionaries.Brotli} {
				n, took, err := difference(coding, old, body)
				if err != nil {
					return err
				}
				share := 100 * float64(n) / float64(br)
				shares[coding] = append(shares[coding], share)
				fmt.Fprintf(w, "%d\t%.1f\t%d\t", n, share, took.Milliseconds())
			}
			fmt.Fprintln(w)
			old = body
		}
	}
	for _, coding := range []dictionaries.Coding{dictionaries.Zstd, dictionaries.Brotli} {
		all := shares[coding]
		slices.Sort(all)
		fmt.Fprintf(w, "median of %v\t\t\t\t\t%.1f %%\t\n", coding, all[len(all)/2])
	}
	return w.Flush()
}

// difference returns the bytes of a body in a coding against an older one, and the least time of
// three that it took.
func difference(c dictionaries.Coding, old, body []byte) (n int, least time.Duration, err error) {
	for range 3 {
		began := time.Now()
		coded, err := dictionaries.Encode(c, old, body)
		if err != nil {
			return 0, 0, err
		}
		if took := time.Since(began); least == 0 || took < least {
			least = took
		}
		n = len(coded)
	}
	return n, least, nil
}

// brotliBest returns the bytes of a body in br of level 11.
func brotliBest(body []byte) (int, error) {
	var out bytes.Buffer
	w, err := brrr.NewWriterOptions(&out, 11, brrr.WriterOptions{SizeHint: uint(len(body))})
	if err != nil {
		return 0, err
	}
	_, err = w.Write(body)
	err = errors.Join(err, w.Close())
	return out.Len(), err
}

// packed returns a file of a package in a version, which npm gets from its registry.
func packed(ctx context.Context, dir string, r release, version string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "npm", "pack", "--silent", r.name+"@"+version)
	cmd.Dir = dir
	name, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("npm pack %s@%s: %w", r.name, version, err)
	}
	f, err := os.Open(filepath.Join(dir, strings.TrimSpace(string(name))))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	for t := tar.NewReader(z); ; {
		head, err := t.Next()
		if err != nil {
			return nil, fmt.Errorf("%s in %s@%s: %w", r.file, r.name, version, err)
		}
		if head.Name == "package/"+r.file {
			return io.ReadAll(t)
		}
	}
}
