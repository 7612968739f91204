package iconedge

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/iconedge/iconedge/"

// rooms lists the imports that each room, a package with the packages below it, may have besides
// the standard library and its own packages. A package of this module is named by its path. The
// longest entry that is a prefix of a package's path counts. docs/explain/architecture.md has the
// reasons.
var rooms = map[string]string{
	"internal/cli":      "",                  // the command line, for cmd/iconedge and loadtest
	"internal/terminal": "golang.org/x/term", // progress on a terminal, for publish and loadtest
	"internal/guesses":  "",                  // checks of passwords and tokens, for edge and origin
	"internal/units":    "",                  // sizes in bytes, for flags and files
	"internal/glob":     "",                  // globs and lists of names, for rules and sites
	// Gzip members of known length, for edge and origin.
	"internal/inflate": "github.com/klauspost/compress",
	// Signed tokens, for the check of a file and for the edge.
	"internal/jwt": "github.com/go-jose/go-jose/v4",
	// The program may import any room. systemd passes sockets; automemlimit reads the memory limit
	// of control groups, versions 1 and 2.
	"cmd/iconedge": "config internal/cli icon internal/problem internal/hostport objectstore edge origin " +
		"github.com/coreos/go-systemd github.com/KimMachineGun/automemlimit",
	// The configuration file of an edge: its form, its rules, and the places of flags in it. It
	// knows nothing of caches or origins, but reads limits as the edge does and explains lifetimes.
	"config": "internal/hostport edge/ratelimit edge/upstream/balance internal/units go.yaml.in/yaml/v3 " +
		"github.com/google/jsonschema-go",
	"config/rules": "cachepolicy config edge/coding edge/upstream/balance internal/hostport internal/glob internal/jwt " +
		"cel.dev/cel-go github.com/oschwald/maxminddb-golang/v2 golang.org/x/crypto/bcrypt",
	"config/flags":        "config config/rules go.yaml.in/yaml/v3",
	"config/convert":      "config/rules", // files of other servers
	"cmd/iconedge-client": "clients/go/commands internal/cli",
	"icon":                "",
	// The names of icons of other spellings, for publish and the edge.
	"icon/spelling": "icon golang.org/x/text",
	// The addresses of Iconify's API, for edge and origin.
	"icon/iconify": "icon",
	// The names of icons as code has them, for edge, origin and editors.
	"icon/scheme": "icon",
	// The geometry of icons, for edge and origin.
	"icon/viewbox": "icon",
	// The terms of licences, which anybody can read without the rest.
	"icon/license": "",
	// Numbers, transforms and paths of SVG, for pixels and shapes of icons.
	"icon/geometry": "",
	// Pixels of icons, for cards.
	"icon/raster":       "icon icon/geometry golang.org/x/image",
	"internal/hostport": "", // the form of addresses
	// The rules of admin listeners are the same for edge and origin.
	"internal/admin":   "internal/files internal/problem",
	"internal/problem": "",
	"internal/trace":   "internal/hostport go.opentelemetry.io",
	"cachepolicy":      "github.com/dunglas/httpsfv", // other projects can use it alone
	"internal/certs":   "internal/files",             // certificates of edge and origin
	"internal/files":   "",
	// Authenticates edges and origins.
	"internal/tier": "internal/files internal/problem",
	"objectstore":   "internal/files github.com/minio/minio-go/v7", // see restricted
	// Every store passes the tests of storetest.
	"objectstore/storetest": "objectstore",
	// Never origin: edge and origin meet only over HTTP.
	"edge": "internal/admin cachepolicy internal/certs internal/files internal/hostport icon internal/units " +
		"internal/problem internal/tier internal/trace edge/access edge/bodies " +
		"edge/cache edge/clock edge/request edge/exchange edge/fleet edge/h1 edge/h2 edge/library " +
		"edge/fetch edge/forwarded edge/listen edge/observe edge/proxy edge/purge edge/ratelimit edge/repeated " +
		"edge/routes edge/tunnel edge/upstream edge/vhosts config config/flags",
	// What a program of somebody else adds to an edge.
	"edge/extend": "config config/flags config/rules edge edge/coding edge/upstream/balance",
	// The pipeline: entry and end, and a room for each kind of answer.
	"edge/proxy": "config/rules internal/hostport internal/problem internal/trace edge/access edge/cache edge/clock " +
		"edge/compress edge/dictionaries edge/exchange " +
		"edge/fetch edge/forwarded edge/h2 edge/hit edge/iconset edge/library edge/objects edge/observe edge/own " +
		"edge/pieces edge/pipeline edge/ratelimit edge/request edge/respond edge/routes edge/signon edge/tunnel edge/upstream " +
		"edge/vhosts " +
		"github.com/fasthttp/router github.com/valyala/fasthttp",
	"edge/own": "cachepolicy icon internal/problem edge/access edge/cache edge/clock edge/dictionaries edge/exchange " +
		"edge/fetch edge/hit edge/library edge/observe edge/pipeline edge/request edge/respond edge/routes edge/upstream " +
		"github.com/valyala/fasthttp",
	"edge/iconset": "cachepolicy icon edge/cache edge/clock edge/coding edge/compress edge/exchange edge/fetch edge/hit " +
		"edge/icondata edge/library edge/own edge/pieces edge/pipeline edge/respond edge/routes edge/upstream github.com/valyala/fasthttp",
	"edge/forwarded": "cachepolicy config config/rules internal/hostport internal/units internal/problem edge/access " +
		"edge/cache edge/clock " +
		"edge/compress edge/dictionaries edge/exchange edge/fetch edge/library edge/objects edge/pipeline edge/ratelimit " +
		"edge/repeated edge/routes " +
		"edge/slicing edge/tunnel edge/upstream edge/vhosts github.com/valyala/fasthttp",
	// How the pipeline gets a response.
	"edge/fetch": "cachepolicy config icon internal/problem internal/trace edge/cache edge/clock edge/compress " +
		"edge/dictionaries edge/exchange " +
		"edge/library edge/objects edge/observe edge/pipeline edge/recent edge/respond edge/routes edge/slicing edge/upstream " +
		"edge/vhosts github.com/valyala/fasthttp",
	// The record of a request in the pipeline, and the writer of its response.
	"edge/pipeline": "cachepolicy config config/rules internal/hostport icon internal/problem internal/trace " +
		"edge/access edge/bodies edge/cache " +
		"edge/compress edge/dictionaries edge/exchange edge/objects edge/observe edge/represent edge/respond edge/routes edge/upstream " +
		"edge/vhosts github.com/valyala/fasthttp",
	// Hits, on the event loops and for all sites.
	"edge/hit": "cachepolicy config config/rules internal/hostport icon internal/trace edge/access edge/cache edge/clock " +
		"edge/compress edge/dictionaries " +
		"edge/exchange edge/h2 edge/h3 edge/icondata edge/library edge/observe edge/pieces edge/ratelimit edge/recent " +
		"edge/represent edge/request edge/respond edge/routes edge/upstream edge/vhosts github.com/valyala/fasthttp",
	// The form of a stored response, for hits and for the pipeline.
	"edge/represent": "cachepolicy edge/cache edge/coding edge/recent",
	// The head of a response, for hits and for the pipeline.
	"edge/respond": "cachepolicy config config/rules icon internal/problem edge/access edge/cache edge/exchange edge/h2 " +
		"edge/h3 edge/ratelimit edge/recent github.com/valyala/fasthttp",
	// Content codings of stored responses of other applications.
	"edge/compress": "cachepolicy edge/cache edge/coding",
	"edge/dictionaries": "cachepolicy internal/glob edge/cache edge/compress edge/recent edge/represent " +
		"github.com/dunglas/httpsfv github.com/klauspost/compress " +
		"github.com/molecule-man/go-brrr",
	// The table of content codings.
	"edge/coding":       "cachepolicy github.com/klauspost/compress github.com/molecule-man/go-brrr",
	"edge/cache":        "cachepolicy edge/clock github.com/dgraph-io/ristretto/v2",
	"edge/cache/entry":  "cachepolicy edge/cache/hashes edge/cache/invalidation edge/coding internal/inflate",
	"edge/cache/memory": "cachepolicy edge/cache/codec edge/cache/entry edge/cache/hashes edge/cache/invalidation edge/slabs",
	"edge/cache/disk": "cachepolicy internal/files edge/cache/batches edge/cache/codec edge/cache/entry " +
		"edge/cache/hashes edge/cache/invalidation edge/clock edge/coding",
	"edge/cache/collapse":     "cachepolicy edge/cache/entry edge/cache/hashes edge/cache/invalidation edge/clock",
	"edge/cache/invalidation": "edge/cache/batches edge/cache/hashes",
	"edge/cache/queries":      "cachepolicy edge/cache/entry edge/cache/invalidation",
	"edge/cache/codec":        "cachepolicy",
	"edge/cache/hashes":       "",
	"edge/cache/batches":      "",
	"edge/fetch/fetchtest": "edge/cache edge/compress edge/dictionaries edge/fetch edge/library edge/observe " +
		"edge/pipeline edge/upstream",
	"edge/own/owntest": "cachepolicy icon internal/problem edge/access edge/cache edge/coding edge/fetch edge/hit edge/iconset " +
		"edge/own edge/pieces edge/pipeline edge/routes edge/vhosts github.com/fasthttp/router github.com/valyala/fasthttp",
	"edge/pipeline/pipelinetest": "internal/hostport edge/access edge/exchange edge/pipeline edge/vhosts github.com/valyala/fasthttp",
	"edge/request/requesttest":   "edge/request",
	// Folders as origins.
	"edge/upstream/folder":   "cachepolicy config/rules internal/problem edge/upstream",
	"edge/vhosts/vhoststest": "config/flags edge/clock edge/vhosts",
	"edge/cache/entrytest":   "cachepolicy edge/cache/entry icon",
	// What happened: metrics, the access log, traces. The components report to it, it asks only for
	// their counts.
	"edge/observe": "icon internal/guesses internal/problem internal/trace edge/cache edge/compress edge/dictionaries " +
		"edge/request edge/exchange " +
		"edge/fleet edge/h2 edge/objects edge/routes edge/tunnel edge/upstream " +
		"github.com/prometheus/client_golang github.com/prometheus/client_model",
	"edge/observe/accesslog": "",
	"edge/observe/requestid": "",
	"edge/observe/top":       "internal/problem",
	// The state that edges share.
	"edge/fleet":  "edge/ratelimit internal/files github.com/redis/go-redis",
	"edge/bodies": "",
	// The event loop for connections: it knows no protocol, and origins could use it.
	"edge/netloop": "golang.org/x/sys",
	// Who the client of a request is, and whether the request may proceed.
	"edge/access": "internal/certs internal/files internal/hostport icon internal/guesses internal/problem " +
		"internal/tier edge/clock edge/request edge/exchange " +
		"edge/ratelimit edge/recent edge/repeated edge/routes edge/upstream go4.org/netipx",
	// Connections: limits, PROXY, TLS, QUIC, deadlines, drain; the adapters of all protocols.
	"edge/listen": "internal/certs internal/files internal/hostport internal/units edge/access edge/bodies " +
		"edge/request edge/exchange edge/h1 " +
		"edge/h2 edge/h3 edge/observe edge/ratelimit edge/repeated edge/netloop " +
		"github.com/valyala/fasthttp github.com/pires/go-proxyproto github.com/quic-go/quic-go golang.org/x/crypto/acme golang.org/x/time",
	"edge/repeated": "",
	// The sites of an edge, of flags or of a file.
	"edge/vhosts": "internal/admin internal/problem cachepolicy internal/hostport internal/glob config config/flags " +
		"config/rules edge/access " +
		"edge/clock edge/ratelimit edge/repeated edge/routes edge/signon edge/upstream golang.org/x/sync",
	// Whether the sender of a request has signed on: a service decides, or a token says so.
	"edge/signon": "config config/rules edge/upstream internal/guesses internal/jwt internal/problem golang.org/x/sync",
	// What an edge knows about an origin of our own: release, names, negative cache.
	"edge/library": "cachepolicy icon internal/problem edge/cache edge/fleet edge/ratelimit edge/routes edge/upstream",
	// Purges of the operator and of other edges.
	"edge/purge": "internal/admin cachepolicy internal/problem internal/hostport edge/cache edge/clock edge/fleet " +
		"edge/library edge/routes",
	"edge/recent": "",
	"edge/clock":  "",
	// The table of endpoints, on fasthttp's router.
	"edge/routes":   "icon internal/problem github.com/valyala/fasthttp github.com/fasthttp/router",
	"edge/exchange": "",                         // the request
	"edge/h1":       "edge/bodies edge/request", // knows nothing of caches
	// Knows nothing of caches either. x/net has the names of frames and HPACK's static table.
	"edge/h2": "edge/bodies edge/request edge/h2/huffman golang.org/x/net/http2",
	// Knows nothing of caches: hits on the raw streams of HTTP/3, frames, QPACK.
	"edge/h3": "edge/request edge/h2 github.com/quic-go/quic-go github.com/quic-go/qpack " +
		"golang.org/x/net/http2 golang.org/x/net/http/httpguts",
	"edge/h2/huffman": "golang.org/x/net/http2",
	"edge/request":    "",
	"edge/ratelimit":  "edge/slabs",
	// Memory outside of the heap.
	"edge/slabs": "",
	// The form of pieces of icon data, which are joined without being parsed.
	"edge/icondata": "icon github.com/klauspost/compress",
	// Those that were used lately, and the responses that consist of them.
	"edge/pieces":           "github.com/cespare/xxhash cachepolicy icon edge/cache edge/icondata edge/routes",
	"edge/slicing":          "cachepolicy",
	"edge/objects":          "edge/slicing", // knows nothing of HTTP
	"edge/tunnel":           "",             // copies bytes, and knows nothing of HTTP
	"edge/frameworks":       "",
	"edge/upstream/wire":    "golang.org/x/net/http/httpguts", // knows nothing of origins
	"edge/upstream/balance": "",                               // policies, which files name
	"edge/upstream/names":   "",                               // addresses of names
	"edge/upstream": "internal/problem internal/tier edge/exchange edge/frameworks " +
		"golang.org/x/net/http/httpguts golang.org/x/net/http2",
	"origin": "internal/admin internal/hostport icon internal/problem internal/certs internal/files internal/tier " +
		"internal/trace objectstore github.com/prometheus/client_golang",
	"origin/api": "cachepolicy icon internal/problem origin/bundle origin/catalog origin/iconify origin/picture origin/release " +
		"origin/search origin/site origin/svg origin/token origin/withdrawal github.com/google/jsonschema-go github.com/klauspost/compress",
	// The files of chosen icons.
	"origin/bag": "icon origin/svg clients/go/react",
	// Knows nothing of icons or HTTP.
	"origin/bundle": "",
	// Images of icons and packs for previews of pages.
	"origin/card":    "icon golang.org/x/image",
	"origin/picture": "icon github.com/klauspost/compress golang.org/x/sync",
	// Compares drawn icons with the pictures of a browser and of a public test suite.
	"origin/likeness": "icon origin/svg",
	// The pages, and the small files beside them.
	// Imports nothing of ours: its handler is the server's own.
	"origin/fastpath": "golang.org/x/net/http/httpguts",
	"origin/site": "docs icon internal/problem origin/bag origin/bundle origin/card origin/catalog origin/manual origin/picture " +
		"origin/release origin/search origin/svg",
	// The documents of the repository, embedded.
	"docs": "",
	// Pages of the documentation, and the search in them.
	"origin/manual":  "docs github.com/yuin/goldmark github.com/blevesearch/snowballstem golang.org/x/image",
	"origin/catalog": "internal/files icon objectstore origin/release origin/search origin/withdrawal golang.org/x/sync golang.org/x/sys",
	"origin/search": "icon github.com/blevesearch/vellum github.com/blevesearch/snowballstem github.com/RoaringBitmap/roaring/v2 " +
		"github.com/andybalholm/brotli github.com/klauspost/compress golang.org/x/sync golang.org/x/text",
	// It writes the lexicon that the program embeds.
	"origin/search/lexicon/compile": "origin/search origin/search/lexicon",
	"origin/svg":                    "icon",
	// The forms of Iconify's API, for clients of Iconify.
	"origin/iconify": "icon internal/problem origin/catalog origin/release origin/search origin/svg",
	"origin/release": "icon internal/inflate github.com/klauspost/compress",
	// What icons look like, for the search; its input is the output of origin/svg.
	"origin/shape": "icon/geometry",
	"origin/publish": "icon internal/files internal/glob internal/terminal objectstore origin/release origin/search origin/shape " +
		"origin/svg golang.org/x/sync golang.org/x/sys",
	"origin/token":      "icon internal/guesses objectstore",
	"origin/withdrawal": "icon objectstore",
	// A module for the tests of dashboards and rules.
	"tools/promql": "github.com/prometheus/prometheus",
	// A client of the public API: it imports nothing of edge or origin.
	"mcp": "clients/go internal/hostport icon github.com/modelcontextprotocol/go-sdk golang.org/x/sync",
	// The client of the API, for programs on a user's machine.
	"clients/go": "internal/files internal/hostport icon internal/problem cachepolicy " +
		"github.com/jellydator/ttlcache/v3 golang.org/x/sync",
	"clients/go/output":    "clients/go clients/go/react icon",
	"clients/go/pace":      "",
	"clients/go/react":     "", // other projects can use it alone
	"clients/go/reference": "icon",
	"clients/go/commands":  "clients/go icon internal/cli internal/terminal",
	"clients/go/launcher":  "clients/go icon github.com/godbus/dbus/v5",
	"clients/go/lsp":       "clients/go icon",
	"internal/logtest":     "", // collects log messages for tests
	// The tests of real processes import nothing of the program's inside.
	"test": "test/devtools test/golden test/harness edge/fleet/fleettest",
	// The commands of the documents.
	// What a browser sent and received.
	"test/devtools":  "github.com/chromedp",
	"test/documents": "test/harness github.com/yuin/goldmark",
	"test/harness":   "test/listening",
	// A module for developers. It measures an edge over HTTP and imports nothing of it, except to
	// simulate a fleet of whole edges in one process.
	"loadtest": "internal/cli internal/terminal icon edge edge/dictionaries loadtest test/listening " +
		"edge/cache cachepolicy github.com/maypok86/otter/v2 " + // loadtest ratio
		"github.com/HdrHistogram/hdrhistogram-go github.com/valyala/fasthttp " +
		"github.com/andybalholm/brotli github.com/chromedp/chromedp github.com/prometheus/common " +
		"github.com/molecule-man/go-brrr github.com/quic-go/quic-go golang.org/x/sys",
}

// testPackages may be imported by the tests of any room.
var testPackages = []string{"internal/certs/certstest", "edge/cache/entrytest", "edge/fetch/fetchtest", "edge/own/owntest",
	"edge/pipeline/pipelinetest", "edge/request/requesttest", "edge/vhosts/vhoststest", "test/parallel",
	"test/sequential", "internal/logtest", "objectstore/storetest", "test/golden"}

// restricted lists modules that only some files of a room may import: by path, or by a prefix that
// ends in / or _.
var restricted = map[string]string{
	"github.com/minio/minio-go/v7":        "objectstore/s3.go objectstore/s3credentials.go",
	"github.com/prometheus/client_golang": "edge/observe/ origin/metrics.go",
	"github.com/prometheus/client_model":  "edge/observe/",
	"github.com/dgraph-io/ristretto/v2":   "edge/cache/cache.go",
	"github.com/redis/go-redis":           "edge/fleet/",
	"go.opentelemetry.io":                 "internal/trace/",
	"github.com/valyala/fasthttp":         "edge/ loadtest/", // bare fasthttp is its upper bound
	"github.com/blevesearch/vellum":       "origin/search/",
	"github.com/RoaringBitmap/roaring/v2": "origin/search/",
	"github.com/blevesearch/snowballstem": "origin/search/lexicon/ origin/manual/",
	"github.com/modelcontextprotocol":     "mcp/",
	"cel.dev/cel-go":                      "config/rules/",
	"github.com/oschwald":                 "config/rules/geo.go",
	"github.com/HdrHistogram":             "loadtest/", // a module of its own
	"github.com/godbus/dbus/v5":           "clients/go/launcher/",
	"github.com/yuin/goldmark":            "origin/manual/ test/documents/",
}

// private lists packages that only their room may import, although rows allow the room.
var private = map[string]string{
	"edge/cache/memory":  "edge/cache",
	"edge/cache/disk":    "edge/cache",
	"edge/cache/codec":   "edge/cache",
	"edge/cache/hashes":  "edge/cache",
	"edge/cache/batches": "edge/cache",
	"edge/cache/queries": "edge/cache",
	"icon/raster":        "origin", // edges draw nothing
}

func TestImports(t *testing.T) {
	seen := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "node_modules" || d.Name() == "testdata" || len(d.Name()) > 1 && d.Name()[0] == '.') {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || filepath.Dir(path) == "." {
			return nil
		}
		seen++
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if reason := forbidden(filepath.ToSlash(path), imported); reason != "" {
				t.Errorf("%s imports %s: %s", path, imported, reason)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 20 {
		t.Fatalf("only %d files were checked; is the folder of the test the root of the module?", seen)
	}
}

// forbidden returns the reason why the file at path must not import a package, or "". Tests may
// import any other module, but only those packages of this module that their row allows.
func forbidden(path, imported string) string {
	dir := filepath.ToSlash(filepath.Dir(path))
	// loadtest is a program, no package for tests.
	test := strings.HasSuffix(path, "_test.go") || strings.HasSuffix(dir, "test") && dir != "loadtest"
	ours, isOurs := strings.CutPrefix(imported, module)
	switch first, _, _ := strings.Cut(imported, "/"); {
	case isOurs && private[ours] != "" && !within(dir, private[ours]):
		return "only " + private[ours] + " may import it"
	case isOurs && within(ours, dir), isOurs && test && slices.Contains(testPackages, ours):
		return ""
	case !isOurs && (!strings.Contains(first, ".") || test):
		return "" // the standard library, or a library for tests
	case !isOurs:
		for name, where := range restricted {
			if within(imported, name) && !slices.ContainsFunc(strings.Fields(where), func(w string) bool {
				return path == w || strings.ContainsAny(w[len(w)-1:], "/_") && strings.HasPrefix(path, w)
			}) {
				return "only " + where + " may import it"
			}
		}
	}
	room, row := roomOf(dir)
	if room == "" {
		return dir + " has no row in imports_test.go; add one"
	}
	name := imported
	if isOurs {
		name = ours
	}
	for _, allowed := range strings.Fields(row) {
		if within(name, allowed) || room == "cmd/iconedge" && isOurs && (test || !within(ours, "test")) {
			return ""
		}
	}
	return "the row of " + room + " in imports_test.go does not allow it"
}

// roomOf returns the longest entry of rooms that is dir or contains it.
func roomOf(dir string) (room, row string) {
	for name, allowed := range rooms {
		if within(dir, name) && len(name) > len(room) {
			room, row = name, allowed
		}
	}
	return room, row
}

// within reports whether path is dir or lies below it.
func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, dir+"/")
}

func TestForbidden(t *testing.T) {
	for _, row := range []struct {
		path, imported string
		allowed        bool
	}{
		{"edge/own/own.go", module + "icon", true},
		{"edge/proxy/serve.go", module + "edge/cache", true},
		{"edge/proxy/serve.go", module + "origin", false},
		{"edge/proxy/serve.go", "github.com/prometheus/client_golang/prometheus", false},
		{"edge/observe/metrics.go", "github.com/prometheus/client_golang/prometheus", true},
		{"edge/observe/tally.go", "github.com/prometheus/client_golang/prometheus", true},
		{"edge/cache/cache.go", module + "icon", false},
		{"edge/cache/cache.go", module + "edge/cache/memory", true},
		{"edge/cache/memory/slot.go", module + "edge/cache/disk", false},
		{"edge/proxy/serve.go", module + "edge/cache/entry", true},
		{"edge/proxy/serve.go", module + "edge/cache/memory", false},
		{"edge/serve_test.go", module + "origin", false},
		{"edge/serve_test.go", "github.com/cespare/webtest", true},
		{"edge/h2/h2_test.go", module + "internal/certs/certstest", true},
		{"edge/h2/h2.go", module + "internal/certs/certstest", false},
		{"edge/serve_test.go", module + "internal/logtest", true},
		{"edge/proxy/serve.go", module + "internal/logtest", false},
		{"edge/ratelimit/window.go", "time", true},
		{"objectstore/dir.go", "github.com/minio/minio-go/v7", false},
		{"cmd/iconedge/main.go", module + "test/listening", false},
		{"cmd/iconedge/main_test.go", module + "test/harness", true},
		{"test/faults/faults_test.go", module + "edge", false},
		{"nowhere/x.go", module + "icon", false},
	} {
		if reason := forbidden(row.path, row.imported); (reason == "") != row.allowed {
			t.Errorf("forbidden(%q, %q) = %q, want allowed: %v", row.path, row.imported, reason, row.allowed)
		}
	}
}
