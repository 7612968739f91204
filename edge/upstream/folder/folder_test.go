package folder

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/upstream"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// tree makes a folder of files, by their names, beside a file with a secret.
func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	above := t.TempDir()
	dir := filepath.Join(above, "www")
	must(t, os.Mkdir(dir, 0o755))
	must(t, os.WriteFile(filepath.Join(above, "secret"), []byte("secret"), 0o600))
	now := time.Now()
	for name, text := range files {
		name = filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(name), 0o755))
		must(t, os.WriteFile(name, []byte(text), 0o600))
		must(t, os.Chtimes(name, now, now))
	}
	return dir
}

func site(t testing.TB) string {
	return tree(t, map[string]string{
		"index.html": "home", "a.css": "css", "b c.txt": "space", "sub/index.html": "sub", "sub/x.html": "x", ".env": "hidden",
		".git/config": "hidden", "sub/.htaccess": "hidden", ".well-known/security.txt": "contact", "odd/index.html/y": "y",
		"bare/z.txt": "z", "ü.html": "umlaut",
	})
}

func newFolder(dir string, change func(*Options)) *Folder {
	o := Options{Dir: dir, Index: []string{"index.html"}}
	if change != nil {
		change(&o)
	}
	return New(o)
}

// get returns the response to a request and its body.
func get(t testing.TB, f *Folder, method, target string, fields ...string) (*upstream.Response, string) {
	t.Helper()
	r := upstream.Request{Method: method, Target: target, Header: http.Header{}}
	for i := 0; i < len(fields); i += 2 {
		r.Header.Add(fields[i], fields[i+1])
	}
	a, err := f.Serve(&r)
	if err != nil {
		t.Fatalf("%s %s: %v", method, target, err)
	}
	defer a.Body.Close()
	body, err := io.ReadAll(a.Body)
	if err != nil {
		t.Errorf("%s %s: %v", method, target, err)
	}
	if a.Length != int64(len(body)) {
		t.Errorf("%s %s: Length %d, the body has %d", method, target, a.Length, len(body))
	}
	return a, string(body)
}

// Each path has its file, and no path another one.
func TestPaths(t *testing.T) {
	dir := site(t)
	must(t, os.Symlink("a.css", filepath.Join(dir, "link.css")))
	must(t, os.Symlink("../secret", filepath.Join(dir, "out.txt")))
	must(t, os.Symlink(filepath.Join(filepath.Dir(dir), "secret"), filepath.Join(dir, "abs.txt")))
	must(t, os.Symlink("..", filepath.Join(dir, "up")))
	must(t, os.Symlink("loop", filepath.Join(dir, "loop")))
	must(t, syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600))
	must(t, os.Symlink("/dev/zero", filepath.Join(dir, "zero")))
	fallback := func(o *Options) { o.Fallback = "/index.html" }
	for _, row := range []struct {
		path   string
		status int
		want   string // the body of a 200, or Location
		change func(*Options)
	}{
		{path: "/", status: 200, want: "home"},
		{path: "/index.html", status: 200, want: "home"},
		{path: "/a.css?v=1", status: 200, want: "css"},
		{path: "//a.css", status: 200, want: "css"},
		{path: "/./sub/../a.css", status: 200, want: "css"},
		{path: "/b%20c.txt", status: 200, want: "space"},
		{path: "/%c3%bc.html", status: 200, want: "umlaut"},
		{path: "/ü.html", status: 200, want: "umlaut"},
		{path: "/sub%2findex.html", status: 200, want: "sub"},
		{path: "/sub", status: 301, want: "./sub/"},
		{path: "/sub?a=b", status: 301, want: "./sub/?a=b"},
		{path: "/sub/", status: 200, want: "sub"},
		{path: "/sub/x.html", status: 200, want: "x"},
		{path: "/.well-known/security.txt", status: 200, want: "contact"},
		{path: "/link.css", status: 200, want: "css"},

		{path: "/nothing", status: 404},
		{path: "/a.css/", status: 404},
		{path: "/a.css/b", status: 404},
		{path: "/bare/", status: 404},
		{path: "/odd/", status: 404}, // index.html is a folder
		{path: "/.env", status: 404},
		{path: "/%2eenv", status: 404},
		{path: "/.git/config", status: 404},
		{path: "/.well-known/.env", status: 404},
		{path: "/sub/.htaccess", status: 404},
		{path: "/out.txt", status: 404},
		{path: "/abs.txt", status: 404},
		{path: "/up/secret", status: 404},
		{path: "/loop", status: 404},
		{path: "/fifo", status: 404},
		{path: "/zero", status: 404},
		{path: "/../secret", status: 404},
		{path: "/..%2fsecret", status: 404},
		{path: "/%2e%2e/%2e%2e/secret", status: 404},
		{path: "/..\\secret", status: 404},
		{path: "/..%5csecret", status: 404},
		{path: "/a.css%00.html", status: 404},
		{path: "/a.css%0a", status: 404},
		{path: "/%zz", status: 404},
		{path: "/%252e%252e/secret", status: 404},
		{path: "/" + strings.Repeat("a", 300), status: 404},
		{path: "/" + strings.Repeat("a/", 3000), status: 404},
		{path: "/" + strings.Repeat("../", 1000) + "etc/passwd", status: 404},

		{path: "/route/of/app", status: 200, want: "home", change: fallback},
		{path: "/nothing.js", status: 404, change: fallback}, // no page in the place of a script
		{path: "/.env", status: 404, change: fallback},
		{path: "/out.txt", status: 200, want: "home", change: fallback},
		{path: "/sub", status: 301, want: "./sub/", change: fallback},
		{path: "/x", status: 404, change: func(o *Options) { o.Fallback = "/gone.html" }},
		{path: "/bare/", status: 200, want: "z", change: func(o *Options) { o.Index = []string{"a", "z.txt"} }},
	} {
		f := newFolder(dir, row.change)
		a, body := get(t, f, "GET", row.path)
		got := body
		if a.Status == 301 {
			got = a.Header.Get("Location")
		}
		leaks := strings.Contains(body, "secret") || strings.Contains(body, "hidden")
		if a.Status != row.status || row.want != "" && got != row.want || leaks {
			t.Errorf("%.60s: status %d, %q, want %d, %q", row.path, a.Status, got, row.status, row.want)
		}
	}
}

// A file that the edge may not read is 403, and a method that changes something 405.
func TestRefused(t *testing.T) {
	dir := site(t)
	f := newFolder(dir, nil)
	if a, _ := get(t, f, "POST", "/"); a.Status != 405 || a.Header.Get("Allow") != "GET, HEAD" ||
		a.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("POST: %d %v", a.Status, a.Header)
	}
	if got, err := failed(&os.PathError{Err: syscall.EACCES}); err != nil || got.kind != forbidden {
		t.Errorf("a file without permission: %v, %v", got, err)
	}
	for _, lack := range []error{syscall.EMFILE, syscall.ENFILE, syscall.EIO} {
		if _, err := failed(&os.PathError{Err: lack}); !errors.Is(err, upstream.ErrUnreachable) {
			t.Errorf("%v: %v is no failure of the origin", lack, err)
		}
	}
}

// Conditions and ranges are those of RFC 9110, and HEAD has the fields of GET.
func TestRepresentation(t *testing.T) {
	dir := tree(t, map[string]string{"a.html": "0123456789", "empty.txt": ""})
	at := time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC)
	must(t, os.Chtimes(filepath.Join(dir, "a.html"), at, at))
	f := newFolder(dir, nil)
	whole, _ := get(t, f, "GET", "/a.html")
	etag, modified := whole.Header.Get("Etag"), whole.Header.Get("Last-Modified")
	if modified != "Fri, 02 Jan 2026 03:04:05 GMT" || !strings.HasPrefix(etag, `"`) ||
		whole.Header.Get("Content-Type") != "text/html; charset=utf-8" || whole.Header.Get("Accept-Ranges") != "bytes" {
		t.Errorf("%v", whole.Header)
	}
	for _, row := range []struct {
		method string
		fields []string
		status int
		body   string
		part   string
	}{
		{"HEAD", nil, 200, "", ""},
		{"GET", []string{"If-None-Match", etag}, 304, "", ""},
		{"GET", []string{"If-None-Match", `"x", W/` + etag}, 304, "", ""},
		{"GET", []string{"If-None-Match", `"x"`, "If-Modified-Since", modified}, 200, "0123456789", ""},
		{"GET", []string{"If-Modified-Since", modified}, 304, "", ""},
		{"HEAD", []string{"If-None-Match", etag}, 304, "", ""},
		{"GET", []string{"If-Match", `"x"`}, 412, "", ""},
		{"GET", []string{"Range", "bytes=2-4"}, 206, "234", "bytes 2-4/10"},
		{"GET", []string{"Range", "bytes=-3"}, 206, "789", "bytes 7-9/10"},
		{"GET", []string{"Range", "bytes=8-99"}, 206, "89", "bytes 8-9/10"},
		{"GET", []string{"Range", "bytes=10-"}, 416, "", "bytes */10"},
		{"GET", []string{"Range", "bytes=0-1,3-4"}, 200, "0123456789", ""},
		{"GET", []string{"Range", "bytes=2-4", "If-Range", etag}, 206, "234", "bytes 2-4/10"},
		{"GET", []string{"Range", "bytes=2-4", "If-Range", `"x"`}, 200, "0123456789", ""},
	} {
		a, body := get(t, f, row.method, "/a.html", row.fields...)
		if a.Status < 400 && a.Header.Get("Etag") != etag {
			t.Errorf("%q: Etag %s", row.fields, a.Header.Get("Etag"))
		}
		if a.Status != row.status || a.Status < 400 && body != row.body || a.Header.Get("Content-Range") != row.part {
			t.Errorf("%s %q: %d %q %q", row.method, row.fields, a.Status, body, a.Header.Get("Content-Range"))
		}
		if length := a.Header.Get("Content-Length"); a.Status == 200 && length != "10" {
			t.Errorf("%s %q: Content-Length %q", row.method, row.fields, length)
		}
	}
	if a, body := get(t, f, "GET", "/empty.txt", "Range", "bytes=0-"); a.Status != 200 || body != "" {
		t.Errorf("a range of an empty file: %d %q", a.Status, body)
	}
	must(t, os.WriteFile(filepath.Join(dir, "a.html"), []byte("abcdefghij"), 0o600)) // as long
	if a, body := get(t, f, "GET", "/a.html", "If-None-Match", etag); a.Status != 200 || body != "abcdefghij" {
		t.Errorf("a changed file: %d %q", a.Status, body)
	}
}

// A sibling in a content coding is chosen by Accept-Encoding, unless it is older than the file.
func TestPrecompressed(t *testing.T) {
	dir := tree(t, map[string]string{"a.js": "script", "a.js.br": "BR", "a.js.gz": "GZIP", "b.js": "new", "b.js.br": "OLD",
		"c.js": "alone"})
	early := time.Now().Add(-time.Hour)
	must(t, os.Chtimes(filepath.Join(dir, "b.js.br"), early, early))
	f := newFolder(dir, func(o *Options) { o.Precompressed = []string{"br", "gz"} })
	tags := map[string]bool{}
	for _, row := range []struct{ path, accept, body, coding, vary string }{
		{"/a.js", "br, gzip", "BR", "br", "Accept-Encoding"},
		{"/a.js", "gzip", "GZIP", "gzip", "Accept-Encoding"},
		{"/a.js", "br;q=0.1, gzip", "GZIP", "gzip", "Accept-Encoding"},
		{"/a.js", "", "script", "", "Accept-Encoding"},
		{"/b.js", "br", "new", "", ""},
		{"/c.js", "br", "alone", "", ""},
	} {
		a, body := get(t, f, "GET", row.path, "Accept-Encoding", row.accept)
		h := a.Header
		if body != row.body || h.Get("Content-Encoding") != row.coding || h.Get("Vary") != row.vary ||
			!strings.HasPrefix(h.Get("Content-Type"), "text/javascript") {
			t.Errorf("%s, %q: %q %v", row.path, row.accept, body, h)
		}
		tags[h.Get("Etag")] = true
	}
	if len(tags) != 5 {
		t.Errorf("%d entity tags of 5 representations", len(tags))
	}
}

// The page of a folder has its names, and none of those that no client may read.
func TestListing(t *testing.T) {
	dir := tree(t, map[string]string{"a/<b>.txt": "1", "a/.hidden": "2", "a/z/y": "3", "a/x&y": "4", "b/index.html": "index"})
	must(t, os.Symlink("../../secret", filepath.Join(dir, "a", "out")))
	must(t, syscall.Mkfifo(filepath.Join(dir, "a", "fifo"), 0o600))
	f := newFolder(dir, func(o *Options) { o.Listing = true })
	a, body := get(t, f, "GET", "/a/")
	for _, want := range []string{`<a href="./%3Cb%3E.txt">&lt;b&gt;.txt</a>`, `<a href="./z/">z/</a>`, `href="./x&amp;y"`, `href="../"`} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s in\n%s", want, body)
		}
	}
	for _, absent := range []string{"hidden", "out", "fifo", "<b>"} {
		if strings.Contains(body, absent) {
			t.Errorf("%s in\n%s", absent, body)
		}
	}
	if again, _ := get(t, f, "GET", "/a/", "If-None-Match", a.Header.Get("Etag")); again.Status != 304 {
		t.Errorf("status %d for the same page", again.Status)
	}
	if _, body := get(t, f, "GET", "/b/"); body != "index" {
		t.Errorf("%q in the place of the index", body)
	}
	if _, body := get(t, newFolder(t.TempDir(), func(o *Options) { o.Listing = true }), "GET", "/"); !strings.Contains(body, "<table>") {
		t.Errorf("an empty folder: %q", body)
	}
}

// A FIFO that has taken the place of a file stalls nothing, and a file that becomes shorter is no
// whole one.
func TestReplaced(t *testing.T) {
	dir := tree(t, map[string]string{"a": strings.Repeat("x", maxHeld+10)})
	must(t, syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600))
	root, err := os.OpenRoot(dir)
	must(t, err)
	if _, _, ok, err := openFile(root, "fifo"); ok || err != nil {
		t.Errorf("a FIFO is read: %v", err)
	}
	if _, _, ok, err := openFile(root, "."); ok || err != nil {
		t.Errorf("a folder is read: %v", err)
	}
	f := newFolder(dir, nil)
	for _, read := range []func(io.Reader) error{
		func(r io.Reader) error { _, err := io.ReadAll(struct{ io.Reader }{r}); return err },
		func(r io.Reader) error { _, err := r.(io.WriterTo).WriteTo(new(bytes.Buffer)); return err },
	} {
		must(t, os.WriteFile(filepath.Join(dir, "a"), bytes.Repeat([]byte("x"), maxHeld+10), 0o600))
		a, err := f.Serve(&upstream.Request{Method: "GET", Target: "/a"})
		must(t, err)
		must(t, os.Truncate(filepath.Join(dir, "a"), 5))
		if err := read(a.Body); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("a shorter file: %v", err)
		}
		a.Body.Close()
	}
}

// While links and files take each other's place, no response has bytes from outside.
func TestRenames(t *testing.T) {
	dir := site(t)
	must(t, os.Mkdir(filepath.Join(dir, "d"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "d", "secret"), []byte("public"), 0o600))
	var all sync.WaitGroup
	done := make(chan struct{})
	all.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
			}
			for _, swap := range []func() error{
				func() error { return os.Rename(filepath.Join(dir, "d"), filepath.Join(dir, "real")) },
				func() error { return os.Symlink("..", filepath.Join(dir, "d")) },
				func() error { return os.Remove(filepath.Join(dir, "d")) },
				func() error { return os.Rename(filepath.Join(dir, "real"), filepath.Join(dir, "d")) },
			} {
				if err := swap(); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	f := newFolder(dir, nil)
	found := 0
	for i := 0; i < 20_000 && (i < 500 || found == 0); i++ {
		if a, body := get(t, f, "GET", "/d/secret"); a.Status == 200 && body != "public" {
			t.Fatalf("the response is %q", body)
		} else if a.Status == 200 {
			found++
		}
	}
	close(done)
	all.Wait()
}

// A link to a new release is followed, and a folder that has gone is a failure of the origin.
func TestRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		above := t.TempDir()
		for _, name := range []string{"1", "2"} {
			must(t, os.Mkdir(filepath.Join(above, name), 0o755))
			must(t, os.WriteFile(filepath.Join(above, name, "v"), []byte(name), 0o600))
		}
		current := filepath.Join(above, "current")
		f := newFolder(current, nil)
		ask := func() string {
			a, err := f.Serve(&upstream.Request{Method: "GET", Target: "/v"})
			if err != nil {
				return fmt.Sprint(errors.Is(err, upstream.ErrUnreachable))
			}
			body, _ := io.ReadAll(a.Body)
			return string(body)
		}
		for _, step := range []struct {
			do   func() error
			want string
		}{
			{func() error { return nil }, "true"},
			{func() error { return os.Symlink("1", current) }, "1"},
			{func() error { return errors.Join(os.Symlink("2", current+"x"), os.Rename(current+"x", current)) }, "2"},
			{func() error { return os.Remove(current) }, "true"},
			{func() error { return os.Symlink("1", current) }, "1"},
		} {
			must(t, step.do())
			time.Sleep(lookEvery)
			if got := ask(); got != step.want {
				t.Errorf("%q, want %q", got, step.want)
			}
		}
	})
}

// The edge stores the files that are worth its memory, for at most two seconds.
func TestLifetimes(t *testing.T) {
	dir := tree(t, map[string]string{"a.txt": "", "a.bin": "", "b.js": "", "b.js.br": ""})
	size := func(name string, n int64) { must(t, os.Truncate(filepath.Join(dir, name), n)) }
	size("a.bin", maxStored+1)
	size("b.js", maxStored+1)
	f := newFolder(dir, func(o *Options) { o.Precompressed = []string{"br"} })
	for _, row := range []struct {
		path    string
		streams bool
	}{{"/a.txt", false}, {"/a.bin", true}, {"/b.js", false}, {"/nothing", false}} {
		r := &upstream.Request{Method: "GET", Target: row.path, Header: http.Header{}}
		if got := f.Streams(r); got != row.streams {
			t.Errorf("%s streams: %v", row.path, got)
		}
		a, err := f.Serve(r)
		must(t, err)
		a.Body.Close()
		d, _ := cachepolicy.ResponseDirectives(a.Header)
		if d.NoStore != row.streams || !row.streams && (d.MaxAge+d.StaleWhileRevalidate > 2*time.Second || d.MaxAge == 0) {
			t.Errorf("%s: %+v", row.path, d)
		}
	}
	if a, _ := get(t, newFolder(site(t), nil), "GET", "/sub?token=x"); a.Header.Get(cachepolicy.OurField) != "no-store" {
		t.Error("a cache may give the query of a client to another")
	}
}
