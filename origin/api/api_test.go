package api

import (
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/cespare/webtest"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/internal/logtest"
	"github.com/iconedge/iconedge/internal/problem"
	"github.com/iconedge/iconedge/origin/catalog"
	"github.com/iconedge/iconedge/origin/catalog/catalogtest"
	"github.com/iconedge/iconedge/origin/svg"
	"github.com/iconedge/iconedge/origin/token"
)

var t0 = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// A world is an API over the test library.
type world struct {
	*testing.T
	*catalogtest.Publisher
	*API
	library catalogtest.Library
	log     *logtest.Log
}

// newWorld makes an API without a release.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, Publisher: catalogtest.Dir(t.TempDir()), log: new(logtest.Log)}
	var err error
	if w.library, err = catalogtest.Read("testdata/library"); err != nil {
		t.Fatal(err)
	}
	logger := w.log.Logger()
	c, err := catalog.New(catalog.Options{Store: w.Store, Mirror: t.TempDir(), Prepare: Prepare, Log: logger})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	w.API = New(Options{
		Catalog: c, Tokens: token.NewVerifier(w.Store), CDNURL: "https://cdn.example.org/", Log: logger,
		CacheControl: "public, max-age=86400, stale-while-revalidate=604800, stale-if-error=604800",
	})
	return w
}

// publish makes the library the current release.
func (w *world) publish(now time.Time) string {
	w.Helper()
	m, err := w.Publish(w.Context(), w.library, now)
	if err != nil {
		w.Fatal(err)
	}
	if err := w.Catalog.Start(w.Context()); err != nil {
		w.Fatal(err)
	}
	return m.ID
}

func published(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.publish(t0)
	return w
}

// do sends a request; fields has alternating names and values.
func (w *world) do(method, target, body string, fields ...string) *http.Response {
	w.Helper()
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	for i := 0; i < len(fields); i += 2 {
		r.Header.Add(fields[i], fields[i+1])
	}
	rec := httptest.NewRecorder()
	w.ServeHTTP(rec, r)
	return rec.Result()
}

func body(t *testing.T, resp *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestScripts(t *testing.T) {
	webtest.TestHandler(t, "testdata/*.txt", published(t))
}

// A response that depends on which icons exist says so to the edges, which pass the tags of errors
// on to nobody.
func TestErrorsHaveTags(t *testing.T) {
	h := published(t)
	for target, want := range map[string]string{
		"/fa/mdiHome": "pages library", "/-/not-found?q=mdi+home": "pages library", "/-/row.svg?icons=mdi:home,mdi:homes": "pages library",
	} {
		r := httptest.NewRequest(http.MethodGet, target, nil)
		r.Header.Set("Accept", "text/html")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if got := w.Result().Header.Get("Surrogate-Key"); w.Code != http.StatusNotFound || got != want {
			t.Errorf("%s: %d with %q, want %q", target, w.Code, got, want)
		}
	}
}

// TestLibraryIsClean checks that cleaning does not change the icons of the scripts' library. Tests
// in cmd/iconedge publish it with package publish, which cleans, and must get the same SVGs.
func TestLibraryIsClean(t *testing.T) {
	l, err := catalogtest.Read("testdata/library")
	if err != nil {
		t.Fatal(err)
	}
	for key, p := range l {
		for name, d := range p.Icons {
			_, inside, _ := strings.Cut(d.SVG, ">")
			clean, err := svg.Clean([]byte(strings.TrimSuffix(inside, "</svg>")), svg.Box{Width: d.Meta.Width, Height: d.Meta.Height})
			if err != nil || string(clean.SVG) != d.SVG || clean.Monochrome != d.Meta.Monochrome {
				t.Errorf("%s/%s: cleaned: %s (monochrome %v), %v; want %s", key, name, clean.SVG, clean.Monochrome, err, d.SVG)
			}
		}
	}
}

func TestNothingPublished(t *testing.T) {
	w := newWorld(t)
	for _, path := range []string{"/mdi/home.svg", "/api/v1/search?q=home", "/api/v1/icon/mdi/home", "/api/v1/packs",
		"/api/v1/packs/mdi", "/-/release"} {
		resp := w.do("GET", path, "")
		if resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" || resp.Header.Get("Cache-Control") != "no-store" ||
			resp.Header.Get("Content-Type") != problem.ContentType || resp.Header.Get(icon.FieldReady) != "?0" ||
			!strings.Contains(body(t, resp), "iconedge publish") {
			t.Errorf("GET %s = %d %v, want a 503 with a hint how to publish", path, resp.StatusCode, resp.Header)
		}
	}
	for _, path := range []string{"/healthz", "/api/v1/openapi.json"} {
		if resp := w.do("GET", path, ""); resp.StatusCode != 200 || resp.Header.Get(icon.FieldReady) != "?0" {
			t.Errorf("GET %s = %d %v", path, resp.StatusCode, resp.Header)
		}
	}
}

// TestFieldsForEdges checks the fields that are for edges only.
func TestFieldsForEdges(t *testing.T) {
	w := newWorld(t)
	id := w.publish(t0)
	for _, row := range []struct{ path, monochrome string }{
		{"/mdi/home.svg", "?1"}, {"/api/v1/icon/mdi/home", "?1"}, {"/flat-color-icons/ok.svg?size=9", "?0"},
		{"/mdi/none.svg", ""}, {"/api/v1/packs", ""},
	} {
		h := w.do("GET", row.path, "").Header
		if h.Get(icon.FieldRelease) != id || h.Get(icon.FieldMonochrome) != row.monochrome || h.Get(icon.FieldReady) != "" {
			t.Errorf("GET %s: release %q, monochrome %q; want %q, %q", row.path, h.Get(icon.FieldRelease),
				h.Get(icon.FieldMonochrome), id, row.monochrome)
		}
	}
}

// TestDictionaryOfSearches checks that the list of all packs is a dictionary for searches, and that
// nothing else is.
func TestDictionaryOfSearches(t *testing.T) {
	w := published(t)
	for path, want := range map[string]string{"/collections": `match="search?*query=*"`, "/collections?prefix=mdi": "",
		"/collection?prefix=mdi": "", "/search?query=home": "", "/mdi.json?icons=home": "", "/collections?pretty=1": ""} {
		if resp := w.do("GET", path, ""); resp.StatusCode != 200 || resp.Header.Get("Use-As-Dictionary") != want {
			t.Errorf("GET %s: %d, Use-As-Dictionary %q, want %q", path, resp.StatusCode, resp.Header.Get("Use-As-Dictionary"), want)
		}
	}
}

// TestRecolourIsTheEdges checks that an edge, which recolours plain answers itself, gives the same
// bytes as the origin.
func TestRecolourIsTheEdges(t *testing.T) {
	w := published(t)
	for _, path := range []string{"/mdi/home.svg", "/lucide/house.svg?size=48", "/shed/plank.svg?rotate=90&flip=vertical"} {
		join := map[bool]string{true: "&", false: "?"}[strings.Contains(path, "?")]
		plain, coloured := body(t, w.do("GET", path, "")), body(t, w.do("GET", path+join+"color=F00", ""))
		if got := string(icon.Recolour([]byte(plain), "#ff0000")); got != coloured {
			t.Errorf("%s: an edge gives %s, the origin %s", path, got, coloured)
		}
	}
	for _, path := range []string{"/api/v1/icon/mdi/home", "/api/v1/icon/lucide/house"} {
		plain, coloured := body(t, w.do("GET", path, "")), body(t, w.do("GET", path+"?color=F00", ""))
		if got := string(icon.RecolourAnswer([]byte(plain), "#ff0000")); got != coloured {
			t.Errorf("%s: an edge gives %s, the origin %s", path, got, coloured)
		}
		translucent := body(t, w.do("GET", path+"?color=F008", ""))
		if got := string(icon.RecolourAnswer([]byte(plain), "#ff000088")); got != translucent {
			t.Errorf("%s: an edge gives %s, the origin %s", path, got, translucent)
		}
	}
}

func TestSVGFormatIsTheCDNPath(t *testing.T) {
	w := published(t)
	for _, query := range []string{"", "color=f00", "size=48&rotate=90", "color=f00&flip=horizontal"} {
		for _, name := range []string{"mdi/home", "flat-color-icons/ok"} {
			cdn, api := w.do("GET", "/"+name+".svg?"+query, ""), w.do("GET", "/api/v1/icon/"+name+"?format=svg&"+query, "")
			if a, b := body(t, cdn), body(t, api); a != b {
				t.Errorf("%s?%s: %s and %s", name, query, a, b)
			}
			for field := range cdn.Header {
				if a, b := cdn.Header.Get(field), api.Header.Get(field); a != b {
					t.Errorf("%s?%s: %s is %q on the CDN path and %q in the API", name, query, field, a, b)
				}
			}
		}
	}
}

func TestGzip(t *testing.T) {
	w := published(t)
	for _, path := range []string{"/lucide/house.svg", "/lucide/house.svg?color=f00", "/api/v1/packs", "/api/v1/packs/mdi"} {
		// Two lines are one list.
		plain, coded := w.do("GET", path, ""), w.do("GET", path, "", "Accept-Encoding", "br", "Accept-Encoding", "gzip")
		z, err := gzip.NewReader(coded.Body)
		if err != nil {
			t.Fatalf("%s: %v, %v", path, err, coded.Header)
		}
		unpacked, err := io.ReadAll(z)
		if err != nil || string(unpacked) != body(t, plain) {
			t.Errorf("%s: the compressed answer differs from the plain one: %v", path, err)
		}
		if a, b := plain.Header.Get("ETag"), coded.Header.Get("ETag"); a == b || strings.HasPrefix(a, "W/") || strings.HasPrefix(b, "W/") {
			t.Errorf("%s: entity tags %s and %s, want two strong ones", path, a, b)
		}
		again := w.do("GET", path, "", "Accept-Encoding", "gzip", "If-None-Match", coded.Header.Get("ETag"))
		if again.StatusCode != 304 || again.Header.Get("ETag") != coded.Header.Get("ETag") || again.Header.Get("Content-Encoding") != "" {
			t.Errorf("%s: %d %v, want a 304 for the coded answer", path, again.StatusCode, again.Header)
		}
		// Only the plain answer has ranges: the compressed one is sent whole.
		if part := w.do("GET", path, "", "Accept-Encoding", "gzip", "Range", "bytes=0-3"); part.StatusCode != 200 {
			t.Errorf("%s: %d for a range of a coded answer", path, part.StatusCode)
		}
	}
}

func TestNotModified(t *testing.T) {
	w := published(t)
	for _, path := range []string{"/mdi/home.svg", "/api/v1/icon/mdi/home"} {
		first := w.do("GET", path, "")
		etag, modified := first.Header.Get("ETag"), first.Header.Get("Last-Modified")
		if modified != "Fri, 20 Nov 2026 12:00:00 GMT" {
			t.Errorf("%s: Last-Modified is %s, want the time of the release", path, modified)
		}
		for _, row := range []struct {
			status int
			fields []string
		}{
			{304, []string{"If-None-Match", etag}},
			{304, []string{"If-None-Match", "W/" + etag}},
			{304, []string{"If-None-Match", `"a", ` + etag}},
			{304, []string{"If-None-Match", `"a"`, "If-None-Match", etag}},
			{200, []string{"If-None-Match", etag + " x"}},
			{200, []string{"If-None-Match", `"a"`, "If-Modified-Since", modified}},
			{304, []string{"If-Modified-Since", modified}},
			// A malformed list matches nothing, as at an edge.
			{200, []string{"If-None-Match", "no list", "If-Modified-Since", modified}},
			{412, []string{"If-Match", etag + " x"}},
			{200, []string{"If-Modified-Since", "Fri, 20 Nov 2026 11:59:59 GMT"}},
			{200, []string{"If-Match", etag}},
			{412, []string{"If-Match", "W/" + etag}},
			{412, []string{"If-Match", `"a"`}},
			{412, []string{"If-Unmodified-Since", "Fri, 20 Nov 2026 11:59:59 GMT"}},
			{206, []string{"Range", "bytes=0-0", "If-Range", etag}},
			{206, []string{"Range", "bytes=0-0", "If-Range", modified}},
			{200, []string{"Range", "bytes=0-0", "If-Range", "W/" + etag}},
			{200, []string{"Range", "bytes=0-0", "If-Range", etag, "If-Range", etag}},
			{200, []string{"Range", "bytes=0-0", "Range", "bytes=1-1"}},
			{200, []string{"Range", "bytes=0-0", "If-Range", "Fri, 20 Nov 2026 12:00:01 GMT"}},
			{304, []string{"Range", "bytes=0-0", "If-None-Match", etag}},
		} {
			resp := w.do("GET", path, "", row.fields...)
			if resp.StatusCode != row.status {
				t.Errorf("GET %s %q = %d, want %d", path, row.fields, resp.StatusCode, row.status)
			}
			if row.status == 304 {
				for _, field := range []string{"ETag", "Cache-Control", "Vary", "Access-Control-Allow-Origin", "Surrogate-Key"} {
					if a, b := first.Header.Get(field), resp.Header.Get(field); a != b {
						t.Errorf("GET %s %q: %s is %q, want %q as in the 200", path, row.fields, field, b, a)
					}
				}
				if resp.Header.Get("Content-Length") != "" || body(t, resp) != "" {
					t.Errorf("GET %s %q: a 304 with a Content-Length or a body", path, row.fields)
				}
			}
		}
	}
}

// TestLastModifiedInTheFuture checks that Last-Modified is not in the future, although a
// publisher's clock may be ahead (RFC 9110, section 8.8.2.1).
func TestLastModifiedInTheFuture(t *testing.T) {
	w := newWorld(t)
	w.publish(time.Now().Add(1000 * time.Hour))
	modified, err := http.ParseTime(w.do("GET", "/mdi/home.svg", "").Header.Get("Last-Modified"))
	if err != nil || modified.After(time.Now()) {
		t.Errorf("Last-Modified is %v, %v", modified, err)
	}
}

func TestPreflight(t *testing.T) {
	w := published(t)
	for _, row := range []struct{ path, methods string }{
		{"/mdi/home.svg", "GET, HEAD, OPTIONS"}, {"/api/v1/search?q=", "GET, HEAD, OPTIONS"}, {"/api/v1/auth/verify", "POST, OPTIONS"},
	} {
		resp := w.do("OPTIONS", row.path, "", "Origin", "https://example.com", "Access-Control-Request-Method", "GET")
		h := resp.Header
		if resp.StatusCode != 204 || h.Get("Access-Control-Max-Age") != "86400" ||
			h.Get("Access-Control-Allow-Methods") != row.methods || h.Get("Content-Length") != "" ||
			h.Get("Access-Control-Allow-Origin") != "*" ||
			!strings.Contains(h.Get("Access-Control-Allow-Headers"), "Authorization, Content-Type, If-Match, If-None-Match") {
			t.Errorf("OPTIONS %s = %d %v", row.path, resp.StatusCode, h)
		}
	}
}

// TestOddAddresses covers addresses that net/http lets through and a script can't express.
func TestOddAddresses(t *testing.T) {
	w := published(t)
	for _, row := range []struct {
		uri    string
		status int
	}{
		{"//mdi/home.svg", 400}, {"/" + strings.Repeat("a", 9000) + ".svg", 414}, {"/mdi/home.svg?x=" + strings.Repeat("a", 9000), 414},
		{"/" + strings.Repeat("a", 200) + "/home.svg", 404}, {"/mdi/" + strings.Repeat("a", 200) + ".svg", 404},
		{"/mdi/home%2Esvg", 400}, {"/%2e%2e/home.svg", 400},
		{`/mdi/"home".svg`, 400}, {"/nothing", 404},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		path, query, _ := strings.Cut(row.uri, "?")
		u, err := r.URL.Parse("http://x" + path)
		if err != nil {
			t.Fatal(err)
		}
		u.RawQuery = query
		r.URL = u
		rec := httptest.NewRecorder()
		w.ServeHTTP(rec, r)
		if rec.Code != row.status || rec.Header().Get("Content-Type") != problem.ContentType || rec.Header().Get("Location") != "" {
			t.Errorf("GET %.40s = %d %v, want %d", row.uri, rec.Code, rec.Header(), row.status)
		}
	}
}

func TestPinned(t *testing.T) {
	w := newWorld(t)
	first := w.publish(t0)
	w.library.Add("mdi", catalogtest.Square("home", "M0 0h9z", 24))
	w.library.Add("mdi", catalogtest.Square("brand-new", "M0 0h9z", 24))
	second := w.publish(t0.Add(time.Hour))
	for _, row := range []struct {
		path   string
		status int
		in     string
	}{
		{"/mdi/home.svg", 200, "M0 0h9z"},
		{"/mdi/home.svg?release=" + first, 200, "M10 20v-6h4"},
		{"/mdi/home.svg?color=f00&release=" + first, 200, "#ff0000"},
		{"/mdi/home.svg?release=" + second, 200, "M0 0h9z"},
		{"/mdi/brand-new.svg?release=" + second, 200, "M0 0h9z"},
		{"/mdi/brand-new.svg?release=" + first, 404, "no icon"},
		{"/mdi/account.svg?release=" + first, 200, "<svg"},
		{"/mdi/account.svg?release=" + second, 200, "<svg"},
		{"/mdi/home.svg?release=" + strings.Repeat("0", 32), 404, "no release"},
		{"/mdi/home.svg?release=", 404, "no release"},
	} {
		resp := w.do("GET", row.path, "")
		if b := body(t, resp); resp.StatusCode != row.status || !strings.Contains(b, row.in) {
			t.Errorf("GET %s = %d %s, want %d and %s", row.path, resp.StatusCode, b, row.status, row.in)
		}
		immutable := resp.Header.Get("Cache-Control") == "public, max-age=31536000, immutable"
		if want := row.status == 200 && strings.Contains(row.path, "release="); immutable != want {
			t.Errorf("GET %s: Cache-Control is %s", row.path, resp.Header.Get("Cache-Control"))
		}
	}
	// An unchanged icon names the release in which it last changed, in all three places.
	resp := w.do("GET", "/api/v1/icon/mdi/account", "")
	if !strings.Contains(body(t, resp), first) || !strings.Contains(resp.Header.Get("Surrogate-Key"),
		"release/"+first) || resp.Header.Get("Last-Modified") != "Fri, 20 Nov 2026 12:00:00 GMT" {
		t.Errorf("an unchanged icon: %v", resp.Header)
	}
}

func TestRelease(t *testing.T) {
	w := newWorld(t)
	first := w.publish(t0)
	w.library.Add("mdi", catalogtest.Square("home", "M0 0h9z", 24))
	second := w.publish(t0.Add(time.Hour))
	list := sha256.Sum256([]byte(body(t, w.do("GET", "/-/names", ""))))
	names := `,"names":"` + hex.EncodeToString(list[:]) + `"}`
	for _, row := range []struct{ query, want string }{
		{"", `{"release":"` + second + `","created":"2026-11-20T13:00:00Z","all":true,"changed":[]` + names},
		{"?since=" + first, `{"release":"` + second + `","created":"2026-11-20T13:00:00Z","since":"` + first +
			`","all":false,"changed":["icon/mdi/home","library","set/mdi"]` + names},
		{"?since=" + second, `{"release":"` + second + `","created":"2026-11-20T13:00:00Z","since":"` + second +
			`","all":false,"changed":[]` + names},
		{"?since=whatever", `{"release":"` + second + `","created":"2026-11-20T13:00:00Z","all":true,"changed":[]` + names},
	} {
		resp := w.do("GET", "/-/release"+row.query, "")
		if got := body(t, resp); got != row.want+"\n" || resp.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("GET /-/release%s = %s %v, want %s", row.query, got, resp.Header, row.want)
		}
	}
}

// TestNames checks that the list of names has every icon that is served, including aliases and
// hidden ones, and nothing else.
func TestNames(t *testing.T) {
	w := newWorld(t)
	first := w.publish(t0)
	w.library.Add("mdi", catalogtest.Square("brand-new", "M0 0h9z", 24))
	second := w.publish(t0.Add(time.Hour))
	resp := w.do("GET", "/-/names?release="+second, "")
	if got := resp.Header; got.Get("Content-Type") != "application/octet-stream" ||
		got.Get("Cache-Control") != "public, max-age=31536000, immutable, no-transform" {
		t.Errorf("%v", got)
	}
	names, err := icon.ParseNames([]byte(body(t, resp)))
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for key, p := range w.library {
		count += 1 + len(p.Icons)
		for name := range p.Icons {
			if _, there := names.Has(key, name); !there {
				t.Errorf("no %s/%s", key, name)
			}
		}
	}
	if _, there := names.Has("mdi", "nothing"); there || names.Len() != count {
		t.Errorf("%d names, want %d", names.Len(), count)
	}
	if resp := w.do("GET", "/-/names?release="+first, ""); resp.StatusCode != 404 {
		t.Errorf("the names of an earlier release: %d", resp.StatusCode)
	}
	if resp := w.do("GET", "/-/names", ""); resp.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("the names without a release parameter: %v", resp.Header)
	}
}

func TestVerify(t *testing.T) {
	w := newWorld(t) // licences do not need a release
	valid, err := token.Issue(t.Context(), w.Store, "lifetime", nil, t0)
	if err != nil {
		t.Fatal(err)
	}
	resp := w.do("POST", "/api/v1/auth/verify", `{"token":"`+valid+`"}`, "Content-Type", "application/json")
	if got := body(t, resp); got != `{"valid":true,"plan":"lifetime","since":"2026-11-20T12:00:00Z"}`+"\n" ||
		resp.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("a valid token: %s %v", got, resp.Header)
	}
	for _, row := range []struct {
		body, mediaType string
		status          int
	}{
		{`{"token":"` + strings.Repeat("x", 4096) + `"}`, "application/json", 413},
		{`{"token":"x"}` + strings.Repeat(" ", 4096), "application/json", 413},
		{`{"token":"x"}`, "", 415}, {`{"token":"x"}`, "application/jsonx", 415}, {`{"token":"x"}`, "application/json; charset=UTF-8", 200},
		{"", "application/json", 400}, {`"x"`, "application/json", 400},
	} {
		resp := w.do("POST", "/api/v1/auth/verify", row.body, "Content-Type", row.mediaType)
		if resp.StatusCode != row.status || resp.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("POST %.20s as %q = %d %v, want %d", row.body, row.mediaType, resp.StatusCode, resp.Header, row.status)
		}
	}
	w.Tokens = away{}
	resp = w.do("POST", "/api/v1/auth/verify", `{"token":"`+valid+`"}`, "Content-Type", "application/json")
	if resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" || resp.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("without the store: %d %v", resp.StatusCode, resp.Header)
	}
	if got := w.log.String(); strings.Contains(got, valid) || !strings.Contains(got, "store is away") {
		t.Errorf("the log must name the store and must not contain the token:\n%s", got)
	}
}

type away struct{}

func (away) Verify(context.Context, string, time.Time) (token.License, bool, error) {
	return token.License{}, false, errors.New("the store is away")
}

// TestNoNull checks that no list in an answer is null, even if a pack or an icon lacks it.
func TestNoNull(t *testing.T) {
	w := newWorld(t)
	w.library = catalogtest.Library{}
	w.library.Add("bare", catalogtest.Square("x", "M0 0h1z", 16))
	w.publish(t0)
	for _, path := range []string{"/api/v1/packs", "/api/v1/packs/bare", "/api/v1/search?q=zzzz",
		"/api/v1/search?q=x&pack=bare", "/-/release"} {
		b := body(t, w.do("GET", path, ""))
		may := strings.NewReplacer(`"alias_of":null`, "", `"pack":null`, "", `"color":null`, "")
		if !json.Valid([]byte(b)) || strings.Contains(may.Replace(b), "null") {
			t.Errorf("GET %s = %s", path, b)
		}
	}
}
