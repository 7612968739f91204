package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/test/harness"
)

// TestColours publishes testdata/colours, whose names begin with what a person sees: text (the
// colour of the text), own (one colour) or many. Served without a colour an icon looks as its file
// does. In a colour, one of a single colour has it wherever the file paints, as strongly as there.
func TestColours(t *testing.T) {
	t.Parallel()
	browser := harness.Browser(t)
	home := t.TempDir()
	folder := filepath.Join(home, "icons", "colours")
	if err := os.CopyFS(folder, os.DirFS(filepath.Join("testdata", "colours"))); err != nil {
		t.Fatal(err)
	}
	out := harness.Must(t, home, "publish", filepath.Join(home, "icons"), "--verbose")
	files, err := filepath.Glob(filepath.Join(folder, "*.svg"))
	if err != nil || len(files) < 40 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	base := "http://" + harness.Start(t, home, "run", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0").Ready().Address("public")
	var plain, red []sample
	counts := map[string]int{}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".svg")
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var a icon.Answer
		if err := json.Unmarshal(fetched(t, base+"/api/v1/icon/colours/"+name), &a); err != nil {
			t.Fatal(err)
		}
		kind, _, _ := strings.Cut(name, "-")
		counts[kind]++
		if got := kindOf(a.Metadata); got != kind {
			t.Errorf("%s: the API has %s, and the color %v", name, got, a.Metadata.Color)
		}
		served := fetched(t, base+"/colours/"+name+".svg")
		if string(served) != a.SVG {
			t.Errorf("%s: the CDN and the API differ: %s\n%s", name, served, a.SVG)
		}
		plain = append(plain, sample{name, raw, served})
		if a.Metadata.Monochrome {
			red = append(red, sample{name + " in red", tinted(raw, "#ff0000"), fetched(t, base+"/colours/"+name+".svg?color=f00")},
				sample{name + " in a translucent colour", tinted(raw, "#ff00ff88"), fetched(t, base+"/colours/"+name+".svg?color=f0f8")})
		}
	}
	want := fmt.Sprintf("colours   %d take the colour of the text (", counts["text"])
	if !strings.Contains(out, want) || !strings.Contains(out, fmt.Sprintf(" %d keep one of their own", counts["own"])) {
		t.Errorf("the output of publish has other counts than %v:\n%s", counts, out)
	}
	newGallery(plain).compare(t, browser)
	newGallery(red).compare(t, browser)
}

// kindOf returns what the API says about the colours of an icon.
func kindOf(m icon.Metadata) string {
	switch {
	case !m.Monochrome:
		return "many"
	case m.Color != nil:
		return "own"
	}
	return "text"
}

// tinted returns an SVG that shows another one in one colour, as strongly as that one paints.
func tinted(svg []byte, color string) []byte {
	return fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><filter id="f" x="0" y="0" width="1" height="1" `+
		`color-interpolation-filters="sRGB"><feFlood flood-color="%s"/><feComposite in2="SourceAlpha" operator="in"/></filter>`+
		`<image filter="url(#f)" width="24" height="24" href="data:image/svg+xml;base64,%s"/></svg>`, color,
		base64.StdEncoding.EncodeToString(svg))
}

// fetched returns the body of a response.
func fetched(t *testing.T, address string) []byte {
	t.Helper()
	resp, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %d, %v: %.300s", address, resp.StatusCode, err, body)
	}
	return body
}
