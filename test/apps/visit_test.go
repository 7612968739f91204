package apps

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/iconedge/iconedge/internal/certs/certstest"
	"github.com/iconedge/iconedge/test/harness"
)

// A way is the way of a client to an application.
type way struct {
	name             string
	edge, tls, nginx bool
}

// fixedTime is the modification time of files, which ETags are made of.
var fixedTime = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// ways begins with the way that the others are compared with.
var ways = []way{{name: "directly"}, {name: "through the edge", edge: true}, {name: "through the edge over TLS", edge: true, tls: true},
	// The lines of docs/how-to/proxy.md for nginx are tried too.
	{name: "through nginx", nginx: true}}

// A visit is one run of a client, with everything that the client saw.
type visit struct {
	*testing.T
	base           string         // URL of the application or the edge, without a slash at the end
	authority      string         // file of the certificate authority; empty: no TLS
	keyHash        string         // of the certificate's key, for browsers; empty: no TLS
	name           string         // host of a recipe, which clients find at edge
	edge           string         // HOST:PORT of the edge of a recipe; empty: that of base
	environment    []string       // of the programs that the client runs
	dir            string         // a folder of the client's own, also its home
	same           *regexp.Regexp // parts of contents that differ each time; nil: none
	parts          []part
	requests, hits int // at the edge
}

// A part is something that the client saw.
type part struct {
	name string
	size int    // in bytes
	text []byte // the content, or the hash of a long content
}

const longPart = 64 << 10

// saw records a content. The address of the application is replaced, because it differs between the
// ways.
func (v *visit) saw(name string, content []byte) {
	content = bytes.ReplaceAll(content, []byte(v.base), []byte("{application}"))
	content = bytes.ReplaceAll(content, []byte(v.host()), []byte("{host}"))
	if v.same != nil && utf8.Valid(content) { // a large object takes the expression seconds
		content = v.same.ReplaceAll(content, []byte("…"))
	}
	p := part{strings.ReplaceAll(name, v.host(), "{host}"), len(content), content}
	if len(content) > longPart {
		p.text = fmt.Appendf(nil, "%d bytes, SHA-256 %x", len(content), sha256.Sum256(content))
	}
	v.parts = append(v.parts, p)
}

// sawTree records the files below dir, except those that skip names by their path.
func (v *visit) sawTree(name, dir string, skip ...string) {
	v.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, _ := filepath.Rel(dir, path)
		for _, s := range skip {
			if relative == s {
				if d.IsDir() {
					return fs.SkipDir
				}
				return nil
			}
		}
		if !d.Type().IsRegular() {
			return nil
		}
		content, err := os.ReadFile(path)
		if err == nil {
			files++
			v.saw(name+"/"+relative, content)
		}
		return err
	})
	if err != nil {
		v.Fatal(err)
	}
	if files == 0 {
		v.Fatalf("%s is empty", dir)
	}
}

// run runs a program of the client in its folder, and returns its output. A program that fails ends
// the test.
func (v *visit) run(program string, args ...string) string {
	v.Helper()
	output, err := v.try(nil, program, args...)
	if err != nil {
		v.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, output)
	}
	return output
}

// try is run for a program that may fail; more is added to its environment.
func (v *visit) try(more []string, program string, args ...string) (string, error) {
	v.Helper()
	ctx, cancel := context.WithTimeout(v.Context(), harness.Longest)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = v.dir
	cmd.WaitDelay = 10 * time.Second
	cmd.Env = append([]string{"HOME=" + v.dir, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + v.TempDir(), "LC_ALL=C.UTF-8",
		"RCLONE_CONFIG=/dev/null"}, slices.Concat(v.environment, more)...)
	if v.authority != "" {
		cmd.Env = append(cmd.Env, "NODE_EXTRA_CA_CERTS="+v.authority, "SSL_CERT_FILE="+v.authority)
	}
	output, err := cmd.CombinedOutput()
	return string(output), err
}

// host returns the HOST:PORT of base.
func (v *visit) host() string {
	_, host, _ := strings.Cut(v.base, "://")
	return host
}

// httpClient returns a client that trusts the edge.
func (v *visit) httpClient() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableCompression = true
	v.Cleanup(transport.CloseIdleConnections)
	if v.edge != "" {
		transport.DialContext = v.dial
	}
	if v.authority != "" {
		transport.TLSClientConfig = trust(v.T, v.authority)
	}
	return &http.Client{Transport: transport}
}

// throughEdge starts an edge in front of origin, and makes the visit go through it.
func (v *visit) throughEdge(w way, origin string, flags []string) *harness.Server {
	v.Helper()
	args := append([]string{"edge", "--proxy-all", "--origin", origin, "--listen", "127.0.0.1:0", "--admin-listen",
		"127.0.0.1:0", "--drain", "1s"}, flags...)
	if w.tls {
		dir := v.TempDir()
		authority := certstest.NewAuthority(v.T, dir, "authority")
		cert, key := authority.Pair(v.T, dir, "edge", "127.0.0.1", "localhost")
		v.authority = authority.File
		args = append(args, "--tls-listen", "127.0.0.1:0", "--tls-cert", cert, "--tls-key", key)
	}
	edge := harness.Start(v.T, v.TempDir(), args...).Ready()
	v.base = "http://" + edge.Address("public")
	if w.tls {
		v.base = "https://" + edge.Address("tls")
	}
	return edge
}

// count reads from the edge's metrics how many requests it got, and how many of them were hits. It
// fails the test if the edge has logged an error.
func (v *visit) count(edge *harness.Server) {
	v.Helper()
	metrics := edge.Metrics(v.T)
	v.requests = harness.Sum(metrics, `iconedge_edge_requests_total\{[^}]*route="forwarded"[^}]*\} `)
	v.hits = harness.Sum(metrics, `iconedge_edge_requests_total\{[^}]*outcome="hit"[^}]*route="forwarded"[^}]*\} `)
	if log := edge.Log.String(); strings.Contains(log, "level=ERROR") {
		v.Errorf("the edge logged an error:\n%s", log)
	}
}

// bytes returns the size of everything that the client saw.
func (v *visit) bytes() (n int) {
	for _, p := range v.parts {
		n += p.size
	}
	return n
}

// compare fails the test if the client saw something else than directly.
func (v *visit) compare(direct *visit) {
	v.Helper()
	if len(v.parts) != len(direct.parts) {
		v.Errorf("the client saw %d parts, directly %d", len(v.parts), len(direct.parts))
	}
	for i := range min(len(v.parts), len(direct.parts)) {
		got, want := v.parts[i], direct.parts[i]
		if got.name != want.name || !bytes.Equal(got.text, want.text) {
			v.Fatalf("part %d:\n%s: %s\n%s: %s directly", i, got.name, firstDifference(got.text, want.text),
				want.name, firstDifference(want.text, got.text))
		}
	}
}

// firstDifference returns the part of text in which it begins to differ from other.
func firstDifference(text, other []byte) string {
	same := 0
	for same < min(len(text), len(other)) && text[same] == other[same] {
		same++
	}
	from, to := max(0, same-200), min(len(text), same+300)
	return fmt.Sprintf("from byte %d: %q", from, text[from:to])
}
