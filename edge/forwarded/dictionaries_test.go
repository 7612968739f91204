package forwarded

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/config"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/compress"
	"github.com/iconedge/iconedge/edge/fetch/fetchtest"
	"github.com/iconedge/iconedge/edge/pipeline/pipelinetest"
	"github.com/iconedge/iconedge/edge/vhosts"
)

// bundle returns a version of a script: most of it is that of all versions.
func bundle(version int) string {
	random := rand.New(rand.NewPCG(1, 1))
	var b strings.Builder
	for i := range 400 {
		fmt.Fprintf(&b, "export function f%d(a) { return a * %d + %d }\n", i, random.Uint32(), random.Uint32())
		if i%100 == version%100 {
			fmt.Fprintf(&b, "console.log('version %d')\n", version)
		}
	}
	return b.String()
}

// lasting are the fields of a script that does not change.
var lasting = []string{"Content-Type", "text/javascript", "Cache-Control", "max-age=31536000, immutable"}

func auto(s *vhosts.Settings, _ *cachepolicy.Policy) { s.Dictionaries = config.DictionariesAuto }

// has returns the Available-Dictionary of a client that has a body.
func has(body string) string {
	sum := sha256.Sum256([]byte(body))
	return ":" + base64.StdEncoding.EncodeToString(sum[:]) + ":"
}

// decoders are those of undone, by dictionary.
var decoders sync.Map

// undone decodes a body in dcz, with the dictionary that its head names.
func undone(t testing.TB, body, dictionary string) string {
	t.Helper()
	sum := sha256.Sum256([]byte(dictionary))
	rest, ok := strings.CutPrefix(body, "\x5e\x2a\x4d\x18\x20\x00\x00\x00"+string(sum[:]))
	if !ok {
		t.Fatalf("the body begins with %q, and not with the head of RFC 9842, section 5", body[:min(len(body), 40)])
	}
	known, ok := decoders.Load(dictionary)
	if !ok {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderDictRaw(0, []byte(dictionary)))
		if err != nil {
			t.Fatal(err)
		}
		known, _ = decoders.LoadOrStore(dictionary, d)
	}
	out, err := known.(*zstd.Decoder).DecodeAll([]byte(rest), nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

const acceptsAll = "gzip, deflate, br, zstd, dcb, dcz"

// A client that has version 1 gets version 2 as a difference, once it is made, and until then in
// another coding. Conditions know its entity tag; a range is one of the identity.
func TestDifference(t *testing.T) {
	t.Parallel()
	one, two := bundle(1), bundle(2)
	e, _ := newTest(t, map[string]http.HandlerFunc{
		"/assets/app-3f2a91bc.js": fetchtest.Says(one, lasting...),
		"/assets/app-77c0de12.js": fetchtest.Says(two, append(lasting, "ETag", `"two"`, "Vary", "Accept-Encoding")...),
	}, auto)
	first := e.get(t, "/assets/app-3f2a91bc.js", "Accept-Encoding", acceptsAll)
	if got := first.Header.Get("Use-As-Dictionary"); got != `match="/assets/app-*.js"` {
		t.Errorf("Use-As-Dictionary: %s", got)
	}
	client := []string{"Accept-Encoding", acceptsAll, "Available-Dictionary", has(one), "Dictionary-ID", `""`}
	if a := e.get(t, "/assets/app-77c0de12.js", client...); a.Header.Get("Content-Encoding") != "br" || a.Decoded(t) != two {
		t.Errorf("before it is made: Content-Encoding %q", a.Header.Get("Content-Encoding"))
	}
	e.get(t, "/assets/app-77c0de12.js", client...)
	e.Compressed(t)
	a := e.get(t, "/assets/app-77c0de12.js", client...)
	if a.Header.Get("Content-Encoding") != "dcz" || undone(t, a.Body, one) != two {
		t.Fatalf("Content-Encoding %q, %d bytes", a.Header.Get("Content-Encoding"), len(a.Body))
	}
	if len(a.Body) > len(two)/20 {
		t.Errorf("the difference has %d bytes of %d", len(a.Body), len(two))
	}
	if vary := strings.Join(a.Header["Vary"], ", "); vary != "Accept-Encoding, Available-Dictionary" {
		t.Errorf("Vary: %s", vary)
	}
	if a.Header.Get("Use-As-Dictionary") == "" || a.Header.Get("Accept-Ranges") != "" {
		t.Errorf("the fields of a difference: %v", a.Header)
	}
	sum := sha256.Sum256([]byte(one))
	tag := compress.DeltaTag(`"two"`, "dcz", sum[:])
	if a.Header.Get("ETag") != tag {
		t.Errorf("ETag: %s, want %s", a.Header.Get("ETag"), tag)
	}
	for _, fields := range [][]string{client, {"Accept-Encoding", "br"}, nil} {
		b := e.get(t, "/assets/app-77c0de12.js", append(fields, "If-None-Match", tag)...)
		if b.StatusCode != 304 || b.Header.Get("ETag") != tag {
			t.Errorf("If-None-Match, %v: %d, ETag %s", fields, b.StatusCode, b.Header.Get("ETag"))
		}
	}
	for _, row := range []struct {
		name         string
		status       int
		coding, body string
		fields       []string
	}{
		{"a range", 206, "", two[5:10], append(client, "Range", "bytes=5-9")},
		{"a range of the difference", 200, "br", two, append(client, "Range", "bytes=5-9", "If-Range", tag)},
		{"no dcz", 200, "br", two, []string{"Accept-Encoding", "gzip, br, zstd", "Available-Dictionary", has(one)}},
		{"dcz refused", 200, "br", two, []string{"Accept-Encoding", "br, dcz;q=0", "Available-Dictionary", has(one)}},
		{"no dictionary", 200, "br", two, []string{"Accept-Encoding", acceptsAll}},
		{"an unknown dictionary", 200, "br", two, []string{"Accept-Encoding", acceptsAll, "Available-Dictionary", has("?")}},
		{"itself", 200, "br", two, []string{"Accept-Encoding", acceptsAll, "Available-Dictionary", has(two)[:40]}},
		{"a page of another origin", 200, "br", two, append(client, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors")},
		{"a page of another origin, with CORS", 200, "br", two,
			append(client, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "cors", "Origin", "https://evil.test")},
	} {
		b := e.get(t, "/assets/app-77c0de12.js", row.fields...)
		if b.StatusCode != row.status || b.Header.Get("Content-Encoding") != row.coding || b.Decoded(t) != row.body {
			t.Errorf("%s: %d, Content-Encoding %q", row.name, b.StatusCode, b.Header.Get("Content-Encoding"))
		}
	}
	h := e.do(t, "HEAD", "/assets/app-77c0de12.js", client...)
	if h.Header.Get("Content-Encoding") != "dcz" || h.Header.Get("ETag") != tag {
		t.Errorf("HEAD: %v", h.Header)
	}
	if a := e.get(t, "/assets/app-77c0de12.js", append(client, "Sec-Fetch-Site", "same-origin",
		"Sec-Fetch-Mode", "no-cors")...); a.Header.Get("Content-Encoding") != "dcz" {
		t.Errorf("a page of the same origin: %q", a.Header.Get("Content-Encoding"))
	}
}

// A purge of the dictionary, or of the response, ends the difference. A soft purge does not: the
// clients have the dictionary all the same.
func TestDifferencePurged(t *testing.T) {
	t.Parallel()
	one, two := bundle(1), bundle(2)
	for _, row := range []struct {
		name   string
		purged string
		soft   bool
		want   string
	}{
		{"the dictionary", "/app.11111111a.js", false, "br"},
		{"the dictionary, softly", "/app.11111111a.js", true, "dcz"},
		{"the response, which comes again", "/app.22222222b.js", false, "dcz"},
	} {
		e, _ := newTest(t, map[string]http.HandlerFunc{"/app.11111111a.js": fetchtest.Says(one, lasting...),
			"/app.22222222b.js": fetchtest.Says(two, lasting...)}, auto)
		client := []string{"Accept-Encoding", acceptsAll, "Available-Dictionary", has(one)}
		e.get(t, "/app.11111111a.js", "Accept-Encoding", "br")
		fetch := func() pipelinetest.Answer {
			e.get(t, "/app.22222222b.js", client...)
			e.Compressed(t)
			e.get(t, "/app.22222222b.js", client...)
			e.Compressed(t)
			return e.get(t, "/app.22222222b.js", client...)
		}
		if a := fetch(); a.Header.Get("Content-Encoding") != "dcz" {
			t.Fatalf("%s: before: %q", row.name, a.Header.Get("Content-Encoding"))
		}
		e.Cache.Purge(cache.Purge{Keys: []string{"http://edge.test" + row.purged}, Soft: row.soft}, e.Now())
		a := e.get(t, "/app.22222222b.js", client...)
		if row.purged == "/app.22222222b.js" {
			a = fetch()
		}
		if got := a.Header.Get("Content-Encoding"); got != row.want {
			t.Errorf("%s: %q, want %q", row.name, got, row.want)
		}
	}
}

// Only a response that is the same for all clients is a dictionary, for its own host and path.
func TestNoDictionary(t *testing.T) {
	t.Parallel()
	one, two := bundle(1), bundle(2)
	use := []string{"Content-Type", "text/javascript", "Use-As-Dictionary", `match="/x*"`}
	for _, row := range []struct {
		name    string
		fields  []string // of version 1
		request []string // for it
		mode    config.Dictionaries
		target  string // of version 2
		want    string
	}{
		{"declared by the origin", append(use, "Cache-Control", "max-age=60"), nil, "", "/x2", "dcz"},
		{"an origin that makes differences itself", append(use, "Cache-Control", "max-age=60", "Vary", "Available-Dictionary"),
			nil, "", "/x2", "br"},
		{"off", append(use, "Cache-Control", "max-age=60"), nil, config.DictionariesOff, "/x2", "br"},
		{"another path", append(use, "Cache-Control", "max-age=60"), nil, "", "/y2", "br"},
		{"another host", append(use, "Cache-Control", "max-age=60"), nil, "", "http://other.test/x2", "br"},
		{"private", append(use, "Cache-Control", "private, max-age=60"), nil, "", "/x2", "br"},
		{"not stored", append(use, "Cache-Control", "no-store"), nil, "", "/x2", "br"},
		{"a cookie", append(use, "Cache-Control", "max-age=60", "Set-Cookie", "a=b"), nil, "", "/x2", "br"},
		{"for one user", append(use, "Cache-Control", "public, max-age=60"), []string{"Authorization", "Basic x"}, "", "/x2", "br"},
		{"by cookie", append(use, "Cache-Control", "max-age=60", "Vary", "Cookie"), nil, "", "/x2", "br"},
		{"auto, but not lasting", append(lasting[:2:2], "Cache-Control", "max-age=60"), nil, config.DictionariesAuto, "/x2", "br"},
		{"not declared", lasting, nil, "", "/x2", "br"},
	} {
		e, _ := newTest(t, map[string]http.HandlerFunc{"/x1": fetchtest.Says(one, row.fields...),
			"/x2": fetchtest.Says(two, lasting...), "/y2": fetchtest.Says(two, lasting...)},
			func(s *vhosts.Settings, _ *cachepolicy.Policy) { s.Dictionaries = row.mode })
		e.get(t, "/x1", append(row.request, "Accept-Encoding", "br")...)
		url := row.target
		if strings.HasPrefix(url, "/") {
			url = "http://edge.test" + url
		}
		var a pipelinetest.Answer
		for range 3 {
			a = pipelinetest.Read(e.answerURL(t, pipelinetest.Message{Method: "GET", URL: url,
				Fields: []string{"Accept-Encoding", acceptsAll, "Available-Dictionary", has(one)}}))
			e.Compressed(t)
		}
		if got := a.Header.Get("Content-Encoding"); got != row.want {
			t.Errorf("%s: %q, want %q", row.name, got, row.want)
		}
	}
}

// Two users at once, with versions chosen at random, each get the version that they ask for.
func TestDifferencesModel(t *testing.T) {
	t.Parallel()
	const versions = 12
	requests, pause := 5000, 250 // of each user; between purges
	if testing.Short() {
		requests, pause = 150, 50
	}
	pages, bodies := map[string]http.HandlerFunc{}, make([]string, versions)
	for v := range versions {
		bodies[v] = bundle(v)
		pages[fmt.Sprintf("/app-%08dab.js", v)] = fetchtest.Says(bodies[v], lasting...)
	}
	e, _ := newTest(t, pages, auto)
	for path := range pages {
		e.get(t, path)
	}
	var differences [2]int
	var users sync.WaitGroup
	for user := range differences {
		users.Go(func() {
			random := rand.New(rand.NewPCG(uint64(user), 7))
			for i := range requests {
				from, to := random.IntN(versions), random.IntN(versions)
				path := fmt.Sprintf("/app-%08dab.js", to)
				if i%pause == pause-1 {
					e.Cache.Purge(cache.Purge{Keys: []string{"http://edge.test" + path}, Soft: i/pause%2 == 1}, e.Now())
				}
				a := e.get(t, path, "Accept-Encoding", acceptsAll, "Available-Dictionary", has(bodies[from]))
				body := ""
				if a.Header.Get("Content-Encoding") == "dcz" {
					differences[user]++
					body = undone(t, a.Body, bodies[from])
				} else {
					body = a.Decoded(t)
				}
				if body != bodies[to] {
					t.Errorf("from version %d to %d: %d other bytes in %s", from, to, len(body), a.Header.Get("Content-Encoding"))
					return
				}
			}
		})
	}
	users.Wait()
	if differences[0] == 0 || differences[1] == 0 {
		t.Errorf("the users got %v differences", differences)
	}
}
