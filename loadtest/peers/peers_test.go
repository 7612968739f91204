//go:build linux

package peers

import (
	"bytes"
	"context"
	"errors"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestKilobytes(t *testing.T) {
	rollup := []byte("00400000-7fff000 ---p 00000000 00:00 0 [rollup]\nRss:    3000 kB\nPss:                2048 kB\nPss_Anon:    7 kB\n")
	if n, err := kilobytes(rollup, "Pss:"); err != nil || n != 2048 {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := kilobytes(rollup, "Swap:"); err == nil {
		t.Error("a missing line was read")
	}
}

// TestCPU reads the clock of this process, as of any other; it advances while the process works.
func TestCPU(t *testing.T) {
	tree := Tree{os.Getpid()}
	before, err := tree.CPU()
	if err != nil {
		t.Fatal(err)
	}
	began, after := time.Now(), before
	// a busy machine may need long for that
	for time.Since(began) < time.Minute && err == nil && after-before < 20*time.Millisecond {
		after, err = tree.CPU()
	}
	if spent := after - before; err != nil || spent < 20*time.Millisecond || spent > 10*time.Minute {
		t.Errorf("%v of CPU time for a loop of %v (%v)", spent, time.Since(began), err)
	}
	if rss, err := tree.RSS(); err != nil || rss < 1<<20 {
		t.Errorf("a memory of %d bytes (%v)", rss, err)
	}
}

// TestMeter: the CPU time of a process that exits, such as nginx's cache loader after a minute,
// stays in the sum; but the first process must live.
func TestMeter(t *testing.T) {
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	meter, alone := Tree{os.Getpid(), child.Process.Pid}.Meter(), Tree{child.Process.Pid}.Meter()
	before, err := meter()
	if _, err2 := alone(); err != nil || err2 != nil {
		t.Error(err, err2)
	}
	child.Process.Kill()
	child.Wait()
	if after, err := meter(); err != nil || after < before {
		t.Errorf("%v after %v (%v)", after, before, err)
	}
	if spent, err := alone(); err == nil {
		t.Errorf("a server that has exited used %v", spent)
	}
}

func TestTreeOfNobody(t *testing.T) {
	if tree, err := TreeOf(1 << 30); err == nil {
		t.Errorf("process %d has the tree %v", 1<<30, tree)
	}
}

// sh returns a server for tests: a shell whose child sleeps.
func sh(t *testing.T, script string) Spec {
	return Spec{Name: "test", Program: "sh", Args: []string{"-c", script}, Dir: t.TempDir()}
}

func TestStart(t *testing.T) {
	listen, err := FreePort()
	if err != nil {
		t.Fatal(err)
	}
	s := sh(t, "echo cannot go on >&2; exit 3")
	s.Listen = listen
	if _, err := Start(t.Context(), s); err == nil || !strings.Contains(err.Error(), "exit status 3") ||
		!strings.Contains(err.Error(), "cannot go on") {
		t.Errorf("error %v, want an error with the status and the last output", err)
	}
	s.Program = "no-such-program"
	if _, err := Start(t.Context(), s); !errors.Is(err, ErrMissing) {
		t.Errorf("error %v, want %v", err, ErrMissing)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s = sh(t, "sleep 60 & wait")
	s.Listen = listen
	if _, err := Start(ctx, s); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}

func TestTemplates(t *testing.T) {
	place := Place{Dir: "/tmp/x", Origin: netip.MustParseAddrPort("127.0.0.1:8081"), Cores: 1}
	nginx, err1 := Nginx(place, true)
	forwarding, err2 := Nginx(place, false)
	varnish, err3 := Varnish(place)
	haproxy, err4 := HAProxy(place)
	sites, err7 := EdgeWithSites("sites", "iconedge", place, true)
	forwardingSites, err8 := EdgeWithSites("sites", "iconedge", place, false)
	place.PEM = "/tmp/x.pem"
	secureNginx, err5 := Nginx(place, true)
	secureHAProxy, err6 := HAProxy(place)
	if err := errors.Join(err1, err2, err3, err4, err5, err6, err7, err8); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		spec Spec
		want []string
	}{
		{nginx, []string{"sendfile off;", "proxy_cache icons;", "server 127.0.0.1:8081;",
			"listen " + nginx.Listen.String(), "worker_processes 1;"}},
		{forwarding, []string{"proxy_cache off;"}},
		{secureNginx, []string{"listen " + secureNginx.Listen.String() + " ssl http2 backlog",
			"ssl_certificate_key /tmp/x.pem;", "ssl_protocols TLSv1.3;"}},
		{secureHAProxy, []string{"bind " + secureHAProxy.Listen.String() + " backlog 4096 ssl crt /tmp/x.pem alpn h2,http/1.1 "}},
		{sites, []string{"http: \"" + sites.Listen.String() + "\"",
			"name: site49\n    hosts: [site49.test]\n    icons: false", "hosts: [\"127.0.0.1\"]\n    icons: true"}},
		{forwardingSites, []string{"icons: false", "{path: \"/bench/*.svg\"}, response_headers"}},
		{varnish, []string{`.host = "127.0.0.1";`, `.port = "8081";`}},
		{haproxy, []string{"process-vary on", "nbthread 1", "bind " + haproxy.Listen.String(), "server origin 127.0.0.1:8081"}},
	} {
		row.spec.Dir = t.TempDir()
		if err := row.spec.write(); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(row.spec.Dir, row.spec.File))
		if err != nil {
			t.Fatal(err)
		}
		if row.spec.PEM == "" && bytes.Contains(b, []byte("ssl")) {
			t.Errorf("%s has TLS without a certificate:\n%s", row.spec.File, b)
		}
		for _, want := range row.want {
			if !bytes.Contains(b, []byte(want)) {
				t.Errorf("%s has no %q:\n%s", row.spec.File, want, b)
			}
		}
	}
}

// TestEdge: an edge with a certificate serves TLS on the address of the comparison, and cleartext
// on another one.
func TestEdge(t *testing.T) {
	for _, row := range []struct{ pem, want string }{
		{"", "--listen ADDRESS --x"},
		{"/tmp/x.pem", "--listen 127.0.0.1:0 --tls-listen ADDRESS --tls-cert /tmp/x.pem --tls-key /tmp/x.pem --x"},
	} {
		s, err := Edge("edge", "iconedge", Place{PEM: row.pem, Cores: 1}, "--x")
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(s.Args, " "); !strings.HasSuffix(got, " "+strings.Replace(row.want, "ADDRESS", s.Listen.String(), 1)) {
			t.Errorf("with certificate %q: %s, want %s", row.pem, got, row.want)
		}
	}
}

func TestSizeOf(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x"), bytes.Repeat([]byte("x"), 10_000), 0o600); err != nil {
		t.Fatal(err)
	}
	if n, err := sizeOf(dir); err != nil || n < 10_000 || n > 100_000 {
		t.Errorf("a file of 10,000 bytes takes %d (%v)", n, err)
	}
}
