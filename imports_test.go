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

// rooms says what each room may import besides the standard library and what lies below it: rooms of ours by their path in this
// module, and other modules. The longest entry that is a prefix of a package's path counts. docs/architecture.md gives the reasons.
var rooms = map[string]string{
	"internal/cli": "", // the command line, for cmd/iconedge and loadtest
	"cmd/iconedge": "internal/cli icon problem hostport objectstore edge origin " + // the one program: any room
		"golang.org/x/term github.com/coreos/go-systemd " + // sockets that systemd keeps
		"github.com/KimMachineGun/automemlimit", // the memory limit of control groups, versions 1 and 2
	"icon":                  "",
	"hostport":              "",              // the form of addresses
	"admin":                 "files problem", // edge and origin keep their admin listeners for the operator by the same rules
	"problem":               "",
	"trace":                 "hostport go.opentelemetry.io",
	"cachepolicy":           "github.com/dunglas/httpsfv", // anyone can use it alone
	"certs":                 "files",                      // edge and origin show them, and ask for them
	"files":                 "",
	"tier":                  "files problem",                                                                                                                                                                                                                                                                   // the form of what edges and origins prove themselves by
	"objectstore":           "github.com/minio/minio-go/v7",                                                                                                                                                                                                                                                    // in s3.go alone
	"objectstore/storetest": "objectstore",                                                                                                                                                                                                                                                                     // the contract of every store
	"edge":                  "admin hostport icon problem cachepolicy certs files tier trace github.com/valyala/fasthttp github.com/fasthttp/router github.com/prometheus/client_golang github.com/prometheus/client_model github.com/pires/go-proxyproto github.com/quic-go/quic-go golang.org/x/crypto/acme", // never origin: they meet over HTTP
	"edge/cache":            "cachepolicy github.com/dgraph-io/ristretto/v2 github.com/andybalholm/brotli github.com/klauspost/compress",
	"edge/accesslog":        "",
	"edge/fleet":            "edge/ratelimit github.com/redis/go-redis", // what edges share
	"edge/bodies":           "",
	"edge/h1":               "edge/bodies edge/plain",                        // it knows nothing of caches
	"edge/h2":               "edge/bodies edge/plain golang.org/x/net/http2", // nor does this; names of frames, and HPACK's Huffman code
	"edge/plain":            "",
	"edge/ratelimit":        "",
	"edge/upstream":         "problem tier golang.org/x/net/http/httpguts",
	"origin":                "admin hostport icon problem certs files tier trace objectstore github.com/prometheus/client_golang",
	"origin/api":            "icon problem origin/catalog origin/search origin/svg origin/token github.com/klauspost/compress",
	"origin/catalog":        "icon objectstore origin/release origin/search golang.org/x/sync",
	"origin/search":         "icon github.com/blevesearch/vellum github.com/blevesearch/snowballstem github.com/RoaringBitmap/roaring/v2",
	"origin/svg":            "icon",
	"origin/release":        "icon github.com/klauspost/compress",
	"origin/publish":        "icon objectstore origin/release origin/search origin/svg golang.org/x/term golang.org/x/sync",
	"origin/token":          "icon objectstore",
	"tools/promql":          "github.com/prometheus/prometheus",                                                                                             // a module of its own, for the tests of dashboards and rules
	"mcp":                   "hostport icon problem cachepolicy github.com/jellydator/ttlcache/v3 github.com/modelcontextprotocol/go-sdk golang.org/x/sync", // HTTP to the public API: nothing of edge or origin
	"mcp/react":             "",                                                                                                                             // anyone can use it alone
	"test":                  "test/harness edge/fleet/fleettest",                                                                                            // tests of real processes: nothing of their inside
	"test/harness":          "test/listening",
	"logtest":               "",                                                                                                                                                             // what is logged, for tests to read
	"loadtest":              "internal/cli icon loadtest test/listening github.com/HdrHistogram/hdrhistogram-go github.com/valyala/fasthttp github.com/andybalholm/brotli golang.org/x/sys", // for those who build: HTTP to an edge, nothing of its inside
}

// helps are for the tests of any room.
var helps = []string{"certs/certstest", "logtest", "objectstore/storetest"}

// only holds imports that one file of a room alone may have.
var only = map[string]string{
	"github.com/minio/minio-go/v7":        "objectstore/s3.go",
	"github.com/prometheus/client_golang": "edge/metrics.go edge/metrics_ origin/metrics.go",
	"github.com/prometheus/client_model":  "edge/metrics_",
	"github.com/dgraph-io/ristretto/v2":   "edge/cache/",
	"github.com/redis/go-redis":           "edge/fleet/",
	"go.opentelemetry.io":                 "trace/",
	"github.com/valyala/fasthttp":         "edge/ loadtest/", // its ceiling is bare fasthttp
	"github.com/blevesearch/vellum":       "origin/search/",
	"github.com/RoaringBitmap/roaring/v2": "origin/search/",
	"github.com/blevesearch/snowballstem": "origin/search/lexicon/",
	"github.com/modelcontextprotocol":     "mcp/",
	"github.com/HdrHistogram":             "loadtest/", // a module of its own
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
			if why := forbidden(filepath.ToSlash(path), imported); why != "" {
				t.Errorf("%s imports %s: %s", path, imported, why)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 20 {
		t.Fatalf("only %d files were looked at", seen)
	}
}

// forbidden says why the file at path must not import what it does, or nothing. Tests may import any other module, but only
// the rooms of ours that their row allows.
func forbidden(path, imported string) string {
	dir := filepath.ToSlash(filepath.Dir(path))
	test := strings.HasSuffix(path, "_test.go") || strings.HasSuffix(dir, "test") && dir != "loadtest" // that one is a program
	ours, isOurs := strings.CutPrefix(imported, module)
	switch first, _, _ := strings.Cut(imported, "/"); {
	case isOurs && within(ours, dir), isOurs && test && slices.Contains(helps, ours):
		return ""
	case !isOurs && (!strings.Contains(first, ".") || test):
		return "" // the standard library, or a test's own tools
	case !isOurs:
		for restricted, where := range only {
			if within(imported, restricted) && !slices.ContainsFunc(strings.Fields(where), func(w string) bool {
				return path == w || strings.ContainsAny(w[len(w)-1:], "/_") && strings.HasPrefix(path, w)
			}) {
				return "only " + where + " may"
			}
		}
	}
	room, row := roomOf(dir)
	if room == "" {
		return "the room " + dir + " has no row in imports_test.go"
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

// roomOf finds the longest entry of rooms that dir is or lies below.
func roomOf(dir string) (room, row string) {
	for name, allowed := range rooms {
		if within(dir, name) && len(name) > len(room) {
			room, row = name, allowed
		}
	}
	return room, row
}

// within reports whether path is that of dir or of something below it.
func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, dir+"/")
}

func TestForbidden(t *testing.T) {
	for _, row := range []struct {
		path, imported string
		allowed        bool
	}{
		{"edge/serve.go", module + "icon", true},
		{"edge/serve.go", module + "edge/cache", true},
		{"edge/serve.go", module + "origin", false},
		{"edge/serve.go", "github.com/prometheus/client_golang/prometheus", false},
		{"edge/metrics.go", "github.com/prometheus/client_golang/prometheus", true},
		{"edge/metrics_tally.go", "github.com/prometheus/client_golang/prometheus", true},
		{"edge/cache/cache.go", module + "icon", false},
		{"edge/serve_test.go", module + "origin", false},
		{"edge/serve_test.go", "github.com/cespare/webtest", true},
		{"edge/h2/h2_test.go", module + "certs/certstest", true},
		{"edge/h2/h2.go", module + "certs/certstest", false},
		{"edge/serve_test.go", module + "logtest", true},
		{"edge/serve.go", module + "logtest", false},
		{"edge/ratelimit/window.go", "time", true},
		{"objectstore/dir.go", "github.com/minio/minio-go/v7", false},
		{"cmd/iconedge/main.go", module + "test/listening", false},
		{"cmd/iconedge/main_test.go", module + "test/harness", true},
		{"test/faults/faults_test.go", module + "edge", false},
		{"nowhere/x.go", module + "icon", false},
	} {
		if why := forbidden(row.path, row.imported); (why == "") != row.allowed {
			t.Errorf("forbidden(%q, %q) = %q, want allowed: %v", row.path, row.imported, why, row.allowed)
		}
	}
}
