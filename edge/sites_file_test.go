package edge

import (
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/maxmind/mmdbwriter"
	"github.com/maxmind/mmdbwriter/mmdbtype"
	"golang.org/x/crypto/bcrypt"

	"github.com/iconedge/iconedge/config/flags"
	"github.com/iconedge/iconedge/config/rules"
	"github.com/iconedge/iconedge/edge/own/owntest"
	"github.com/iconedge/iconedge/internal/certs/certstest"
	"github.com/iconedge/iconedge/internal/logtest"
)

// A fileEdge is an edge with a configuration file. Each origin of the file answers with echo.
type fileEdge struct {
	*Server
	file    string
	client  *http.Client
	admin   string
	origins map[string]string // URLs of the servers by those of the file
	log     logtest.Log
	ages    *stoppedClock
}

// echo answers with the request that it gets. Its fields follow from the path.
func echo(name string, asked *atomic.Int64) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		h := w.Header()
		switch p := r.URL.Path; {
		case strings.Contains(p, "fresh"):
			h.Set("Cache-Control", "max-age=600")
		case strings.Contains(p, "bundle"):
			h.Set("Content-Type", "text/javascript")
		case strings.Contains(p, "private"):
			h.Set("Cache-Control", "private, no-store")
		case strings.Contains(p, "wrong"):
			h.Set("Cache-Control", "no-cache, must-revalidate, max-age=0")
			h.Set("Pragma", "no-cache")
		}
		if strings.Contains(r.URL.Path, "vary") {
			h.Set("Vary", "Accept-Encoding, X-Device, Cookie")
		}
		if strings.Contains(r.URL.Path, "cookie") {
			h.Add("Set-Cookie", "session=1")
		}
		h.Set("X-Amz-Request-Id", "1")
		h.Set("Etag", `"1"`)
		if strings.Contains(r.URL.Path, "missing") {
			w.WriteHeader(http.StatusNotFound)
		}
		fmt.Fprintf(w, "%s %s %s host=%s cookie=%q auth=%q variant=%q user=%q", name, r.Method, r.URL.RequestURI(), r.Host,
			r.Header.Get("Cookie"), r.Header.Get("Authorization"), r.Header.Get("X-Variant"),
			r.Header.Get("X-User")+r.Header.Get("X-Auth-Request-User"))
		if strings.Contains(r.URL.Path, "bundle") {
			io.WriteString(w, strings.Repeat(" ", 5000))
		}
	}
}

var originURL = regexp.MustCompile(`http://(10\.0\.0\.\d+:\d+|(s3|deb)\.example\.net)`)

// newFileEdge starts an edge with a file, and with flags beside it. Its origins are replaced by
// servers of the test.
func newFileEdge(t testing.TB, text string, args ...string) *fileEdge {
	t.Helper()
	return newFileEdgeWith(t, nil, text, args...)
}

// newFileEdgeWith is newFileEdge with origins that answer in other ways than echo.
func newFileEdgeWith(t testing.TB, origins map[string]http.Handler, text string, args ...string) *fileEdge {
	t.Helper()
	e := &fileEdge{file: filepath.Join(t.TempDir(), "edge.yaml"), origins: map[string]string{}}
	for u, h := range origins {
		s := httptest.NewServer(h)
		t.Cleanup(s.Close)
		e.origins[u] = s.URL
	}
	e.write(t, text)
	fresh := func() *flag.FlagSet {
		fs := flag.NewFlagSet("edge", flag.ContinueOnError)
		new(Config).Flags(fs)
		return fs
	}
	beside := fresh()
	must(t, beside.Parse(args))
	given := flags.Given(beside)
	load := func() (*flags.Loaded, error) {
		loaded, err := flags.Load(e.file, fresh)
		if err != nil {
			return nil, err
		}
		return loaded, loaded.Override(beside, given)
	}
	loaded, err := load()
	must(t, err)
	var cfg Config
	fs := flag.NewFlagSet("edge", flag.ContinueOnError)
	cfg.Flags(fs)
	must(t, fs.Parse(args))
	must(t, loaded.Apply(fs, given))
	must(t, cfg.Validate())
	e.ages = stop(&cfg)
	cfg.Listener, cfg.AdminListener, cfg.Load, cfg.CacheBytes, cfg.Drain, cfg.Log = listenTest(t), listenTest(t),
		load, 16<<20, time.Second, e.log.Logger()
	cfg.Hold = time.Second // a short response is whole, and stored, before the client has it
	e.Server, err = New(cfg)
	must(t, err)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx) }()
	e.admin = "http://" + cfg.AdminListener.Addr().String()
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, cfg.Listener.Addr().String())
	}
	transport := &http.Transport{DialContext: dial, DisableCompression: true}
	e.client = &http.Client{Transport: transport, CheckRedirect: func(*http.Request,
		[]*http.Request) error {
		return http.ErrUseLastResponse
	}}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		e.Close()
	})
	return e
}

// write writes the file, with the servers of the test for its origins.
func (e *fileEdge) write(t testing.TB, text string) {
	t.Helper()
	text = originURL.ReplaceAllStringFunc(text, func(u string) string {
		if e.origins[u] == "" {
			s := httptest.NewServer(echo(strings.TrimPrefix(u, "http://"), new(atomic.Int64)))
			t.Cleanup(s.Close)
			e.origins[u] = s.URL
		}
		return e.origins[u]
	})
	must(t, os.WriteFile(e.file, []byte(text), 0o600))
}

// ask sends a request, METHOD URL, and returns the response and its body.
func (e *fileEdge) ask(t testing.TB, request string, fields ...string) (*http.Response, string) {
	t.Helper()
	method, url, _ := strings.Cut(request, " ")
	q, err := http.NewRequest(method, url, nil)
	must(t, err)
	for i := 0; i < len(fields); i += 2 {
		q.Header.Add(fields[i], fields[i+1])
	}
	resp, err := e.client.Do(q)
	must(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	must(t, err)
	return resp, string(body)
}

// A fileStep is a request and a part of its response.
type fileStep struct {
	request string
	fields  []string
	status  int
	want    string // parts of the fields and the body, separated by |; with ! absent
}

func (e *fileEdge) run(t *testing.T, steps []fileStep) {
	t.Helper()
	for _, s := range steps {
		resp, body := e.ask(t, s.request, s.fields...)
		var text strings.Builder
		resp.Header.Write(&text)
		text.WriteString(body)
		if resp.StatusCode != s.status {
			t.Errorf("%s %q: status %d, want %d: %s", s.request, s.fields, resp.StatusCode, s.status, body)
		}
		for part := range strings.SplitSeq(s.want, "|") {
			if absent, no := strings.CutPrefix(part, "!"); no == strings.Contains(text.String(), strings.TrimPrefix(part, "!")) {
				t.Errorf("%s %q: has %q: %v; in\n%s", s.request, s.fields, absent, no, text.String())
			}
		}
	}
}

// recipes returns the files of the page about sites, by their titles.
func recipes(t *testing.T) map[string]string {
	t.Helper()
	page, err := os.ReadFile("../docs/how-to/sites.md")
	must(t, err)
	all := map[string]string{}
	for section := range strings.SplitSeq(string(page), "\n## ") {
		title, rest, _ := strings.Cut(section, "\n")
		if _, file, ok := strings.Cut(rest, "```yaml\n"); ok {
			all[title], _, _ = strings.Cut(file, "```")
		}
	}
	return all
}

// guesses are 20 requests of a client within a minute, and one more.
func guesses(request string) []fileStep {
	return append(slices.Repeat([]fileStep{{request, nil, 200, ""}}, 20), fileStep{request, nil, 429, "Retry-After"})
}

// TestRecipes: each recipe of docs/how-to/sites.md does what the page says.
func TestRecipes(t *testing.T) {
	t.Setenv("DOWNLOAD_SECRET", "secret")
	hash, err := bcrypt.GenerateFromPassword([]byte("pass"), bcrypt.MinCost)
	must(t, err)
	htpasswd := filepath.Join(t.TempDir(), "htpasswd")
	must(t, os.WriteFile(htpasswd, fmt.Appendf(nil, "ann:%s\n", hash), 0o600))
	future := strconv.FormatInt(time.Now().Add(time.Hour).Unix(), 10)
	past := strconv.FormatInt(time.Now().Add(-time.Hour).Unix(), 10)
	signed := func(path, exp string) string {
		return "GET http://dl.example.org" + path + "?exp=" + exp + "&sig=" + rules.Sign([]byte("secret"), path, exp)
	}
	token, keys := apiToken(t)
	steps := map[string][]fileStep{
		"Style sheets that are pages": {
			{"GET http://docs.example.org/account/x.css", []string{"Cookie", "session=1"}, 200, `uri-miss|!stored|cookie="session=1"`},
			{"GET http://docs.example.org/account/x.css", nil, 200, `stored; ttl=3600|cookie=""`},
			{"GET http://docs.example.org/account/x.css", []string{"Cookie", "session=1"}, 200, `hit|cookie=""`},
			{"GET http://docs.example.org/manual/a", []string{"Cookie", "session=1"}, 200, "stored; ttl=3600"},
		},
		"WordPress": append([]fileStep{
			{"GET http://blog.example.org/?utm_source=x", nil, 200, "fwd=uri-miss|ttl=300"},
			{"GET http://blog.example.org/?fbclid=1", []string{"Cookie", "_ga=1"}, 200, "hit"},
			{"GET http://blog.example.org/", []string{"Cookie", "wordpress_logged_in_1=x"}, 200, "fwd=bypass|wordpress_logged_in_1=x"},
			{"GET http://blog.example.org/", []string{"Cookie", "wp-postpass_1=x"}, 200, "fwd=bypass"},
			{"GET http://blog.example.org/wp-admin/x", nil, 200, "fwd=bypass"},
			{"GET http://blog.example.org/wp-content/plugins/x/private.php", []string{"Cookie", "a=1"}, 200, `!stored|cookie="a=1"`},
			{"GET http://blog.example.org/wp-content/cookie.css", []string{"Cookie", "wordpress_logged_in_1=x"}, 200,
				"ttl=2592000|!Set-Cookie|cookie=\"\""},
		}, guesses("POST http://blog.example.org/wp-login.php")...),
		"Nextcloud and other WebDAV servers": append([]fileStep{
			{"GET http://cloud.example.org/.well-known/caldav", nil, 301, "Location: /remote.php/dav/"},
			{"PROPFIND http://cloud.example.org/remote.php/dav/", []string{"Depth", "1"}, 200, "PROPFIND /remote.php/dav/"},
			{"GET http://cloud.example.org/fresh", []string{"Authorization", "Basic YW5uOnBhc3M="}, 200, "!stored"},
		}, guesses("POST http://cloud.example.org/login")...),
		"A Next.js application": {
			{"GET http://app.example.org/_next/static/a.js?v=1", nil, 200, "ttl=31536000"},
			{"GET http://app.example.org/_next/static/a.js?v=2", nil, 200, "hit"},
			{"GET http://app.example.org/api/fresh", nil, 200, "fwd=bypass"},
			{"GET http://app.example.org/fresh", nil, 200, "uri-miss"},
			{"GET http://app.example.org/fresh", []string{"RSC", "1"}, 200, "uri-miss"},
			{"GET http://app.example.org/fresh", []string{"RSC", "1"}, 200, "hit"},
		},
		"Deployments that cost visitors little": {
			{"GET http://app.example.org/assets/bundle-3f2a91bc.js", nil, 200,
				`uri-miss|ttl=31536000|immutable|Use-As-Dictionary: match="/assets/bundle-*.js"|Available-Dictionary`},
			{"GET http://app.example.org/assets/bundle-3f2a91bc.js", nil, 200, `hit|Use-As-Dictionary: match="/assets/bundle-*.js"`},
			{"GET http://app.example.org/bundle-3f2a91bc.js", nil, 200, "!Use-As-Dictionary|!immutable"},
		},
		"A single-page application": {
			{"GET http://app.example.org/", nil, 200, "the page|must-revalidate|text/html; charset=utf-8|Etag: \""},
			{"GET http://app.example.org/", nil, 200, "the page|iconedge; hit"},
			{"GET http://app.example.org/users/7", nil, 200, "the page"},
			{"GET http://app.example.org/assets/app.js", nil, 200, "the script|immutable|!must-revalidate|Vary: Accept-Encoding"},
			{"GET http://app.example.org/assets/app.js", []string{"Accept-Encoding", "gzip"}, 200, "in gzip|Content-Encoding: gzip"},
			{"GET http://app.example.org/assets/app.js", []string{"Range", "bytes=4-9"}, 206, "script|Content-Range: bytes 4-9/10"},
			{"GET http://app.example.org/assets/gone.js", nil, 404, "!the page|!immutable"},
			{"GET http://app.example.org/assets/gone.js", nil, 404, "iconedge; hit|!immutable"},
			{"GET http://app.example.org/assets/app.js", []string{"If-None-Match", "*"}, 304, "immutable"},
			{"GET http://app.example.org/assets/app.js", []string{"If-None-Match", "*"}, 304, "iconedge; hit|immutable"},
			{"GET http://app.example.org/assets", nil, 301, "Location: ./assets/"},
			{"GET http://app.example.org/.env", nil, 404, "!the page"},
			{"POST http://app.example.org/", nil, 405, "Allow: GET, HEAD"},
			{"POST http://app.example.org/api/x", nil, 200, "10.0.0.5:8000 POST /api/x"},
		},
		"A maintenance window": {
			{"GET http://shop.example.org/x", []string{"Accept", "text/html"}, 503, "Retry-After: 600|text/html|<h1>Closed</h1>"},
			{"GET http://shop.example.org/x", nil, 503, `Retry-After: 600|problem+json|"status":503|Vary: Accept`},
		},
		"A download mirror": {
			{"GET http://mirror.example.org/files/", nil, 200, `<a href="./big.iso">big.iso</a>`},
			{"GET http://mirror.example.org/files/big.iso", []string{"Range", "bytes=1500000-1500009"}, 206,
				"fwd=bypass|Content-Range: bytes 1500000-1500009/2000000|!stored"},
			{"HEAD http://mirror.example.org/files/big.iso", nil, 200, "Content-Length: 2000000|Accept-Ranges: bytes"},
			{"GET http://mirror.example.org/private/x", nil, 403, ""},
			{"GET http://mirror.example.org/%70rivate/x", nil, 403, ""},
			{"GET http://mirror.example.org/files/..%2fprivate/x", nil, 403, ""},
			{"GET http://mirror.example.org//private%2fx", nil, 403, ""},
		},
		"A mirror of another mirror": {
			{"GET http://debian.example.org/pool/a.deb?x=1", nil, 200, "GET /pool/a.deb?x=1 host=127.0.0.1|ttl=31536000"},
			{"GET http://debian.example.org/pool/a.deb?x=2", nil, 200, "iconedge; hit"},
			{"GET http://debian.example.org/dists/stable/InRelease", nil, 200, "ttl=60"},
		},
		"A bucket as a website": {
			{"GET http://www.example.org/", nil, 200, "GET /my-bucket/index.html host=127.0.0.1|!Amz"},
			{"GET http://www.example.org/a/b.css", nil, 200, "/my-bucket/a/b.css|ttl=3600"},
			{"GET http://www.example.org/missing", nil, 404, "ttl=60"},
		},
		"Video": {
			{"GET http://video.example.org/a/1.ts?token=1", nil, 200, "ttl=604800"},
			{"GET http://video.example.org/a/1.ts?token=2", nil, 200, "hit"},
			{"GET http://video.example.org/a/live.m3u8", nil, 200, "ttl=1"},
		},
		"An npm registry": {
			{"GET http://npm.example.org/left-pad/-/left-pad-1.tgz", nil, 200, "ttl=31536000"},
			{"GET http://npm.example.org/left-pad", []string{"Accept", "a/b"}, 200, "ttl=300"},
			{"GET http://npm.example.org/left-pad", []string{"Accept", "c/d"}, 200, "uri-miss"},
			{"PUT http://npm.example.org/left-pad", nil, 200, "fwd=method"},
			{"GET http://npm.example.org/left-pad", []string{"Accept", "a/b", "Authorization", "Bearer x"}, 200, "fwd=bypass"},
		},
		"A container registry": {
			{"GET http://registry.example.org/v2/a/b/blobs/sha256:12", nil, 200, "ttl=31536000"},
			{"GET http://registry.example.org/v2/a/b/manifests/latest", nil, 200, "uri-miss"},
			{"GET http://registry.example.org/v2/a/b/manifests/latest", nil, 200, "fwd=stale"},
		},
		"An API with CORS": {
			{"OPTIONS http://api.example.org/x", []string{"Access-Control-Request-Method", "PUT"}, 204,
				"Access-Control-Max-Age: 86400|Access-Control-Allow-Origin: https://app.example.org"},
			{"GET http://api.example.org/fresh", nil, 200, "Access-Control-Allow-Origin: https://app.example.org|Vary: Origin"},
			{"GET http://api.example.org/fresh", nil, 200, "hit|Access-Control-Allow-Origin: https://app.example.org|!Max-Age: 86400"},
		},
		"Staging behind a password": {
			{"GET http://staging.example.org/", nil, 401, `Www-Authenticate: Basic|X-Robots-Tag: noindex`},
			{"GET http://staging.example.org/fresh", []string{"Authorization", "Basic YW5uOnBhc3M="}, 200, `auth=""|noindex`},
			{"GET http://staging.example.org/fresh", []string{"Authorization", "Basic YW5uOnBhc3M="}, 200, `hit`},
			{"GET http://staging.example.org/fresh", []string{"Authorization", "Basic YW5uOndyb25n"}, 401, ""},
			{"GET http://staging.example.org/fresh", nil, 401, "!hit"},
		},
		"Sign-on with oauth2-proxy": {
			{"GET http://intranet.example.org/fresh", nil, 302, "Location: /oauth2/start|no-store"},
			{"GET http://intranet.example.org/oauth2/sign_in", nil, 200, "10.0.0.6:4180 GET /oauth2/sign_in|fwd=bypass"},
			{"GET http://intranet.example.org/assets/fresh.css", []string{"X-Auth-Request-User", "eve"}, 200, `stored|user=""`},
			{"GET http://intranet.example.org/x", []string{"Cookie", "_oauth2_proxy=ann", "X-Auth-Request-User", "eve"}, 200,
				`10.0.0.5:3000 GET /x|user="ann"`},
		},
		"An API with tokens": {
			{"GET http://api.example.org/x", nil, 401, "Www-Authenticate: Bearer"},
			{"GET http://api.example.org/x", []string{"Authorization", "Bearer " + token, "X-User", "eve"}, 200, `user="ann"|GET /x`},
		},
		"Blue and green": {
			{"GET http://shop.example.org/fresh", nil, 200, "10.0.0.5:3000 GET"},
			{"GET http://shop.example.org/fresh", []string{"X-Version", "green"}, 200, "10.0.0.6:3000 GET"},
			{"GET http://shop.example.org/fresh", nil, 200, "hit|10.0.0.5:3000 GET"},
		},
		"Canary by weight": {
			{"GET http://shop.example.org/fresh", nil, 200, ":3000 GET"},
			{"GET http://shop.example.org/fresh", nil, 200, "hit"},
		},
		"A maintenance page": {
			{"GET http://shop.example.org/x", nil, 503, "Retry-After: 600|Content-Type: text/html|<h1>Back soon</h1>"},
			{"HEAD http://shop.example.org/x", nil, 503, "Retry-After: 600|Content-Length: 18"},
		},
		"Hotlink protection": {
			{"GET http://photos.example.org/a/fresh.jpg", nil, 200, ""},
			{"GET http://photos.example.org/a/fresh.jpg", []string{"Referer", "https://www.example.org/x"}, 200, "hit"},
			{"GET http://photos.example.org/a/fresh.jpg", []string{"Referer", "https://example.org.evil.test/"}, 403, "not here"},
			{"GET http://photos.example.org/a.html", []string{"Referer", "https://evil.test/"}, 200, ""},
		},
		"Signed downloads": {
			{"GET http://dl.example.org/open", nil, 200, ""},
			{"GET http://dl.example.org/private/a.zip", nil, 403, ""},
			{signed("/private/a", past), nil, 403, ""},
			{signed("/private/x", future), nil, 200, "GET /private/x?exp="},
			{signed("/private/x", future) + "0", nil, 403, ""},
			{strings.Replace(signed("/private/x", future), "/private/x", "//private/x", 1), nil, 403, ""},
		},
		"Two applications under one host": {
			{"GET http://example.org/", nil, 200, "10.0.0.5:3000 GET / "},
			{"GET http://example.org/docs", nil, 301, "Location: /docs/"},
			{"GET http://example.org/docs/a?b=c", nil, 200, "10.0.0.6:8000 GET /a?b=c "},
		},
		"Redirect by country": {
			{"GET http://example.org/", nil, 302, "Location: /de/"},
			{"GET http://example.org/", []string{"Cookie", "language=en"}, 200, "10.0.0.5:3000"},
			{"GET http://example.org/a", nil, 200, "10.0.0.5:3000"},
		},
		"www to apex": {
			{"GET http://www.example.org/a?b=c", nil, 301, "Location: https://example.org/a?b=c"},
			{"GET http://example.org/a", nil, 200, ""},
		},
		"HTTP to HTTPS": {
			{"GET http://example.org/a?b", nil, 308, "Location: https://example.org/a?b"},
			{"GET http://example.org/a?b", []string{"X-Forwarded-Proto", "https"}, 200, ""},
			{"GET http://example.org/.well-known/acme-challenge/x", nil, 200, ""},
		},
		"A/B by cookie": {
			{"GET http://shop.example.org/", nil, 200, `uri-miss|variant=""`},
			{"GET http://shop.example.org/", []string{"Cookie", "variant=b"}, 200, `uri-miss|variant="b"`},
			{"GET http://shop.example.org/", []string{"Cookie", "variant=b"}, 200, `hit|variant="b"`},
			{"GET http://shop.example.org/", nil, 200, `hit|variant=""`},
		},
		"A legacy site with wrong cache headers": {
			{"GET http://legacy.example.org/wrong/cookie", []string{"Cookie", "a=b"}, 200,
				`uri-miss|ttl=600|!Set-Cookie|!Pragma|Cache-Control: max-age=60`},
			{"GET http://legacy.example.org/wrong/cookie", []string{"Cookie", "c=d"}, 200, `hit|!Set-Cookie|cookie=""`},
			{"GET http://legacy.example.org/private", nil, 200, `ttl=600`},
			{"GET http://legacy.example.org/account/fresh", nil, 200, `!ttl|!stored`},
			{"GET http://legacy.example.org/account/fresh", nil, 200, `!hit`},
		},
		"Icons beside a site of one's own": {
			{"GET http://example.org/mdi/home.svg", nil, 200, "10.0.0.5:3000 GET /mdi/home.svg host=example.org"},
			{"GET http://icons.example.org/healthz", nil, 200, "ok"},
			{"GET http://icons.example.org/unknown/path/deep", nil, 404, ""},
			{"GET http://unknown.test/", nil, 421, ""},
		},
	}
	page := func(text string) string {
		file := filepath.Join(t.TempDir(), "page.html")
		must(t, os.WriteFile(file, []byte(text), 0o600))
		return file
	}
	all := recipes(t)
	if len(all) != 29 {
		t.Errorf("the page has %d recipes", len(all))
	}
	for title, file := range all {
		t.Run(title, func(t *testing.T) {
			if steps[title] == nil {
				t.Fatal("the recipe has no test")
			}
			e := newFileEdgeWith(t, map[string]http.Handler{"http://10.0.0.6:4180": loginService(keys)},
				strings.NewReplacer("/etc/iconedge/staging.htpasswd", htpasswd, "/etc/iconedge/country.mmdb", countries(t),
					"/srv/www", www(t), "/etc/iconedge/5xx.html", page("<h1>Down</h1>"),
					"/run/iconedge/maintenance.html", page("<h1>Closed</h1>"),
					"/var/cache/iconedge", t.TempDir()).Replace(file))
			e.run(t, steps[title])
		})
	}
}

// loginService answers as oauth2-proxy does, and has keys at /jwks.
func loginService(keys []byte) http.Handler {
	echoed := echo("10.0.0.6:4180", new(atomic.Int64))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := r.Cookie("_oauth2_proxy")
		switch {
		case r.URL.Path == "/jwks":
			w.Write(keys)
		case r.URL.Path != "/":
			echoed(w, r)
		case err != nil:
			http.Redirect(w, r, "/oauth2/start", http.StatusFound)
		default:
			w.Header().Set("X-Auth-Request-User", c.Value)
			w.WriteHeader(http.StatusAccepted)
		}
	})
}

// apiToken returns a token of ann for the API, and the keys of its issuer.
func apiToken(t *testing.T) (token string, keys []byte) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	must(t, err)
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.EdDSA, Key: private}, nil)
	must(t, err)
	signed, err := signer.Sign(fmt.Appendf(nil, `{"iss":"https://login.example.org","aud":"api","sub":"ann","scope":"read write","exp":%d}`,
		time.Now().Add(time.Hour).Unix()))
	must(t, err)
	token, err = signed.CompactSerialize()
	must(t, err)
	keys, err = json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: public}}})
	must(t, err)
	return token, keys
}

// www makes a folder with a site.
func www(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	now := time.Now()
	for name, text := range map[string]string{"index.html": "the page", "assets/app.js": "the script", "assets/app.js.gz": "in gzip",
		".env": "secret", "files/big.iso": strings.Repeat("0123456789", 200_000), "private/x": "private"} {
		name = filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(name), 0o755))
		must(t, os.WriteFile(name, []byte(text), 0o600))
		must(t, os.Chtimes(name, now, now))
	}
	return dir
}

// A long file arrives whole from event loops and from goroutines, over TLS and without, and another
// request follows on its connection.
func TestLongFile(t *testing.T) {
	dir := www(t)
	want, err := os.ReadFile(filepath.Join(dir, "files/big.iso"))
	must(t, err)
	for _, loop := range []string{"on", "off"} {
		e := newFileEdge(t, "version: 1\nloop: "+loop+"\nsites: [{name: a, hosts: [a.test], origins: {www: {dir: "+dir+"}}}]\n")
		for range 3 {
			if resp, body := e.ask(t, "GET http://a.test/files/big.iso"); resp.StatusCode != 200 || body != string(want) {
				t.Errorf("loop %s: status %d, %d bytes", loop, resp.StatusCode, len(body))
			}
			if resp, body := e.ask(t, "GET http://a.test/files/big.iso", "Range", "bytes=7-1500006"); resp.StatusCode != 206 ||
				body != string(want[7:1500007]) {
				t.Errorf("loop %s: status %d, %d bytes", loop, resp.StatusCode, len(body))
			}
			e.run(t, []fileStep{{"GET http://a.test/assets/app.js", nil, 200, "the script"}})
		}
	}
}

// countries writes a database in which the client of the tests is in Germany.
func countries(t *testing.T) string {
	t.Helper()
	tree, err := mmdbwriter.New(mmdbwriter.Options{DatabaseType: "Country", IncludeReservedNetworks: true})
	must(t, err)
	_, network, err := net.ParseCIDR("127.0.0.0/8")
	must(t, err)
	must(t, tree.Insert(network, mmdbtype.Map{"country": mmdbtype.Map{"iso_code": mmdbtype.String("DE")}}))
	path := filepath.Join(t.TempDir(), "country.mmdb")
	file, err := os.Create(path)
	must(t, err)
	_, err = tree.WriteTo(file)
	must(t, errors.Join(err, file.Close()))
	return path
}

// TestSiteLimits: each site counts for itself, its refusals have the RateLimit fields and the edits
// of the site, and a reload changes limits, those of the edge's own paths too.
func TestSiteLimits(t *testing.T) {
	file := func(client, search string) string {
		return fmt.Sprintf(`version: 1
defaults: {limits: {search: 50/1h}}
sites:
  - name: a
    hosts: [a.test]
    limits: {forwarded: 2/1h}
    origins: {app: {urls: ["http://10.0.0.1:80"]}}
  - name: b
    hosts: [b.test]
    limits: {client: %s}
    response_headers: {set: {X-Site: b}}
    origins: {app: {urls: ["http://10.0.0.2:80"]}}
  - name: icons
    hosts: [icons.test]
    icons: true
    limits: {search: %s}
    origins: {icons: {urls: ["http://10.0.0.3:80"]}}
`, client, search)
	}
	e := newFileEdge(t, file("1/1h", "1/1h"))
	e.run(t, []fileStep{
		{"GET http://a.test/fresh", nil, 200, "!Ratelimit"}, {"GET http://a.test/fresh", nil, 200, "hit"},
		{"GET http://a.test/fresh", nil, 429, `Ratelimit-Policy: "forwarded";q=2;w=3600|Ratelimit: "forwarded";r=0|Retry-After`},
		{"GET http://b.test/fresh", nil, 200, "X-Site: b"},
		{"GET http://b.test/fresh", nil, 429, `Ratelimit-Policy: "client";q=1;w=3600|Retry-After|X-Site: b`},
		{"GET http://icons.test/api/v1/search?q=a", nil, 200, `Ratelimit-Policy: "search";q=1;w=3600`},
		{"GET http://icons.test/api/v1/search?q=a", nil, 429, ""},
	})
	e.write(t, file("9/1h", "8/1h"))
	must(t, e.sites.Reload())
	e.run(t, []fileStep{
		{"GET http://a.test/fresh", nil, 429, ""}, // an unchanged limit keeps its window
		{"GET http://b.test/fresh", nil, 200, "hit"},
		{"GET http://icons.test/api/v1/search?q=a", nil, 200, `Ratelimit-Policy: "search";q=8;w=3600`},
	})
}

// TestFlagLimits: a limit on forwarded requests beside a file counts for each site by itself,
// before the first reload and after it.
func TestFlagLimits(t *testing.T) {
	const file = `version: 1
sites:
  - {name: a, hosts: [a.test], origins: {app: {urls: ["http://10.0.0.1:80"]}}}
  - {name: b, hosts: [b.test], origins: {app: {urls: ["http://10.0.0.2:80"]}}}
`
	e := newFileEdge(t, file, "--limit", "forwarded=3/1h")
	e.run(t, []fileStep{{"GET http://a.test/1", nil, 200, ""}, {"GET http://a.test/2", nil, 200, ""},
		{"GET http://b.test/1", nil, 200, ""}, {"GET http://b.test/2", nil, 200, ""}})
	must(t, e.sites.Reload())
	e.run(t, []fileStep{{"GET http://a.test/3", nil, 200, ""},
		{"GET http://a.test/4", nil, 429, `Ratelimit-Policy: "forwarded";q=3;w=3600`}, {"GET http://b.test/3", nil, 200, ""}})
}

// TestWrongLimits: the edge refuses a file with a wrong limit as a whole, with a finding about it,
// and keeps the limits that it has.
func TestWrongLimits(t *testing.T) {
	file := func(defaults, site, rule string) string {
		return fmt.Sprintf(`version: 1
defaults: {limits: {%s}}
sites:
  - name: icons
    hosts: [icons.test]
    icons: true
    limits: {%s}
    origins: {icons: {urls: ["http://10.0.0.3:80"]}}
    rules: [{match: {path: /never}, limit: {rate: %s}}]
`, defaults, site, rule)
	}
	e := newFileEdge(t, file("client: 100/1h", "search: 7/1h, team:search: 5/1h", "1/1h"))
	for _, row := range []struct{ defaults, site, rule, want string }{
		{"client: 0/1m", "search: 9/1h", "1/1h", `:2: defaults.limits.client: "0/1m" is no limit; a limit is `},
		{"client: 9/1h", "forwarded: +5/1m", "1/1h", `:7: sites[0].limits.forwarded: "+5/1m" is no limit; a limit is `},
		{"client: 9/1h", "search: +5/1m", "1/1h", `:7: sites[0].limits.search: "+5/1m" is no limit; a limit is `},
		{"client: 9/1h", "search: 10/100ms", "1/1h", `:7: sites[0].limits.search: "10/100ms" is no limit; a limit is `},
		{"client: 9/1h", "search: 10/48h", "1/1h", `:7: sites[0].limits.search: "10/48h" is no limit; a limit is `},
		{"client: 9/1h", "search: 9/1h", "+1/1h", `:9: sites[0].rules[0].limit.rate: "+1/1h" is no limit; a limit is `},
		{"client: 9/1h", "serch: 9/1h", "1/1h", `:7: sites[0].limits.serch: "serch" is no class; did you mean search?`},
		{"client: 9/1h", "team:cdn: 9/1h", "1/1h", `:7: sites[0].limits.team:cdn: "team:cdn" is no class; a plan's class must be `},
		{"client: 9/1h", "team:foo: 9/1h", "1/1h", `:7: sites[0].limits.team:foo: "team:foo" is no class; a plan's class must be `},
		{"TEAM:search: 9/1h", "search: 9/1h", "1/1h", `:2: defaults.limits.TEAM:search: "TEAM:search" is no class; a plan's name must be `},
		{"client: 9/1h", "\"team:search=5/1h\": 9/1h", "1/1h", `is no class; `},
	} {
		e.write(t, file(row.defaults, row.site, row.rule))
		resp, err := http.Post(e.admin+"/config/reload", "", nil)
		must(t, err)
		var problem struct{ Findings []string }
		must(t, json.NewDecoder(resp.Body).Decode(&problem))
		resp.Body.Close()
		if resp.StatusCode != http.StatusUnprocessableEntity || len(problem.Findings) != 1 ||
			!strings.HasPrefix(problem.Findings[0], e.file+":") || !strings.Contains(problem.Findings[0], row.want) {
			t.Errorf("%d %q, want %q", resp.StatusCode, problem.Findings, row.want)
		}
		address := strings.TrimPrefix(e.admin, "http://")
		if _, text := adminCall(t, address, "GET", "/metrics", address); !strings.Contains(text,
			"iconedge_edge_config_last_reload_successful 0\n") {
			t.Error("the metric does not report the failure")
		}
	}
	e.run(t, []fileStep{{"GET http://icons.test/api/v1/search?q=a", nil, 200, `Ratelimit-Policy: "search";q=7;w=3600`}})
}

// TestReloadedSettings: a reload turns addresses of a site with icons on and off.
func TestReloadedSettings(t *testing.T) {
	file := func(on bool) string {
		return fmt.Sprintf("version: 1\nsites: [{name: icons, hosts: [icons.test], icons: true, iconify: %v, site: "+
			"%v, origins: {icons: {urls: [\"http://10.0.0.3:80\"]}}}]\n", on, on)
	}
	e := newFileEdge(t, file(false))
	for i, want := range []int{404, 200, 404} {
		e.write(t, file(i == 1))
		must(t, e.sites.Reload())
		e.run(t, []fileStep{{"GET http://icons.test/collections", nil, want, ""}, {"GET http://icons.test/", nil, want, ""}})
	}
}

// TestReloadedForwarding: a site that a reload has brought takes uploads, and its responses are
// purged by address, although the edge has started without any such site.
func TestReloadedForwarding(t *testing.T) {
	const icons = "version: 1\nsites:\n  - {name: icons, hosts: [icons.test], icons: true, origins: {icons: {urls: " +
		"[\"http://10.0.0.3:80\"]}}}\n"
	e := newFileEdge(t, icons)
	e.run(t, []fileStep{{"GET http://a.test/fresh", nil, 421, ""}})
	e.write(t, icons+"  - {name: a, hosts: [a.test], origins: {app: {urls: [\"http://10.0.0.1:80\"]}}}\n")
	must(t, e.sites.Reload())
	resp, err := e.client.Post("http://a.test/upload", "text/plain", strings.NewReader(strings.Repeat("x", 1<<20)))
	must(t, err)
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("upload: %d", resp.StatusCode)
	}
	e.run(t, []fileStep{{"GET http://a.test/fresh", nil, 200, "uri-miss"}, {"GET http://a.test/fresh", nil, 200, "hit"}})
	resp, err = http.Post(e.admin+"/purge", "application/json", strings.NewReader(`{"urls":["http://a.test/fresh"]}`))
	must(t, err)
	resp.Body.Close()
	e.run(t, []fileStep{{"GET http://a.test/fresh", nil, 200, "uri-miss"}})
}

// TestIconsWithRules: the hit path answers for the icons of a site with rules, and edits the
// responses as the rules that match say.
func TestIconsWithRules(t *testing.T) {
	origin := owntest.NewOrigin()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { origin.ServeHTTP(w, r) }))
	t.Cleanup(server.Close)
	text := fmt.Sprintf("version: 1\nsites:\n  - name: icons\n    hosts: [edge.test]\n    icons: true\n    origins: "+
		"{icons: {urls: [%q]}}\n    rules:\n", server.URL)
	for rules, edit := range map[string]bool{
		"      - {match: {path: \"/old/**\"}, redirect: {to: \"/$1\"}}\n":                     false,
		"      - {match: {path: \"/mdi/*.svg\"}, response_headers: {set: {X-Rule: \"1\"}}}\n": true,
		"      - {match: {cookie: a}, response_headers: {set: {X-Rule: \"1\"}}}\n":            false,
	} {
		e := newFileEdge(t, text+rules)
		e.library.Poll()
		e.run(t, []fileStep{{"GET http://edge.test/mdi/home.svg", nil, 200, "<svg"},
			{"GET http://edge.test/mdi/home.svg", nil, 200, "hit"}})
		out, ok := e.proxy.Answer(nil, ready("/mdi/home.svg"))
		if edited := strings.Contains(string(out), "\r\nX-Rule: 1\r\n"); !ok || edited != edit {
			t.Errorf("%s: answered %v, edited %v, want %v: %q", rules, ok, edited, edit, out)
		}
	}
}

// TestForwardedHost: a host that a trusted proxy names chooses the site on the hit path too, and
// no request to such a host brings another one there.
func TestForwardedHost(t *testing.T) {
	origin := owntest.NewOrigin()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { origin.ServeHTTP(w, r) }))
	t.Cleanup(server.Close)
	text := "version: 1\ntrusted_proxies: [127.0.0.0/8]\nsites:\n  - {name: icons, hosts: [icons.test], icons: true, " +
		"origins: {icons: {urls: [%q]}}}\n" +
		"  - {name: shop, hosts: [shop.test], origins: {app: {urls: [\"http://10.0.0.1:80\"]}}}\n"
	e := newFileEdge(t, fmt.Sprintf(text, server.URL))
	e.library.Poll()
	e.run(t, []fileStep{
		{"GET http://icons.test/mdi/home.svg", nil, 200, "<svg"},
		{"GET http://icons.test/mdi/home.svg", nil, 200, "<svg|hit"},
		{"GET http://icons.test/mdi/home.svg", []string{"X-Forwarded-Host", "ICONS.test"}, 200, "<svg|hit"},
		{"GET http://icons.test/mdi/home.svg", []string{"X-Forwarded-Host", "shop.test"}, 200, "10.0.0.1:80 GET"},
		{"GET http://icons.test/mdi/home.svg", []string{"Forwarded", "for=192.0.2.1;host=shop.test"}, 200, "10.0.0.1:80 GET"},
		{"GET http://shop.test/mdi/home.svg", []string{"X-Forwarded-Host", "icons.test"}, 200, "<svg"},
		{"GET http://shop.test/mdi/home.svg", nil, 200, "10.0.0.1:80 GET"},
	})
}

// TestPurgeBehindAuth: a rule that refuses some clients does not hide the later rules from purges
// and from the invalidation after an unsafe request.
func TestPurgeBehindAuth(t *testing.T) {
	e := newFileEdge(t, `version: 1
sites:
  - name: a
    hosts: [a.test]
    origins: {app: {urls: ["http://10.0.0.1:80"]}}
    rules:
      - {allow: [127.0.0.0/8]}
      - {match: {path: "/in/**"}, key: {query: none}}
      - {match: {path: "/old/**"}, rewrite: "/new/$1"}
`)
	purge := func(address string) func() {
		return func() {
			resp, err := http.Post(e.admin+"/purge", "application/json", strings.NewReader(`{"urls":["`+address+`"]}`))
			must(t, err)
			resp.Body.Close()
		}
	}
	post := func() { e.run(t, []fileStep{{"POST http://a.test/in/fresh?c=3", nil, 200, ""}}) }
	for _, row := range []struct {
		address string
		purge   func()
	}{
		{"/in/fresh?a=1", purge("/in/fresh?b=2")}, {"/in/fresh?a=1", purge("http://a.test/in/fresh?b=2")},
		{"/in/fresh?a=1", post}, {"/old/fresh", purge("/old/fresh")},
	} {
		get := "GET http://a.test" + row.address
		e.run(t, []fileStep{{get, nil, 200, ""}, {get, nil, 200, "hit"}})
		row.purge()
		e.run(t, []fileStep{{get, nil, 200, "uri-miss"}})
	}
}

// TestPurgePrefixWithoutHost: the beginning of a URL purges a response that all hosts of a site
// share.
func TestPurgePrefixWithoutHost(t *testing.T) {
	e := newFileEdge(t, "version: 1\nsites: [{name: a, hosts: [a.test, b.test], key: {host: false}, origins: {app: "+
		"{urls: [\"http://10.0.0.1:80\"]}}}]\n")
	for _, prefix := range []string{"http://a.test/fr", "https://b.test/fr", "/fr"} {
		e.run(t, []fileStep{{"GET http://a.test/fresh", nil, 200, ""}, {"GET http://b.test/fresh", nil, 200, "hit"}})
		resp, err := http.Post(e.admin+"/purge", "application/json", strings.NewReader(`{"prefixes":["`+prefix+`"]}`))
		must(t, err)
		resp.Body.Close()
		e.run(t, []fileStep{{"GET http://b.test/fresh", nil, 200, "uri-miss"}})
	}
}

// TestStrippedCookies: a stripped cookie does not reach the origin behind a comma either, which
// some origins read as the end of a cookie.
func TestStrippedCookies(t *testing.T) {
	e := newFileEdge(t, "version: 1\nsites: [{name: a, hosts: [a.test], strip_cookies: [\"s*\"], origins: {app: "+
		"{urls: [\"http://10.0.0.1:80\"]}}}]\n")
	for sent, want := range map[string]string{"s=1": "", "a=1; s=1; b=2": "a=1; b=2", "a=1,s=1; b=2": "b=2",
		"a=1, session=1": "", "a=s,b": "a=s,b"} {
		e.run(t, []fileStep{{"GET http://a.test/", []string{"Cookie", sent}, 200, fmt.Sprintf("cookie=%q", want)}})
	}
}

// TestReloadedCertificates: a reload brings the certificates of new sites, and those that can't be
// used change nothing.
func TestReloadedCertificates(t *testing.T) {
	dir := t.TempDir()
	site := func(name string) string {
		cert, key := certstest.Pair(t, dir, name, name, name+".test")
		return fmt.Sprintf("  - {name: %s, hosts: [%s.test], tls: {cert: %q, key: %q}, origins: {app: {urls: "+
			"[\"http://10.0.0.1:80\"]}}}\n", name, name, cert, key)
	}
	const head = "version: 1\nlisten: {https: \"127.0.0.1:0\"}\nsites:\n"
	a, b := site("a"), site("b")
	e := newFileEdge(t, head+a)
	serves := func(name, want string) {
		t.Helper()
		c, err := tls.Dial("tcp", e.sockets.TLS.Addr().String(), &tls.Config{ServerName: name + ".test", InsecureSkipVerify: true})
		must(t, err)
		c.Close()
		if got := c.ConnectionState().PeerCertificates[0].Subject.CommonName; got != want {
			t.Errorf("%s.test gets the certificate of %s, want %s", name, got, want)
		}
	}
	serves("b", "a")
	e.write(t, head+a+b)
	must(t, e.sites.Reload())
	serves("a", "a")
	serves("b", "b")
	e.write(t, head+a+b+strings.NewReplacer("b.crt", "missing.crt", "name: b", "name: c", "[b.test]", "[c.test]").Replace(b))
	if err := e.sites.Reload(); err == nil || !strings.Contains(err.Error(), "missing.crt") {
		t.Error(err)
	}
	serves("b", "b")
	e.write(t, head+a)
	must(t, e.sites.Reload())
	serves("b", "a")
}

// memory returns the heap in use after a collection, and the number of goroutines.
func memory() (heap uint64, goroutines int) {
	runtime.GC()
	runtime.GC() // pools keep their memory for one more collection
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc, runtime.NumGoroutine()
}

// TestReloads: reloads under load fail no request and give no wrong response; entries stay where
// the site has the same name and key rules.
func TestReloads(t *testing.T) {
	file := func(version int, more string) string {
		return fmt.Sprintf(`version: 1
sites:
  - name: a
    hosts: [a.test]
    origins: {app: {urls: ["http://10.0.0.1:80"]}}
    rules:
      - {match: {path: "/v"}, respond: {body: "version %d"}}
      - {match: {path: "/k/**"}, ttl: 1h%s}
  - name: b
    hosts: [b.test]
    origins: {app: {urls: ["http://10.0.0.2:80"], max_connections: %d}}
`, version, more, 1000+version)
	}
	e := newFileEdge(t, file(0, ""))
	e.run(t, []fileStep{{"GET http://a.test/k/x", nil, 200, "10.0.0.1:80|uri-miss"}, {"GET http://b.test/fresh", nil, 200, "10.0.0.2:80"}})
	reloads := 1000
	if testing.Short() {
		reloads = 300
	}
	var heap uint64
	var goroutines int
	var least, most, responses atomic.Int64
	stop := make(chan struct{})
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				from := least.Load()
				resp, body := e.ask(t, "GET http://a.test/v")
				to := most.Load()
				if v, err := strconv.ParseInt(strings.TrimPrefix(body, "version "), 10, 64); err != nil ||
					resp.StatusCode != 200 || v < from || v > to {
					t.Errorf("%d %s, want a version from %d to %d", resp.StatusCode, body, from, to)
					return
				}
				if resp, body := e.ask(t, "GET http://b.test/fresh"); resp.StatusCode != 200 ||
					!strings.HasPrefix(body, "10.0.0.2:80 GET /fresh") {
					t.Errorf("%d %s", resp.StatusCode, body)
					return
				}
				responses.Add(2)
			}
		})
	}
	for i := range reloads {
		most.Store(int64(i + 1))
		e.write(t, file(i+1, ""))
		must(t, e.sites.Reload())
		least.Store(int64(i + 1))
		switch i {
		case reloads / 3:
			heap, goroutines = memory()
		case reloads - 1:
			// The heap that earlier tests of the process have left moves by some percent.
			if h, g := memory(); h > heap+heap/50+4<<20 || g > goroutines+20 {
				t.Errorf("%d bytes of heap and %d goroutines after %d reloads; %d and %d after a third of them", h, g,
					reloads, heap, goroutines)
			} else {
				t.Logf("%d reloads, %d responses; heap %d kB, then %d kB; %d goroutines, then %d", reloads,
					responses.Load(), heap>>10, h>>10, goroutines, g)
			}
		}
		if i%50 == 0 { // a wrong file changes nothing
			e.write(t, "version: 1\nsites: [")
			if e.sites.Reload() == nil {
				t.Error("a wrong file was used")
			}
		}
	}
	close(stop)
	clients.Wait()
	e.run(t, []fileStep{{"GET http://a.test/k/x", nil, 200, "hit"}, {"GET http://b.test/fresh", nil, 200, "hit"}})
	e.write(t, file(1000, ", key: {query: none}"))
	must(t, e.sites.Reload())
	e.run(t, []fileStep{{"GET http://a.test/k/x", nil, 200, "uri-miss"}, {"GET http://b.test/fresh", nil, 200, "hit"}})
	e.write(t, strings.Replace(file(1001, ", key: {query: none}"), "origins: {app: ", "origin: app\n    origins: "+
		"{other: {urls: [\"http://10.0.0.3:80\"]}, app: ", 1))
	must(t, e.sites.Reload())
	e.run(t, []fileStep{{"GET http://a.test/k/x", nil, 200, "hit"}}) // another origin has joined
	e.write(t, "listen: {http: \":1\"}\n"+file(1001, ""))
	if err := e.sites.Reload(); err == nil || !strings.Contains(err.Error(), ":1: listen: can't change without a restart") {
		t.Error(err)
	}
	resp, err := http.Post(e.admin+"/config/reload", "", nil)
	must(t, err)
	resp.Body.Close()
	if resp.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("status %d", resp.StatusCode)
	}
	resp, err = http.Get(e.admin + "/metrics")
	must(t, err)
	text, err := io.ReadAll(resp.Body)
	must(t, err)
	resp.Body.Close()
	if !strings.Contains(string(text), "iconedge_edge_config_last_reload_successful 0\n") {
		t.Error("the metric does not report the failure")
	}
}
