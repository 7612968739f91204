package launcher

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	client "github.com/iconedge/iconedge/clients/go"
)

const homeSVG = `<svg xmlns="http://www.w3.org/2000/svg" width="24" height="24" viewBox="0 0 24 24"><path fill="currentColor" d="M10 20v-6"/></svg>`

// A fakeAPI answers as the real API and CDN do, and counts its requests.
type fakeAPI struct {
	*httptest.Server
	mu     sync.Mutex
	asked  []string
	broken http.HandlerFunc // replaces the responses of the API
}

func newFakeAPI(t *testing.T) *fakeAPI {
	a := &fakeAPI{}
	a.Server = httptest.NewServer(a)
	t.Cleanup(a.Close)
	return a
}

func (a *fakeAPI) fail(status int, body string, fields ...string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.broken = func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(fields); i += 2 {
			w.Header().Set(fields[i], fields[i+1])
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
	if status == 0 {
		a.broken = nil
	}
}

func (a *fakeAPI) count(part string) (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, target := range a.asked {
		if strings.Contains(target, part) {
			n++
		}
	}
	return n
}

func (a *fakeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	a.asked = append(a.asked, r.URL.RequestURI())
	broken := a.broken
	a.mu.Unlock()
	if broken != nil && strings.HasPrefix(r.URL.Path, "/api/") {
		broken(w, r)
		return
	}
	hit := func(pack, name, spdx string, commercial bool) string {
		return fmt.Sprintf(`{"pack":%q,"name":%q,"license":%q,"commercial_use":%v,"attribution":"%s by A","pack_name":"The\n<b>pack","monochrome":true,"width":24,"height":24}`, pack, name, spdx, commercial, pack)
	}
	one := func(pack, spdx string, commercial bool) string {
		return fmt.Sprintf(`{"svg":%q,"license":%q,"metadata":{"commercial_use":%v,"attribution":"%s by A","monochrome":true,"width":24,"height":24}}`, homeSVG, spdx, commercial, pack)
	}
	if r.FormValue("format") == "png" {
		png.Encode(w, image.NewNRGBA(image.Rect(0, 0, 1, 1)))
		return
	}
	body, ok := map[string]string{
		"/api/v1/search": `{"results":[` + hit("mdi", "home", "Apache-2.0", true) + `,` +
			hit("nc", "home", "CC-BY-NC-4.0", false) + `,` + hit("mdi", "a\\u0000b", "MIT", true) + `,` +
			hit("mdi", "evil", "MIT", true) + `]}`,
		"/api/v1/icon/mdi/home": one("mdi", "Apache-2.0", true),
		"/api/v1/icon/nc/home":  one("nc", "CC-BY-NC-4.0", false),
		"/mdi/home.svg":         homeSVG,
		"/nc/home.svg":          homeSVG,
		"/mdi/evil.svg":         `<svg xmlns="http://www.w3.org/2000/svg"><script>1</script></svg>`,
	}[r.URL.Path]
	if !ok {
		w.WriteHeader(http.StatusNotFound)
	}
	io.WriteString(w, body)
}

// A user has a configuration, and a clipboard.
type user struct {
	cfg    Config
	copied []string
}

func newUser(t *testing.T, a *fakeAPI) *user {
	u := &user{cfg: Config{Client: client.Config{API: a.URL, CDN: a.URL}, Folder: t.TempDir(), InsertAs: "auto", Credit: true}}
	u.cfg.Copy = func(_ context.Context, c Clip) error {
		u.copied = append(u.copied, c.MediaType+string(c.Data))
		return nil
	}
	return u
}

func (u *user) rofi(t *testing.T, call RofiCall) string {
	t.Helper()
	var b bytes.Buffer
	if err := Rofi(t.Context(), u.cfg, call, &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestRofi: typed words give rows with files that exist; a selected row is copied; a non-commercial
// icon is confirmed once.
func TestRofi(t *testing.T) {
	a := newFakeAPI(t)
	u := newUser(t, a)
	if out := u.rofi(t, RofiCall{Retv: "0"}); !strings.Contains(out, "\x00prompt\x1ficon\n") ||
		!strings.Contains(out, "\x00message\x1f") || len(a.asked) != 0 {
		t.Errorf("at the start: %q, requests %q", out, a.asked)
	}
	out := u.rofi(t, RofiCall{Retv: "2", Text: "home"})
	var rows []string
	for line := range strings.Lines(out) {
		if line[0] != 0 {
			rows = append(rows, strings.TrimSuffix(line, "\n"))
		}
	}
	picture := filepath.Join(u.cfg.Folder, "icons", "mdi", "home-808080.svg")
	want := []string{
		"mdi/home  Apache-2.0\x00icon\x1f" + picture + "\x1finfo\x1fmdi/home\x1fmeta\x1fApache-2.0 The <b>pack",
		"nc/home  CC-BY-NC-4.0, non-commercial\x00icon\x1f" + strings.ReplaceAll(picture, "mdi", "nc") +
			"\x1finfo\x1fnc/home\x1fmeta\x1fCC-BY-NC-4.0, non-commercial The <b>pack",
		"mdi/evil  MIT\x00info\x1fmdi/evil\x1fmeta\x1fMIT The <b>pack",
	}
	if strings.Join(rows, "\n") != strings.Join(want, "\n") {
		t.Errorf("rows\n%q, want\n%q", rows, want)
	}
	if svg, err := os.ReadFile(picture); err != nil || !strings.Contains(string(svg), `fill="#808080"`) {
		t.Errorf("%s: %v", svg, err)
	}
	if out := u.rofi(t, RofiCall{Retv: "1", Text: "mdi/home  Apache-2.0", Info: "mdi/home"}); out != "" ||
		len(u.copied) != 1 || u.copied[0] != "mdi/home" {
		t.Errorf("selected: %q, copied %q", out, u.copied)
	}
	if out := u.rofi(t, RofiCall{Retv: "10", Info: "mdi/home"}); !strings.Contains(out, "\nreact\x00info\x1fmdi/home react\n") {
		t.Errorf("the forms: %q", out)
	}
	const svg = "<!-- mdi/home: license Apache-2.0; attribution: mdi by A -->\n" + homeSVG
	if u.rofi(t, RofiCall{Retv: "1", Info: "mdi/home svg"}); u.copied[len(u.copied)-1] != svg {
		t.Errorf("as SVG: %q", u.copied)
	}
	u.cfg.Variant = client.Sized("#ff0000", 4096)
	if u.rofi(t, RofiCall{Retv: "1", Info: "mdi/home png"}); !strings.HasPrefix(u.copied[len(u.copied)-1], "image/png\x89PNG") ||
		a.count("/api/v1/icon/mdi/home?color=%23ff0000&format=png&size=1024") != 1 {
		t.Errorf("as PNG: %q after %q", u.copied, a.asked)
	}
	u.cfg.Variant = client.Variant{}
	n := len(u.copied)
	if out := u.rofi(t, RofiCall{Retv: "1", Info: "nc/home"}); len(u.copied) != n ||
		!strings.Contains(out, "non-commercial use only") ||
		!strings.Contains(out, "Copy it\x00info\x1fnc/home auto accepted\n") || !strings.Contains(out, "\x00data\x1faccepted\n") {
		t.Errorf("non-commercial: %q, copied %q", out, u.copied)
	}
	u.rofi(t, RofiCall{Retv: "1", Info: "nc/home auto accepted"})
	if u.rofi(t, RofiCall{Retv: "1", Info: "nc/home", Data: "accepted"}); len(u.copied) != n+2 {
		t.Errorf("after it was accepted: copied %q", u.copied)
	}
	for _, hostile := range []string{"../x", "mdi/home\x00x", "", "mdi/../x svg"} {
		if u.rofi(t, RofiCall{Retv: "1", Info: hostile, Text: hostile}); len(u.copied) != n+2 {
			t.Errorf("%q: copied %q", hostile, u.copied[n+2:])
		}
	}
}

// TestFailures: each failure is a message, with the rows of the last search; after a 429 also a
// later process makes no request; a repeated text makes none at all.
func TestFailures(t *testing.T) {
	a := newFakeAPI(t)
	u := newUser(t, a)
	u.rofi(t, RofiCall{Retv: "2", Text: "home"})
	if out := u.rofi(t, RofiCall{Retv: "2", Text: " home "}); a.count("/search") != 1 ||
		!strings.Contains(out, "\x00message\x1fEnter copies") {
		t.Errorf("%d searches for the same text, and %q, which must replace an older message", a.count("/search"), out)
	}
	for n, row := range []struct {
		status     int
		body, says string
	}{{500, `<html>`, "status 500"}, {200, `<html>`, "invalid response"},
		{200, `{"results":[{"pa`, "invalid response"}, {429, ``, "retry in 50 seconds"}, {429, ``, "retry in"}} {
		a.fail(row.status, row.body, "Retry-After", "50")
		if out := u.rofi(t, RofiCall{Retv: "2", Text: fmt.Sprint("text ", n)}); !strings.Contains(out, row.says) ||
			!strings.Contains(out, "mdi/home  Apache-2.0") {
			t.Errorf("%+v: %q", row, out)
		}
	}
	if a.count("/search") != 5 {
		t.Errorf("%d searches: after the 429 there must be none", a.count("/search"))
	}
	a.fail(0, "")
	u.cfg.Copy = func(context.Context, Clip) error { return &client.Error{Sentence: "No <clipboard>."} }
	if out := u.rofi(t, RofiCall{Retv: "1", Info: "mdi/home"}); !strings.Contains(out, "No &lt;clipboard&gt;.") {
		t.Errorf("without a clipboard: %q", out)
	}
}

// TestThirtyAMinute: processes together start at most thirty searches a minute.
func TestThirtyAMinute(t *testing.T) {
	f := folder(t.TempDir())
	now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	for i := range 30 {
		if wait := f.takeTurn(now.Add(time.Duration(i) * time.Second)); wait != 0 {
			t.Fatalf("search %d waits %s", i, wait)
		}
	}
	if wait := f.takeTurn(now.Add(30 * time.Second)); wait != 30*time.Second {
		t.Errorf("search 31 waits %s", wait)
	}
	if wait := f.takeTurn(now.Add(time.Minute)); wait != 0 {
		t.Errorf("after a minute: %s", wait)
	}
	if wait := f.takeTurn(now.Add(-time.Hour)); wait != 0 {
		t.Errorf("after the clock was set back: %s", wait)
	}
}

// TestPrune: the files take at most 32 MB; the oldest go first.
func TestPrune(t *testing.T) {
	f := folder(t.TempDir())
	for i := range 40 {
		file, err := f.store(fmt.Sprintf("a/%02d.svg", i), make([]byte, 1<<20))
		if err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(time.Duration(i-100) * time.Minute)
		os.Chtimes(file, at, at)
	}
	f.prune()
	if f.stored("a/15.svg") != "" || f.stored("a/17.svg") == "" || f.stored("a/39.svg") == "" {
		t.Error("the files that are left are not the newest of 24 MB")
	}
}

// TestCopy: a picture goes to the programs that take its media type; a text goes to any.
func TestCopy(t *testing.T) {
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	t.Setenv("WAYLAND_DISPLAY", "")
	t.Setenv("DISPLAY", ":0")
	picture := Clip{"image/png", []byte("\x89PNG")}
	program := func(name string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\necho "+name+" \"$@\" > "+bin+"/called\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	called := func() string {
		got, _ := os.ReadFile(filepath.Join(bin, "called"))
		return string(got)
	}
	program("xsel")
	if err := Copy(t.Context(), picture); err == nil || !strings.Contains(err.Error(), "xclip") {
		t.Errorf("with xsel alone: %v", err)
	}
	if err := Copy(t.Context(), Clip{Data: []byte("x")}); err != nil || called() != "xsel --clipboard --input\n" {
		t.Errorf("a text with xsel alone: %v, called %s", err, called())
	}
	program("xclip")
	if err := Copy(t.Context(), picture); err != nil || called() != "xclip -selection clipboard -target image/png\n" {
		t.Errorf("with xclip: %v, called %s", err, called())
	}
}

// TestAlfred: the JSON of script filters.
func TestAlfred(t *testing.T) {
	a := newFakeAPI(t)
	u := newUser(t, a)
	u.cfg.InsertAs = "svg"
	alfred := func(query string) (items []alfredItem) {
		t.Helper()
		var b bytes.Buffer
		var answer struct{ Items []alfredItem }
		if err := Alfred(t.Context(), u.cfg, query, &b); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b.Bytes(), &answer); err != nil {
			t.Fatal(err)
		}
		return answer.Items
	}
	items := alfred("home")
	if len(items) != 3 || items[0].Title != "mdi/home" || !strings.HasPrefix(items[0].Subtitle, "Apache-2.0") ||
		!strings.HasSuffix(items[0].Arg, homeSVG) ||
		items[0].Mods["alt"].Arg != a.URL+"/mdi/home.svg" || items[0].Mods["cmd"].Arg != "mdi/home" ||
		items[0].Mods["ctrl"].Arg != a.URL+"/mdi/home.png" ||
		!strings.Contains(items[1].Subtitle, "non-commercial") {
		t.Errorf("%+v", items)
	}
	if _, err := os.Stat(items[0].Icon.Path); err != nil {
		t.Error(err)
	}
	if items[2].Valid || items[2].Arg != "" || !strings.Contains(items[2].Subtitle, "not safe") {
		t.Errorf("a hostile SVG: %+v", items[2])
	}
	if items := alfred("h"); len(items) != 1 || items[0].Valid || a.count("/search") != 1 {
		t.Errorf("one letter: %+v", items)
	}
	a.fail(429, ``, "Retry-After", "9")
	if items := alfred("cog"); len(items) != 4 || items[0].Valid || !strings.Contains(items[0].Title, "9 seconds") {
		t.Errorf("429: %+v", items)
	}
}
