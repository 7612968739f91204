package api

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/iconedge/iconedge/icon"
	addresses "github.com/iconedge/iconedge/icon/iconify"
)

// FuzzVerifyBody checks that parseToken accepts only JSON in UTF-8 with exactly one member named
// token, and returns its string.
func FuzzVerifyBody(f *testing.F) {
	for _, s := range []string{`{"token":"x"}`, `{"Token":"x"}`, `{"token":"x","token":"y"}`,
		`{"token":"x","\u0074oken":"y"}`, "{\"token\":\"\xff\"}", `{"token":null}`,
		`{"of":{"token":"x"}}`, `["token","x"]`, `{"token":"x"} {}`, `{"token":"x",}`, "\ufeff{\"token\":\"x\"}",
		`{"token":"\ud800"}`, ``} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := parseToken(b)
		var members map[string]any
		if err != nil {
			return
		}
		if err := json.Unmarshal(b, &members); err != nil || !utf8.Valid(b) || members["token"] != got {
			t.Fatalf("parseToken(%q) = %q: as JSON it is %v, %v", b, got, members, err)
		}
	})
}

// TestVerifyBodyIsUTF8 checks that parseToken refuses bytes that are not UTF-8, which the standard
// library would replace.
func TestVerifyBodyIsUTF8(t *testing.T) {
	for _, row := range []struct{ body, want string }{{"{\"token\":\"x\"}", "x"}, {"{\"token\":\"\xff\"}", ""},
		{"{\"token\":\"x\",\"\xff\":1}", ""}} {
		if got, err := parseToken([]byte(row.body)); got != row.want || (err == nil) != (row.want != "") {
			t.Errorf("parseToken(%q) = %q, %v, want %q", row.body, got, err, row.want)
		}
	}
}

// FuzzPath checks that a path to an icon is its only spelling, and that no name contains a
// separator or an escape.
func FuzzPath(f *testing.F) {
	for _, s := range []string{"/mdi/home.svg", "/mdi/%68ome.svg", "/mdi/../x.svg", "//a.svg", "/api/v1/icon/a/b",
		"/a\x00/b.svg", "/A/b.svg", "/mdi/home.svg.svg", "/ /b.svg", "/0/..svg"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		u, err := url.ParseRequestURI(path)
		if err != nil || u.Host != "" {
			return
		}
		rt, err := parseRoute(&http.Request{URL: u})
		if err != nil {
			return
		}
		switch rt.endpoint {
		case cdnPath:
			if want := "/" + rt.ref.String() + ".svg"; u.EscapedPath() != want {
				t.Fatalf("%q leads to %s", path, rt.ref)
			}
		case iconPath:
			if want := "/api/v1/icon/" + rt.ref.String(); u.EscapedPath() != want {
				t.Fatalf("%q leads to %s", path, rt.ref)
			}
		}
		for _, s := range []string{rt.ref.Pack, rt.ref.Name} {
			if strings.ContainsAny(s, "/%\x00") { // "..svg" gives the name ".", which no icon has
				t.Fatalf("%q leads to %q", path, s)
			}
		}
	})
}

// FuzzQuery checks that accepted parameters are in range, and that their canonical spelling has the
// same meaning.
func FuzzQuery(f *testing.F) {
	for _, s := range []string{"q=home&limit=5", "color=%23F00&size=3", "size=3&size=4",
		"rotate=1&flip=horizontal,vertical", "q=%ff", "per_page=1000"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		if p, err := parseParams(raw, searchPath.params); err == nil {
			if q, err := parseSearch(p); err == nil &&
				(q.Text == "" || q.Text != strings.TrimSpace(q.Text) || q.Limit < 1 || q.Limit > 50 || q.Offset < 0 || q.Offset > 1000) {
				t.Fatalf("%q is read as %+v", raw, q)
			}
		}
		p, err := parseParams(raw, cdnPath.params)
		if err != nil {
			return
		}
		d, err := parseVariant(p)
		if err != nil {
			return
		}
		again, err := parseParams(d.variant.Query()+"&color="+url.QueryEscape(string(d.color)), cdnPath.params)
		if d.color == "" {
			delete(again, "color")
		}
		if err != nil {
			t.Fatal(err)
		}
		if d2, err := parseVariant(again); err != nil || d2 != d {
			t.Fatalf("%q is read as %+v, and its canonical spelling as %+v, %v", raw, d, d2, err)
		}
	})
}

// TestPages checks that the pages of a pack together have each of its icons once.
func TestPages(t *testing.T) {
	w := published(t)
	r := w.Catalog.Current()
	defer r.Done()
	p, _ := r.Pack("mdi")
	icons, err := p.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all := onePack(p, icons, 1, icon.MaxOnPage)
	for perPage := 1; perPage <= len(all.Icons)+1; perPage++ {
		var names []string
		first := onePack(p, icons, 1, perPage)
		for page := 1; page <= first.Pages; page++ {
			for _, i := range onePack(p, icons, page, perPage).Icons {
				names = append(names, i.Name)
			}
		}
		var want []string
		for _, i := range all.Icons {
			want = append(want, i.Name)
		}
		if strings.Join(names, " ") != strings.Join(want, " ") || len(want) != p.Count {
			t.Errorf("%d on a page: %v, want %v", perPage, names, want)
		}
	}
}

// Lists of Iconify's API are kept only where clients can't invent addresses.
func TestKeptLists(t *testing.T) {
	for address, want := range map[string]bool{
		"/collections": true, "/collection?prefix=mdi": true, "/collection?prefix=mdi&info=true&chars=1": true, "/collections?x=1": true,
		"/collections?prefix=mdi": false, "/collections?prefixes=a": false, "/collection?prefix=mdi&info=x": false,
		"/collection?prefix=mdi&pretty=1":   false,
		"/collection?prefix=mdi&callback=x": false, "/last-modified": false, "/search?query=a": false,
	} {
		path, query, _ := strings.Cut(address, "?")
		a, ok := addresses.Find(path, false)
		r, err := addresses.Parse(a, query)
		if !ok || err != nil || isKept(r) != want {
			t.Errorf("%s is kept: %v (%v, %v), want %v", address, isKept(r), ok, err, want)
		}
	}
}
