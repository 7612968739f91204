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
	// The program may import any room. systemd passes sockets; automemlimit reads the memory limit
	// of control groups, versions 1 and 2.
	"cmd/iconedge": "config internal/cli icon problem hostport objectstore edge origin " +
		"github.com/coreos/go-systemd github.com/KimMachineGun/automemlimit",
	// The configuration file of an edge: its form, its rules, and the places of flags in it. It
	// knows nothing of caches or origins, but reads limits as the edge does and explains lifetimes.
	"config":              "hostport edge/ratelimit internal/units go.yaml.in/yaml/v3 github.com/google/jsonschema-go",
	"config/rules":        "cachepolicy config hostport internal/glob cel.dev/cel-go github.com/oschwald/maxminddb-golang/v2 golang.org/x/crypto/bcrypt",
	"config/flags":        "config config/rules go.yaml.in/yaml/v3",
	"cmd/iconedge-client": "client/commands internal/cli",
	"icon":                "",
	// The addresses of Iconify's API, for edge and origin.
	"icon/iconify": "icon",
	// The geometry of icons, for edge and origin.
	"icon/viewbox": "icon",
	// The terms of licences, which anybody can read without the rest.
	"icon/license": "",
	// Pixels of icons, for cards.
	"icon/raster": "icon",
	"hostport":    "",              // the form of addresses
	"admin":       "files problem", // the rules of admin listeners are the same for edge and origin
	"problem":     "",
	"trace":       "hostport go.opentelemetry.io",
	"cachepolicy": "github.com/dunglas/httpsfv", // other projects can use it alone
	"certs":       "files",                      // certificates of edge and origin
	"files":       "",
	"tier":        "files problem",                      // authenticates edges and origins
	"objectstore": "files github.com/minio/minio-go/v7", // see restricted
	// Every store passes the tests of storetest.
	"objectstore/storetest": "objectstore",
	// Never origin: edge and origin meet only over HTTP.
	"edge": "admin cachepolicy certs files hostport icon internal/units problem tier trace edge/access edge/bodies edge/cache edge/clock edge/request edge/exchange edge/fleet edge/h1 edge/h2 edge/library " +
		"edge/fetch edge/forwarded edge/listen edge/observe edge/proxy edge/purge edge/ratelimit edge/repeated edge/routes edge/sites edge/tunnel edge/upstream edge/vhosts config config/flags",
	// The pipeline: entry and end, and a room for each kind of answer.
	"edge/proxy": "config/rules hostport problem trace edge/access edge/cache edge/clock edge/compress edge/exchange edge/fetch edge/forwarded edge/h2 edge/hit edge/iconset edge/library edge/objects edge/observe edge/own " +
		"edge/pieces edge/pipeline edge/ratelimit edge/request edge/routes edge/tunnel edge/vhosts github.com/fasthttp/router github.com/valyala/fasthttp",
	"edge/own":     "cachepolicy icon problem edge/access edge/cache edge/clock edge/exchange edge/fetch edge/hit edge/library edge/observe edge/pipeline edge/request edge/respond edge/routes edge/upstream github.com/valyala/fasthttp",
	"edge/iconset": "cachepolicy icon edge/cache edge/clock edge/compress edge/exchange edge/fetch edge/hit edge/icondata edge/library edge/own edge/pieces edge/pipeline edge/respond edge/routes edge/upstream github.com/valyala/fasthttp",
	"edge/forwarded": "cachepolicy hostport internal/units problem edge/access edge/cache edge/clock edge/compress edge/exchange edge/fetch edge/library edge/objects edge/pipeline edge/ratelimit edge/repeated edge/routes edge/sites " +
		"edge/slicing edge/tunnel edge/upstream edge/vhosts github.com/valyala/fasthttp",
	// How the pipeline gets a response.
	"edge/fetch": "cachepolicy icon problem trace edge/cache edge/clock edge/compress edge/exchange edge/library edge/objects edge/observe edge/pipeline edge/recent edge/respond edge/routes edge/sites edge/slicing edge/upstream edge/vhosts github.com/valyala/fasthttp",
	// The record of a request in the pipeline, and the writer of its response.
	"edge/pipeline": "cachepolicy config config/rules hostport icon problem trace edge/access edge/bodies edge/cache edge/compress edge/exchange edge/objects edge/observe edge/represent edge/respond edge/routes edge/upstream edge/vhosts github.com/valyala/fasthttp",
	// Hits, on the event loops and for all sites.
	"edge/hit": "cachepolicy config/rules hostport icon trace edge/access edge/cache edge/clock edge/compress edge/exchange edge/h2 edge/h3 edge/icondata edge/library edge/observe edge/pieces edge/recent edge/represent edge/request edge/respond edge/routes edge/upstream edge/vhosts github.com/valyala/fasthttp",
	// The form of a stored response, for hits and for the pipeline.
	"edge/represent": "cachepolicy edge/cache edge/recent",
	// The head of a response, for hits and for the pipeline.
	"edge/respond": "cachepolicy config icon edge/access edge/cache edge/exchange edge/h2 edge/h3 edge/ratelimit edge/recent github.com/valyala/fasthttp",
	// Content codings of stored responses of other applications.
	"edge/compress":           "cachepolicy edge/cache",
	"edge/cache":              "cachepolicy edge/clock github.com/dgraph-io/ristretto/v2",
	"edge/cache/entry":        "cachepolicy edge/cache/hashes edge/cache/invalidation internal/inflate github.com/klauspost/compress github.com/molecule-man/go-brrr",
	"edge/cache/memory":       "cachepolicy edge/cache/codec edge/cache/entry edge/cache/hashes edge/cache/invalidation edge/slabs",
	"edge/cache/disk":         "cachepolicy files edge/cache/batches edge/cache/codec edge/cache/entry edge/cache/hashes edge/cache/invalidation edge/clock",
	"edge/cache/collapse":     "cachepolicy edge/cache/entry edge/cache/hashes edge/cache/invalidation edge/clock",
	"edge/cache/invalidation": "edge/cache/batches edge/cache/hashes",
	"edge/cache/codec":        "cachepolicy",
	"edge/cache/hashes":       "",
	"edge/cache/batches":      "",
	"edge/cache/entrytest":    "cachepolicy edge/cache/entry",
	// What happened: metrics, the access log, traces. The components report to it, it asks only for
	// their counts.
	"edge/observe": "icon internal/guesses trace edge/cache edge/compress edge/request edge/exchange edge/fleet edge/h2 edge/objects edge/routes edge/tunnel edge/upstream " +
		"github.com/prometheus/client_golang github.com/prometheus/client_model",
	"edge/observe/accesslog": "",
	"edge/observe/top":       "problem",
	// The state that edges share.
	"edge/fleet":  "edge/ratelimit files github.com/redis/go-redis",
	"edge/bodies": "",
	// The event loop for connections: it knows no protocol, and origins could use it.
	"netloop": "golang.org/x/sys",
	// Who the client of a request is, and whether the request may proceed.
	"edge/access": "certs files hostport icon internal/guesses problem tier edge/clock edge/request edge/exchange edge/ratelimit edge/recent edge/repeated edge/routes edge/upstream go4.org/netipx",
	// Connections: limits, PROXY, TLS, QUIC, deadlines, drain; the adapters of all protocols.
	"edge/listen": "certs files hostport internal/units edge/access edge/bodies edge/request edge/exchange edge/h1 edge/h2 edge/h3 edge/observe edge/ratelimit edge/repeated netloop " +
		"github.com/valyala/fasthttp github.com/pires/go-proxyproto github.com/quic-go/quic-go golang.org/x/crypto/acme golang.org/x/time",
	"edge/repeated": "",
	// The sites of an edge, of flags or of a file.
	"edge/vhosts": "admin problem cachepolicy hostport config config/flags config/rules edge/access edge/clock edge/ratelimit edge/routes edge/sites edge/upstream golang.org/x/sync",
	// What an edge knows about an origin of our own: release, names, negative cache.
	"edge/library": "cachepolicy icon problem edge/cache edge/fleet edge/ratelimit edge/routes edge/upstream",
	// Purges of the operator and of other edges.
	"edge/purge":  "admin problem hostport edge/cache edge/clock edge/fleet edge/library edge/routes",
	"edge/recent": "",
	"edge/clock":  "",
	// What an operator decides about the requests of a site.
	"edge/sites": "cachepolicy edge/repeated edge/routes internal/glob",
	// The table of endpoints, on fasthttp's router.
	"edge/routes":   "icon problem github.com/valyala/fasthttp github.com/fasthttp/router",
	"edge/exchange": "",                         // the request
	"edge/h1":       "edge/bodies edge/request", // knows nothing of caches
	// Knows nothing of caches either. x/net has the names of frames and HPACK's static table.
	"edge/h2": "edge/bodies edge/request edge/h2/huffman golang.org/x/net/http2",
	// Knows nothing of caches: hits on the raw streams of HTTP/3, QPACK.
	"edge/h3":         "edge/request edge/h2 github.com/quic-go/quic-go github.com/quic-go/qpack golang.org/x/net/http2",
	"edge/h2/huffman": "golang.org/x/net/http2",
	"edge/request":    "",
	"edge/ratelimit":  "edge/slabs",
	// Memory outside of the heap.
	"edge/slabs": "",
	// The form of pieces of icon data, which are joined without being parsed.
	"edge/icondata": "icon github.com/klauspost/compress",
	// Those that were used lately, and the responses that consist of them.
	"edge/pieces":        "github.com/cespare/xxhash cachepolicy icon edge/cache edge/icondata edge/routes",
	"edge/slicing":       "cachepolicy",
	"edge/objects":       "edge/slicing", // knows nothing of HTTP
	"edge/tunnel":        "",             // copies bytes, and knows nothing of HTTP
	"edge/frameworks":    "",
	"edge/upstream/wire": "golang.org/x/net/http/httpguts", // knows nothing of origins
	"edge/upstream":      "problem tier edge/exchange edge/frameworks golang.org/x/net/http/httpguts golang.org/x/net/http2",
	"origin":             "admin hostport icon problem certs files tier trace objectstore github.com/prometheus/client_golang",
	"origin/api":         "cachepolicy icon problem origin/catalog origin/iconify origin/release origin/search origin/site origin/svg origin/token origin/withdrawal github.com/google/jsonschema-go github.com/klauspost/compress",
	// The files of chosen icons.
	"origin/bag": "icon origin/svg",
	// Images of icons and packs for previews of pages.
	"origin/card": "icon golang.org/x/image",
	// The pages, and the small files beside them.
	// Imports nothing of ours: its handler is the server's own.
	"origin/fastpath": "golang.org/x/net/http/httpguts",
	"origin/site":     "docs icon problem origin/bag origin/card origin/catalog origin/manual origin/release origin/search origin/svg",
	// The documents of the repository, embedded.
	"docs": "",
	// Pages of the documentation, and the search in them.
	"origin/manual":  "docs github.com/yuin/goldmark github.com/blevesearch/snowballstem golang.org/x/image",
	"origin/catalog": "icon objectstore origin/release origin/search origin/withdrawal golang.org/x/sync",
	"origin/search": "icon github.com/blevesearch/vellum github.com/blevesearch/snowballstem github.com/RoaringBitmap/roaring/v2 " +
		"github.com/andybalholm/brotli golang.org/x/text",
	// It writes the lexicon that the program embeds.
	"origin/search/lexicon/compile": "origin/search origin/search/lexicon",
	"origin/svg":                    "icon",
	// The forms of Iconify's API, for clients of Iconify.
	"origin/iconify": "icon problem origin/catalog origin/release origin/search origin/svg",
	"origin/release": "icon internal/inflate github.com/klauspost/compress",
	// What icons look like, for the search; its input is the output of origin/svg.
	"origin/shape":      "",
	"origin/publish":    "icon internal/terminal objectstore origin/release origin/search origin/shape origin/svg golang.org/x/sync golang.org/x/sys",
	"origin/token":      "icon internal/guesses objectstore",
	"origin/withdrawal": "icon objectstore",
	// A module for the tests of dashboards and rules.
	"tools/promql": "github.com/prometheus/prometheus",
	// A client of the public API: it imports nothing of edge or origin.
	"mcp": "client hostport icon github.com/modelcontextprotocol/go-sdk golang.org/x/sync",
	// The client of the API for programs on a user's machine.
	"client":           "files hostport icon problem cachepolicy github.com/jellydator/ttlcache/v3 golang.org/x/sync",
	"client/output":    "client client/react icon",
	"client/pace":      "",
	"client/react":     "", // other projects can use it alone
	"client/reference": "icon",
	"client/commands":  "client icon internal/cli",
	"client/launcher":  "client icon github.com/godbus/dbus/v5",
	"client/lsp":       "client icon",
	"logtest":          "", // collects log messages for tests
	// The tests of real processes import nothing of the program's inside.
	"test": "test/golden test/harness edge/fleet/fleettest",
	// The commands of the documents.
	"test/documents": "test/harness github.com/yuin/goldmark",
	"test/harness":   "test/listening",
	// A module for developers. It measures an edge over HTTP and imports nothing of it.
	"loadtest": "internal/cli internal/terminal icon loadtest test/listening github.com/HdrHistogram/hdrhistogram-go github.com/valyala/fasthttp " +
		"github.com/andybalholm/brotli github.com/prometheus/common github.com/quic-go/quic-go golang.org/x/sys",
}

// testPackages may be imported by the tests of any room.
var testPackages = []string{"certs/certstest", "edge/cache/entrytest", "test/parallel", "test/sequential", "logtest", "objectstore/storetest", "test/golden"}

// restricted lists modules that only some files of a room may import: by path, or by a prefix that
// ends in / or _.
var restricted = map[string]string{
	"github.com/minio/minio-go/v7":        "objectstore/s3.go objectstore/s3credentials.go",
	"github.com/prometheus/client_golang": "edge/observe/ origin/metrics.go",
	"github.com/prometheus/client_model":  "edge/observe/",
	"github.com/dgraph-io/ristretto/v2":   "edge/cache/cache.go",
	"github.com/redis/go-redis":           "edge/fleet/",
	"go.opentelemetry.io":                 "trace/",
	"github.com/valyala/fasthttp":         "edge/ loadtest/", // bare fasthttp is its upper bound
	"github.com/blevesearch/vellum":       "origin/search/",
	"github.com/RoaringBitmap/roaring/v2": "origin/search/",
	"github.com/blevesearch/snowballstem": "origin/search/lexicon/ origin/manual/",
	"github.com/modelcontextprotocol":     "mcp/",
	"cel.dev/cel-go":                      "config/rules/",
	"github.com/oschwald":                 "config/rules/geo.go",
	"github.com/HdrHistogram":             "loadtest/", // a module of its own
	"github.com/godbus/dbus/v5":           "client/launcher/",
	"github.com/yuin/goldmark":            "origin/manual/ test/documents/",
}

// private lists packages that only their room may import, although rows allow the room.
var private = map[string]string{
	"edge/cache/memory":  "edge/cache",
	"edge/cache/disk":    "edge/cache",
	"edge/cache/codec":   "edge/cache",
	"edge/cache/hashes":  "edge/cache",
	"edge/cache/batches": "edge/cache",
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

// forbidden returns the reason reason the file at path must not import a package, or "". Tests may
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
		{"edge/h2/h2_test.go", module + "certs/certstest", true},
		{"edge/h2/h2.go", module + "certs/certstest", false},
		{"edge/serve_test.go", module + "logtest", true},
		{"edge/proxy/serve.go", module + "logtest", false},
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
