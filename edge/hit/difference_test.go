package hit

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/config/rules"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/compress"
	"github.com/iconedge/iconedge/edge/dictionaries"
	"github.com/iconedge/iconedge/edge/request"
	"github.com/iconedge/iconedge/edge/request/requesttest"
)

// versions returns two versions of a style sheet.
func versions() (one, two string) {
	var b strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&b, ".c%d{margin:%dpx}", i, i*i%977)
	}
	return b.String(), ".new{color:red}" + b.String()
}

// newDifferences returns a path with both versions stored, and the fields of a client that has the
// first one. The second one has br too.
func newDifferences(t testing.TB, all ...string) (p *testPath, has []string) {
	t.Helper()
	p = newTestPath(t, with(all...), func(o *Options) {
		o.Dictionaries = dictionaries.New(o.Cache, o.Compressor, 1<<20)
	})
	for i, body := range sliceOf(versions()) {
		e := &cache.Entry{Key: p.key(fmt.Sprintf("/app.%d.css", i+1)), Status: http.StatusOK, ContentType: []byte("text/css"),
			Date: []byte("Sat, 21 Nov 2026 12:00:00 GMT"), Validator: `"v"`, Policy: cachepolicy.Entry{Stored: p.now, Lifetime: time.Minute},
			Fields: []cache.Field{{Name: []byte("Vary"), Value: []byte("Accept-Encoding")}}}
		e.SetIdentity([]byte(body), `"v"`)
		e.AddCoding(entry.Brotli)
		if !p.Cache.Put(e, p.Cache.Generation()) {
			t.Fatal("a version is not stored")
		}
		if i == 0 {
			p.Dictionaries.Learn(e, dictionaries.Learned{Scope: dictionaries.Scope{Site: "shop", Scheme: "http", Host: "shop.test"},
				Target: "/app.1.css", Header: http.Header{dictionaries.FieldUse: {`match="/app.*.css"`}}})
		}
	}
	one, _ := versions()
	sum := sha256.Sum256([]byte(one))
	return p, []string{"Available-Dictionary: :" + base64.StdEncoding.EncodeToString(sum[:]) + ":"}
}

// key returns the cache key of a target.
func (p *testPath) key(target string) string {
	site, _ := p.set.Find("shop.test")
	q := rules.Request{Method: http.MethodGet, Host: "shop.test", Target: target, Header: http.Header{}, Now: p.now,
		Client: requesttest.Client, Unanswered: true}
	d := site.Rules.Decide(&q)
	return site.Rules.Key(&d, &q, "http", "shop.test")
}

func sliceOf(all ...string) []string { return all }

// asks returns a request for the second version by a client that accepts all codings.
func asks(t testing.TB, fields ...string) *request.Request {
	t.Helper()
	q := requesttest.New(t, "shop.test", "/app.2.css", fields...)
	q.AcceptEncoding, q.Dictionary = []byte("gzip, deflate, br, zstd, dcb, dcz"), true
	return q
}

// The hit path answers with a difference that is made. The pipeline has it made.
func TestDifferences(t *testing.T) {
	p, has := newDifferences(t)
	if out := p.answer(asks(t, has...)); out != "" {
		t.Fatalf("before the difference is made: %.300s", out)
	}
	e := p.Cache.Get(p.key("/app.2.css"))
	d := p.Dictionaries.Find(dictionaries.Claim{Scope: dictionaries.Scope{Site: "shop", Scheme: "http", Host: "shop.test"},
		Target: "/app.2.css", Available: []byte(strings.TrimPrefix(has[0], "Available-Dictionary: "))})
	makeDifference(t, p, d, e)
	body, _ := p.Dictionaries.Made(d, e.ID, dictionaries.Zstd)
	tag := compress.DeltaTag(`"v"`, "dcz", d.Sum())
	out := p.answer(asks(t, has...))
	head, rest, _ := strings.Cut(out, "\r\n\r\n")
	for _, line := range []string{"HTTP/1.1 200 OK", "Content-Encoding: dcz", "ETag: " + tag, "Vary: Accept-Encoding",
		"Vary: Available-Dictionary",
		"X-Site: shop", fmt.Sprint("Content-Length: ", len(body))} {
		if !strings.Contains(head+"\r\n", line+"\r\n") {
			t.Errorf("no line %q in %s", line, head)
		}
	}
	if rest != string(body) || body == nil {
		t.Errorf("a body of %d bytes, want %d", len(rest), len(body))
	}
	for name, row := range map[string]struct {
		fields []string
		want   string
	}{
		"an unknown dictionary": {[]string{"Available-Dictionary: :" + strings.Repeat("A", 43) + "=:"}, "Content-Encoding: br"},
		"another origin":        {append(has, "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Site: cross-site"), "Content-Encoding: br"},
		"the same origin":       {append(has, "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Site: same-origin"), "Content-Encoding: dcz"},
		"a range":               {append(has, "Range: bytes=0-3"), "206 Partial Content"},
		"a condition":           {append(has, "If-None-Match: "+tag), "304 Not Modified"},
	} {
		if out := p.answer(asks(t, row.fields...)); !strings.Contains(out, row.want) {
			t.Errorf("%s: no %q in %.400q", name, row.want, out)
		}
	}
	p.Cache.Purge(cache.Purge{Keys: []string{p.key("/app.1.css")}}, p.now)
	if out := p.answer(asks(t, has...)); !strings.Contains(out, "Content-Encoding: br") {
		t.Errorf("after a purge of the dictionary: %.300q", out)
	}
	off, has := newDifferences(t, `{dictionaries: off}`)
	if out := off.answer(asks(t, has...)); !strings.Contains(out, "Content-Encoding: br") {
		t.Errorf("switched off: %.300q", out)
	}
}

// makeDifference waits until the difference of an entry is made.
func makeDifference(t testing.TB, p *testPath, d *dictionaries.Dictionary, e *cache.Entry) {
	t.Helper()
	p.Dictionaries.Delta(d, e, dictionaries.Zstd)
	for end := time.Now().Add(time.Minute); p.Dictionaries.Stats().Deltas == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the difference is never made")
		}
	}
}

// BenchmarkDifference compares hits in br, of a client with an unknown dictionary, and as a
// difference.
func BenchmarkDifference(b *testing.B) {
	p, has := newDifferences(b)
	e := p.Cache.Get(p.key("/app.2.css"))
	d := p.Dictionaries.Find(dictionaries.Claim{Scope: dictionaries.Scope{Site: "shop", Scheme: "http", Host: "shop.test"},
		Target: "/app.2.css", Available: []byte(strings.TrimPrefix(has[0], "Available-Dictionary: "))})
	makeDifference(b, p, d, e)
	plain := asks(b)
	plain.Dictionary = false
	for name, q := range map[string]*request.Request{"br": plain, "difference": asks(b, has...),
		"unknown": asks(b, "Available-Dictionary: :"+strings.Repeat("A", 43)+"=:")} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var out []byte
			for b.Loop() {
				var ok bool
				if out, ok = p.Answer(out[:0], q); !ok {
					b.Fatal("left to the pipeline")
				}
			}
		})
	}
}
