package apps

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/iconedge/iconedge/internal/certs/certstest"
	"github.com/iconedge/iconedge/test/harness"
)

// A recipe is a file of docs/how-to/sites.md in use: an edge alone in front of an application,
// which people and programs use as they would without the edge.
type recipe struct {
	title  string // the heading above the file
	server string
	client string
	did    string // by the clients, for the page
	// schemes are those of the addresses that the clients use; nil: http and https.
	schemes []string
	// versions returns those of the server and of the client, if they have their own.
	versions func(t *testing.T) (server, client string)
	// start starts the application behind the public address v.base, and returns pairs: an address
	// or folder of the file, and the one that takes its place.
	start func(v *visit) []string
	visit func(v *visit)
}

// recipes lists the recipes in the order of the page.
var recipes = []recipe{singlePage, mirror, pullMirror, cloud, wordPress, containers, releases}

// TestSites runs the clients of each recipe, over HTTP/1.1 and over TLS.
func TestSites(t *testing.T) {
	if !whole() {
		t.Skip("`make apps` runs it")
	}
	for _, r := range recipes {
		t.Run(r.title, func(t *testing.T) {
			schemes := r.schemes
			if schemes == nil {
				schemes = []string{"http", "https"}
			}
			result := row{Name: r.server, Recipe: r.title, Client: r.client, Did: r.did, TLS: slices.Contains(schemes, "https")}
			for _, scheme := range schemes {
				var v *visit
				passed := t.Run(scheme, func(t *testing.T) { v = r.run(t, scheme) })
				if !passed || v == nil { // nil: it was skipped
					return
				}
				result.Requests += v.requests
				result.Hits += v.hits
			}
			result.Version, result.ClientVersion = r.versions(t)
			record(t, result)
		})
	}
}

// run starts the application and an edge with the recipe, and runs the clients.
func (r recipe) run(t *testing.T, scheme string) *visit {
	t.Helper()
	file := recipeFile(t, r.title)
	v := &visit{T: t, dir: t.TempDir(), edge: harness.FreeAddress(t)}
	v.name = hostOf(t, file)
	_, port, _ := net.SplitHostPort(v.edge)
	v.base = scheme + "://" + net.JoinHostPort(v.name, port)
	changes := r.start(v)
	path := filepath.Join(t.TempDir(), "edge.yaml")
	if err := os.WriteFile(path, []byte(strings.NewReplacer(changes...).Replace(file)), 0o644); err != nil {
		t.Fatal(err)
	}
	harness.Must(t, v.dir, "config", "check", path)
	args := []string{"edge", "--config", path, "--admin-listen", "127.0.0.1:0", "--drain", "1s"}
	if scheme == "https" {
		dir := t.TempDir()
		authority := certstest.NewAuthority(t, dir, "authority")
		cert, key := authority.Pair(t, dir, "edge", v.name)
		v.authority, v.keyHash = authority.File, certstest.KeyHash(t, cert, key)
		args = append(args, "--listen", "127.0.0.1:0", "--tls-listen", v.edge, "--tls-cert", cert, "--tls-key", key)
	} else {
		args = append(args, "--listen", v.edge)
		// By it programs find the site that can't be given another address for a name.
		v.environment = []string{"http_proxy=http://" + v.edge}
	}
	edge := harness.Start(t, t.TempDir(), args...).Ready()
	r.visit(v)
	v.count(edge)
	return v
}

// recipeFile returns the file below a heading of docs/how-to/sites.md.
func recipeFile(t *testing.T, title string) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "how-to", "sites.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## "+title+"\n")
	_, rest, found := strings.Cut(section, "```yaml\n")
	file, _, _ := strings.Cut(rest, "```")
	if !found {
		t.Fatalf("sites.md has no recipe %q", title)
	}
	return file
}

// hostOf returns the first host of a file.
func hostOf(t *testing.T, file string) string {
	t.Helper()
	_, rest, found := strings.Cut(file, "hosts: [")
	host, _, _ := strings.Cut(rest, "]")
	if !found {
		t.Fatal("the file has no hosts")
	}
	host, _, _ = strings.Cut(host, ",")
	return host
}

// person opens a browser of a person's own, which finds the site at the edge.
func (v *visit) person() tab {
	v.Helper()
	flags := []chromedp.ExecAllocatorOption{chromedp.Flag("host-resolver-rules", "MAP "+v.name+" 127.0.0.1")}
	if v.keyHash != "" {
		// Chromium keeps no dictionaries of a site whose certificate has errors that it ignores,
		// and by this feature none where a public authority has not signed the certificate.
		flags = append(flags, chromedp.Flag("ignore-certificate-errors", false),
			chromedp.Flag("ignore-certificate-errors-spki-list", v.keyHash),
			chromedp.Flag("disable-features", "Translate,CompressionDictionaryTransportRequireKnownRootCert"))
	}
	return browse(v.T, flags...)
}

// curl runs curl, which finds the site at the edge, and returns its output.
func (v *visit) curl(args ...string) string {
	v.Helper()
	at := []string{"-sS", "--noproxy", "*", "--connect-to", "::" + v.edge}
	if v.authority != "" {
		at = append(at, "--cacert", v.authority)
	}
	return v.run("curl", append(at, args...)...)
}

// dial connects to the edge, whatever the address.
func (v *visit) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, network, v.edge)
}

// statusOf sends a request without cookies and returns the response, whose body is closed.
func (v *visit) statusOf(method, path string, fields ...string) *http.Response {
	v.Helper()
	return v.fetch(method, v.base+path, nil, fields...)
}
