package own_test

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/own/owntest"
)

// packs is the list of all packs, and found the results of a search, which describe some of them.
func packs() (list, found string) {
	var b strings.Builder
	for i := range 200 {
		fmt.Fprintf(&b, `"pack-%d":{"name":"Pack %d","author":"Author %d","license":"MIT"},`, i, i*i, i*7)
	}
	list = "{" + b.String() + `"last":{}}`
	return list, `{"icons":["pack-3:home"],"collections":{` + list[len(list)/3:len(list)/2] + `}}`
}

// A picker of icons that has the list of all packs gets the results of its searches compressed
// against it.
func TestSearchAgainstListOfPacks(t *testing.T) {
	list, found := packs()
	e := owntest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "public, max-age=300")
		w.Header().Set("ETag", `"v"`)
		w.Header().Set("Use-As-Dictionary", `match="search?*query=*&limit=64"`)
		if strings.Contains(r.URL.Path, "search") {
			w.Write([]byte(found))
		} else {
			w.Write([]byte(list))
		}
	}))
	const search, other = "/search?query=home&limit=64", "/search?query=home&limit=65"
	if got := e.Get(t, "/collections").Header.Get("Use-As-Dictionary"); got != `match="search?*query=*&limit=64"` {
		t.Fatalf("Use-As-Dictionary of the list: %q", got)
	}
	if got := e.Get(t, search).Header.Get("Use-As-Dictionary"); got != "" {
		t.Errorf("Use-As-Dictionary of a search: %q", got)
	}
	sum := sha256.Sum256([]byte(list))
	has := ":" + base64.StdEncoding.EncodeToString(sum[:]) + ":"
	picker := []string{"Accept-Encoding", "gzip, br, zstd, dcb, dcz", "Available-Dictionary", has,
		"Sec-Fetch-Mode", "cors", "Sec-Fetch-Site", "cross-site", "Origin", "https://app.test"}
	before := e.Get(t, search, picker...)
	for range 2 {
		e.Get(t, search, picker...)
		e.Get(t, other, picker...)
	}
	e.Compressed(t)
	a := e.Get(t, search, picker...)
	if a.Header.Get("Content-Encoding") != "dcz" || !strings.Contains(strings.Join(a.Header["Vary"], ","), "Available-Dictionary") {
		t.Fatalf("Content-Encoding %q, Vary %q", a.Header.Get("Content-Encoding"), a.Header["Vary"])
	}
	d, err := zstd.NewReader(nil, zstd.WithDecoderDictRaw(0, []byte(list)))
	must(t, err)
	defer d.Close()
	body, err := d.DecodeAll([]byte(a.Body)[8+sha256.Size:], nil) // after the header of dcz
	must(t, err)
	if string(body) != found {
		t.Errorf("%d bytes, want %d", len(body), len(found))
	}
	for name, row := range map[string]struct {
		target string
		fields []string
	}{
		"no dictionary":   {search, []string{"Accept-Encoding", "gzip, br, zstd, dcb, dcz"}},
		"an unknown one":  {search, []string{"Accept-Encoding", "gzip, dcz", "Available-Dictionary", ":" + strings.Repeat("A", 43) + "=:"}},
		"no coding of it": {search, []string{"Accept-Encoding", "gzip, br", "Available-Dictionary", has}},
		"a page that may not read it": {search, []string{"Accept-Encoding", "gzip, dcz", "Available-Dictionary", has,
			"Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Site", "cross-site"}},
		"not of the pattern": {other, picker},
	} {
		if a := e.Get(t, row.target, row.fields...); strings.HasPrefix(a.Header.Get("Content-Encoding"), "dc") {
			t.Errorf("%s: Content-Encoding %q", name, a.Header.Get("Content-Encoding"))
		}
	}
	for _, tag := range []string{before.Header.Get("ETag"), a.Header.Get("ETag")} {
		if again := e.Get(t, search, append(picker, "If-None-Match", tag)...); again.StatusCode != 304 || again.Header.Get("ETag") != tag {
			t.Errorf("If-None-Match: %s: %d, ETag %s", tag, again.StatusCode, again.Header.Get("ETag"))
		}
	}
	e.Cache.Purge(cache.Purge{Keys: []string{"/iconify/collections"}}, e.Now())
	if again := e.Get(t, search, picker...); again.StatusCode != 200 || again.Header.Get("Content-Encoding") == "dcz" {
		t.Errorf("after a purge of the list: %d, Content-Encoding %q", again.StatusCode, again.Header.Get("Content-Encoding"))
	}
	if again := e.Get(t, search, append(picker, "If-None-Match", a.Header.Get("ETag"))...); again.StatusCode != 304 {
		t.Errorf("the difference is held, but not made any more: %d", again.StatusCode)
	}
}
