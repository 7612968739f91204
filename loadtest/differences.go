//go:build linux

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
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
	"github.com/iconedge/iconedge/loadtest/report"
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
	{"monaco-editor", "min/vs/editor/editor.main.js", "0.51.0 0.52.0 0.52.2"},
}

// searched are words that people search icons by.
var searched = strings.Fields("home arrow user search settings menu close check heart star mail phone calendar camera cart cloud " +
	"code download edit file folder github lock map music play trash upload wifi zoom")

const differencesHelp = `
Gets successive versions of files from npm, and prints what the later one costs a client that has the earlier one: bytes, as a
part of those in br of level 11, and milliseconds of one processor. It needs npm. With --service it gets answers from a service
with icons, and prints what they cost a client that has the list of packs (searches), or other icons of the pack (icon data).

  loadtest differences --docs docs/reference
  loadtest differences --service http://127.0.0.1:8080`

// runDifferences prints what the second of two successive versions costs a client that has the
// first one: bytes, as a part of those in br of level 11, and the time of one processor.
func runDifferences(ctx context.Context, s cli.Streams, args []string) error {
	fs := program.Flags("differences", "", differencesHelp)
	docs := fs.String("docs", "", "`FOLDER` of the documents, whose images/differences.svg is written")
	service := fs.String("service", "", "`URL` of a service with icons, whose answers are compared")
	if err := fs.Parse(s, args); err != nil {
		return err
	}
	if *service != "" {
		return differencesOf(ctx, s, strings.TrimSuffix(*service, "/"))
	}
	dir, err := os.MkdirTemp("", "differences")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	w := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "file\tversions\tbytes\tbr 11\tms\tdcz\t% of br\tms\tdcb\t% of br\tms\t")
	shares := map[dictionaries.Coding][]float64{}
	c := report.Chart{Title: "The next version of a file, for a browser that has the last one", Y: report.Axis{Label: "bytes", Log: true},
		Lines: []report.Line{{Name: "whole, br 11"}, {Name: "difference, dcz"}, {Name: "difference, dcb"}}}
	for _, r := range releases {
		c.X.Marks = append(c.X.Marks, report.Mark{At: float64(len(c.Lines[0].Points)), Label: r.label()})
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
			next(&c.Lines[0], br)
			fmt.Fprintf(w, "%s %s\t%s to %s\t%d\t%d\t%d\t", r.name, filepath.Base(r.file), versions[i], version, len(body), br,
				time.Since(began).Milliseconds())
			for at, coding := range []dictionaries.Coding{dictionaries.Zstd, dictionaries.Brotli} {
				n, took, err := difference(coding, old, body)
				if err != nil {
					return err
				}
				share := 100 * float64(n) / float64(br)
				shares[coding] = append(shares[coding], share)
				next(&c.Lines[at+1], n)
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
	if err := w.Flush(); err != nil || *docs == "" {
		return err
	}
	return os.WriteFile(filepath.Join(*docs, "images", "differences.svg"), c.SVG(), 0o644)
}

// label names a file in a chart.
func (r release) label() string {
	if strings.Contains(r.file, "core") {
		return r.name + ", core"
	}
	return strings.TrimSuffix(r.name, "-editor")
}

// next adds the next point of a line.
func next(l *report.Line, bytes int) {
	l.Points = append(l.Points, report.XY{X: float64(len(l.Points)), Y: float64(bytes)})
}

// differencesOf prints what answers of a service cost, with and without a dictionary, in half of
// the cases.
func differencesOf(ctx context.Context, s cli.Streams, service string) error {
	packs, err := fetched(ctx, service+"/collections")
	if err != nil {
		return err
	}
	names, err := iconsOf(ctx, service, "mdi")
	if err != nil {
		return err
	}
	data := func(names []string) string { return service + "/mdi.json?icons=" + strings.Join(names, ",") }
	const ofOthers, each = 200, 20
	others, err := fetched(ctx, data(names[:ofOthers]))
	if err != nil {
		return err
	}
	var searches, sets []string
	for i, word := range searched {
		searches = append(searches, service+"/search?limit=64&query="+word)
		at := ofOthers + i*each
		sets = append(sets, data(names[at:at+each]))
	}
	w := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "answers\tof\tbytes\tbr 11\tdcz\t% of br\t")
	for _, row := range []struct {
		name       string
		addresses  []string
		dictionary []byte
	}{{"searches against the list of packs", searches, packs}, {"20 icons against 200 others of the pack", sets, others}} {
		var sizes [3][]int
		for _, address := range row.addresses {
			body, err := fetched(ctx, address)
			if err != nil {
				return err
			}
			br, err := brotliBest(body)
			if err != nil {
				return err
			}
			n, _, err := difference(dictionaries.Zstd, row.dictionary, body)
			if err != nil {
				return err
			}
			for i, size := range []int{len(body), br, n} {
				sizes[i] = append(sizes[i], size)
			}
		}
		half := [3]int{}
		for i, all := range sizes {
			slices.Sort(all)
			half[i] = all[len(all)/2]
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%.0f\t\n", row.name, len(row.addresses), half[0], half[1], half[2],
			100*float64(half[2])/float64(half[1]))
	}
	return w.Flush()
}

// iconsOf returns the names of the icons of a pack that has categories or not.
func iconsOf(ctx context.Context, service, pack string) ([]string, error) {
	body, err := fetched(ctx, service+"/collection?prefix="+pack)
	if err != nil {
		return nil, err
	}
	var list struct {
		Uncategorized []string
		Categories    map[string][]string
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, err
	}
	all := map[string]bool{}
	for _, name := range list.Uncategorized {
		all[name] = true
	}
	for _, names := range list.Categories {
		for _, name := range names {
			all[name] = true
		}
	}
	return slices.Sorted(maps.Keys(all)), nil
}

// fetched returns the body of the response to a GET.
func fetched(ctx context.Context, address string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", address, resp.Status)
	}
	return io.ReadAll(resp.Body)
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
