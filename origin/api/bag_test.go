package api

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/origin/withdrawal"
)

// TestBag: an archive has the bytes of the CDN path, whatever the order of the names, and its
// entity tag follows from its content.
func TestBag(t *testing.T) {
	w := published(t)
	one := w.do("GET", "/-/bag/icons.zip?icons=mdi/home,fa-brands/github", "", "Accept-Encoding", "gzip")
	data := body(t, one)
	other := w.do("GET", "/-/bag/icons.zip?icons=fa-brands/github,mdi/home", "")
	if body(t, other) != data || one.Header.Get("ETag") != other.Header.Get("ETag") || one.Header.Get("Content-Encoding") != "" {
		t.Errorf("the order of the names matters: %v, %v", one.Header, other.Header)
	}
	r, err := zip.NewReader(strings.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"fa-brands/github.svg", "mdi/home.svg"} {
		f, err := r.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(f)
		if want := body(t, w.do("GET", "/"+name, "")); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v; want %s", name, got, err, want)
		}
	}
	if resp := w.do("GET", "/-/bag/icons.zip?icons=mdi/home,fa-brands/github", "", "If-None-Match",
		one.Header.Get("ETag")); resp.StatusCode != 304 {
		t.Errorf("with its entity tag: %d", resp.StatusCode)
	}
	var names []string
	for i := range 501 {
		names = append(names, fmt.Sprintf("mdi/a%d", i))
	}
	if resp := w.do("GET", "/-/bag/icons.zip?icons="+strings.Join(names, ","), ""); resp.StatusCode != 400 {
		t.Errorf("501 icons: %d, want 400", resp.StatusCode)
	}
	if resp := w.do("GET", "/-/bag/icons.zip?icons="+strings.Join(names[1:], ","), ""); resp.StatusCode != 404 {
		t.Errorf("500 unknown icons: %d, want 404", resp.StatusCode)
	}
}

// TestWithdrawnFiles: a bag with a withdrawn icon, and the card of one, are a 410 that no cache
// stores. The card of its pack does not show it.
func TestWithdrawnFiles(t *testing.T) {
	w := published(t)
	before := body(t, w.do("GET", "/-/card/mdi.png", ""))
	for _, target := range []string{"mdi/home", "mdi"} {
		if err := withdrawal.Withdraw(t.Context(), w.Store, target, "", "ann", t0); err != nil {
			t.Fatal(err)
		}
		if err := w.Catalog.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"/-/bag/icons.zip?icons=fa-brands/github,mdi/home",
			"/-/bag/sprite.svg?icons=mdi/home", "/-/card/mdi/home.png"} {
			resp := w.do("GET", path, "")
			if resp.StatusCode != 410 || resp.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("%s withdrawn: GET %s = %d, %v", target, path, resp.StatusCode, resp.Header)
			}
		}
		resp := w.do("GET", "/-/card/mdi.png", "")
		card := body(t, resp)
		if want := map[string]int{"mdi/home": 200, "mdi": 410}[target]; resp.StatusCode != want ||
			bytes.Equal([]byte(card), []byte(before)) {
			t.Errorf("%s withdrawn: the card of the pack: %d", target, resp.StatusCode)
		}
	}
}

// TestWithdrawnSamples: the image of a pack's samples lacks a withdrawn one, and that of a
// withdrawn pack is a 410.
func TestWithdrawnSamples(t *testing.T) {
	w := published(t)
	for _, c := range []struct {
		target string
		code   int
		uses   int
	}{{"", 200, 2}, {"mdi/abacus", 200, 1}, {"mdi", 410, 0}} {
		if c.target != "" {
			if err := withdrawal.Withdraw(t.Context(), w.Store, c.target, "", "ann", t0); err != nil {
				t.Fatal(err)
			}
			if err := w.Catalog.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		resp := w.do("GET", "/-/samples/mdi.svg", "")
		if n := strings.Count(body(t, resp), "<use "); resp.StatusCode != c.code || n != c.uses {
			t.Errorf("%q withdrawn: status %d, %d samples, want %d, %d", c.target, resp.StatusCode, n, c.code, c.uses)
		}
	}
}
