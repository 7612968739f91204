package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/iconedge/iconedge/test/harness"
)

// A mute server accepts requests or connections, and never answers. It reports the first one.
type mute struct {
	address string
	arrived chan struct{}
	once    sync.Once
}

func (m *mute) received() { m.once.Do(func() { close(m.arrived) }) }

func muteHTTP(t *testing.T) *mute {
	m := &mute{arrived: make(chan struct{})}
	stop := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		m.received()
		select {
		case <-r.Context().Done():
		case <-stop:
		}
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(stop) })
	m.address = server.Listener.Addr().String()
	return m
}

// muteTCP accepts connections and sends nothing.
func muteTCP(t *testing.T) *mute {
	m := &mute{arrived: make(chan struct{})}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	m.address = ln.Addr().String()
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { conn.Close() })
			m.received()
		}
	}()
	return m
}

// bigLibrary makes a package of @iconify/json with so many icons that publishing takes some seconds
// in each of its steps.
func bigLibrary(t *testing.T, packs, icons int) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "json"), 0o755); err != nil {
		t.Fatal(err)
	}
	var listed []string
	for p := range packs {
		key := fmt.Sprint("pack", p)
		listed = append(listed, fmt.Sprintf("%q:{%q:%q,%q:{%q:%q}}", key, "name", key, "license", "spdx", "MIT"))
		var b bytes.Buffer
		fmt.Fprintf(&b, `{"prefix":%q,"icons":{`, key)
		for i := range icons {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `"w%d-x%d-y%d-z%d":{"body":"<path d=\"M%d %dh1v1z\"/>"}`, p*icons+i, i*7919%icons, i*104729%icons, i, p, i)
		}
		b.WriteString("}}")
		if err := os.WriteFile(filepath.Join(dir, "json", key+".json"), b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "collections.json"), []byte("{"+strings.Join(listed, ",")+"}"), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestStopped: SIGTERM ends every command, whatever it waits for, with one line and status 1, and a
// server with status 0.
func TestStopped(t *testing.T) {
	small := bigLibrary(t, 1, 1)
	s3 := func(m *mute) string { return "s3://icons?endpoint=" + m.address + "&tls=false&region=us-east-1" }
	on := []string{"--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"}
	for _, tt := range []struct {
		what   string
		mute   func(*testing.T) *mute
		args   func(home string, m *mute) []string
		stdin  string
		status int
	}{
		{"publish, looking at the store", muteHTTP,
			func(_ string, m *mute) []string { return []string{"publish", "--store", s3(m), small} }, "", 1},
		{"publish --list", muteHTTP, func(_ string, m *mute) []string { return []string{"publish", "--store", s3(m), "--list"} }, "", 1},
		{"publish --rollback", muteHTTP, func(_ string,
			m *mute) []string {
			return []string{"publish", "--store", s3(m), "--rollback"}
		}, "", 1},
		{"token issue", muteHTTP, func(_ string, m *mute) []string { return []string{"token", "issue", "--store", s3(m)} }, "", 1},
		{"token revoke", muteHTTP, func(_ string, m *mute) []string {
			return []string{"token", "revoke", "--store", s3(m), strings.Repeat("0", 64)}
		}, "", 1},
		{"token list", muteHTTP, func(_ string, m *mute) []string { return []string{"token", "list", "--store", s3(m)} }, "", 1},
		{"health", muteHTTP, func(_ string, m *mute) []string {
			return []string{"health", "--within", "1h", "http://" + m.address + "/healthz"}
		}, "", 1},
		{"a store that does not speak", muteTCP, func(_ string,
			m *mute) []string {
			return []string{"token", "list", "--store", s3(m)}
		}, "", 1},
		{"origin, without a release", muteHTTP, func(home string, m *mute) []string {
			return append([]string{"origin", "--store", s3(m), "--mirror", home + "/mirror"}, on...)
		}, "", 0},
		{"edge, without an origin", muteHTTP, func(_ string, m *mute) []string {
			return append([]string{"edge", "--origin", "http://" + m.address}, on...)
		}, "", 0},
		{"edge, without Redis", muteTCP, func(_ string, m *mute) []string {
			return append([]string{"edge", "--origin", "http://127.0.0.1:1", "--redis", "redis://" + m.address}, on...)
		}, "", 0},
		{"mcp, in a call", muteHTTP, func(_ string, m *mute) []string {
			return []string{"mcp", "--api", "http://" + m.address, "--license-token", "iel_" + strings.Repeat("0", 40)}
		}, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"search_icons","arguments":{"query":"home"}}}
`, 0},
	} {
		t.Run(tt.what, func(t *testing.T) {
			home, m := t.TempDir(), tt.mute(t)
			cmd := harness.Program(t, home, tt.args(home, m)...)
			cmd.Env = append(cmd.Env, "AWS_ACCESS_KEY_ID=a", "AWS_SECRET_ACCESS_KEY=b")
			in, err := cmd.StdinPipe() // stays open
			if err != nil {
				t.Fatal(err)
			}
			cmd.Stdout = io.Discard
			s := harness.StartCommand(t, cmd)
			if _, err := io.WriteString(in, tt.stdin); err != nil {
				t.Fatal(err)
			}
			select {
			case <-m.arrived:
			case <-s.Done:
				t.Fatalf("it exited by itself:\n%s", s.Log)
			}
			if status := s.Stop(); status != tt.status {
				t.Errorf("status %d, want %d:\n%s", status, tt.status, s.Log)
			}
			if tt.status == 1 && s.Log.String() != "iconedge: stopped\n" {
				t.Errorf("stderr %q, want the line iconedge: stopped", s.Log)
			}
		})
	}
}

// TestPublishStopped: a publication that is stopped in any of its steps leaves no release, and no
// temporary files but finished packs, which the next one takes over.
func TestPublishStopped(t *testing.T) {
	const packs = 4
	library := bigLibrary(t, packs, 12_000)
	for _, tt := range []struct {
		step, before string
		finished     bool // all packs are
	}{
		{"cleaning icons", `comparing with the current release: .* in `, false},
		{"building the search index", `cleaning icons: .* in `, true},
	} {
		t.Run(tt.step, func(t *testing.T) {
			home := t.TempDir()
			work, store := filepath.Join(home, "work"), filepath.Join(home, "store")
			s := harness.Start(t, home, "publish", "--store", "dir:"+store, "--work", work, library)
			if s.Log.Wait(regexp.MustCompile(tt.before)) == nil {
				t.Fatalf("it exited before the signal:\n%s", s.Log)
			}
			if status := s.Stop(); status != 1 || !strings.HasSuffix(s.Log.String(), "\niconedge: stopped\n") {
				t.Errorf("status %d, want 1 and the line iconedge: stopped:\n%s", status, s.Log)
			}
			kept, err := filepath.Glob(filepath.Join(work, "*", "*.finished"))
			if said := strings.Contains(s.Log.String(), work+": the finished packs are kept"); err != nil || said != (len(kept) > 0) {
				t.Errorf("%d packs are kept, %v:\n%s", len(kept), err, s.Log)
			}
			if tt.finished && len(kept) != packs {
				t.Errorf("%d packs are kept, want %d", len(kept), packs)
			}
			if _, err := os.Stat(filepath.Join(store, "current")); !os.IsNotExist(err) {
				t.Errorf("the store has a release: %v", err)
			}
			if left, err := os.ReadDir(work); err != nil || len(left) > 0 && len(kept) == 0 {
				t.Errorf("leftover files %v, %v", left, err)
			}
			again := harness.Start(t, home, "publish", "--store", "dir:"+store, "--work", work, library)
			<-again.Done
			if left, err := os.ReadDir(work); err != nil || len(left) > 0 {
				t.Errorf("after the next publication: leftover files %v, %v\n%s", left, err, again.Log)
			}
			if _, err := os.Stat(filepath.Join(store, "current")); err != nil {
				t.Errorf("the next publication has made no release: %v\n%s", err, again.Log)
			}
		})
	}
}

// TestPublishLongChain: an endless chain of aliases takes no time; the report names each alias.
func TestPublishLongChain(t *testing.T) {
	const links = 5000
	dir, home := t.TempDir(), t.TempDir()
	var b bytes.Buffer
	b.WriteString(`{"prefix":"p","icons":{"a0":{"body":"<path d=\"M0 0h1v1z\"/>"}},"aliases":{`)
	for i := 1; i <= links; i++ {
		fmt.Fprintf(&b, `"a%d":{"parent":"a%d"},`, i, i-1)
	}
	b.WriteString(`"b":{"parent":"c"},"c":{"parent":"b"}}}`)
	for name, content := range map[string]string{"icons.json": b.String(), "info.json": `{"name":"P","license":{"spdx":"MIT"}}`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	out, stderr, status := harness.Call(t, home, "publish", "--store", "dir:"+filepath.Join(home, "store"), dir)
	for _, line := range []string{
		"left out p/a33: it is more than 32 aliases away from its icon\n",
		"left out p/a5000: it is more than 32 aliases away from its icon\n",
		"left out p/b: its aliases lead in a circle: b → c → b\n", "icons     1 visible; in all 1, and 32 aliases\n", "left out  4,970\n",
	} {
		if status != 0 || !strings.Contains(out, line) {
			t.Errorf("status %d, %s; stdout has no %q", status, stderr, line)
		}
	}
}

// A signal ends a command that still runs after a while. A command that has returned ends nothing,
// because its caller, such as a test, may go on for longer.
func TestEndBy(t *testing.T) {
	for _, tt := range []struct {
		what     string
		returns  bool
		after    time.Duration
		wantEnds int
	}{
		{"it still runs", false, time.Minute, 1},
		{"too early to say", false, time.Minute - 1, 0},
		{"it has returned", true, time.Hour, 0},
	} {
		t.Run(tt.what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, signal := context.WithCancel(t.Context())
				ends := 0
				returned := endBy(ctx, time.Minute, func() { ends++ })
				defer returned()
				signal()
				synctest.Wait()
				if tt.returns {
					returned()
				}
				time.Sleep(tt.after)
				synctest.Wait()
				if ends != tt.wantEnds {
					t.Errorf("ended %d times, want %d", ends, tt.wantEnds)
				}
			})
		})
	}
}

// TestShutdownDelay: after the signal a server is not ready, but answers as before for the time of
// --shutdown-delay, on new connections and on open ones.
func TestShutdownDelay(t *testing.T) {
	home := t.TempDir()
	store := "dir:" + filepath.Join(home, "library")
	harness.Must(t, home, "publish", "--store", store, harness.Library(t, "M0 0h8v8z"))
	listen := []string{"--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--shutdown-delay", "1h"}
	start := func(args ...string) (*harness.Server, *exec.Cmd) {
		cmd := harness.Program(t, home, append(args, listen...)...)
		return harness.StartCommand(t, cmd).Ready(), cmd
	}
	origin, originCmd := start("origin", "--store", store, "--mirror", filepath.Join(home, "mirror"))
	edge, edgeCmd := start("edge", "--origin", "http://"+origin.Address("public"))
	for _, server := range []struct {
		*harness.Server
		cmd *exec.Cmd
	}{{edge, edgeCmd}, {origin, originCmd}} {
		if err := server.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		harness.Eventually(t, "the server is not ready", func() bool {
			resp, body := harness.Get(t, server.Address("admin"), "/readyz")
			return resp.StatusCode == 503 && strings.Contains(body, "stopping")
		})
		for range 3 {
			if resp, _ := harness.Get(t, server.Address("public"), "/demo/arrow.svg"); resp.StatusCode != 200 || resp.Close {
				t.Errorf("%d, and the connection closes: %v", resp.StatusCode, resp.Close)
			}
		}
		server.cmd.Process.Kill() // an hour is too long for a test
	}
}
