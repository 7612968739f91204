package admin

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/iconedge/iconedge/internal/files"
	"github.com/iconedge/iconedge/internal/logtest"
	"github.com/iconedge/iconedge/internal/problem"
)

// serve serves h over real HTTP, because net/http's server checks and changes the Host too.
func serve(t *testing.T, h http.Handler) (address string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	// Edges and origins set DisableGeneralOptionsHandler too; without it the server itself would
	// answer OPTIONS *.
	s := &http.Server{Handler: h, DisableGeneralOptionsHandler: true}
	done := make(chan struct{})
	go func() { defer close(done); s.Serve(ln) }()
	t.Cleanup(func() { s.Close(); <-done })
	return ln.Addr().String()
}

var nothing = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })

// send sends the lines of request, which LF separates, and returns the status, the header fields
// and the body of the response.
func send(t *testing.T, address, request string) (int, http.Header, string) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, strings.ReplaceAll(request, "\n", "\r\n")+"\r\n\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(body)
}

func TestGuard(t *testing.T) {
	address := serve(t, (&Access{hosts: Hosts{"edge.example.org"}}).Guard(nothing))
	for _, row := range []struct {
		request string
		code    int
	}{
		{"GET /metrics HTTP/1.1\nHost: " + address, 204},
		{"GET /metrics HTTP/1.1\nHost: localhost", 204},
		{"GET /metrics HTTP/1.1\nHost: edge.example.org:8082", 204},
		{"GET /metrics HTTP/1.1\nHost: rebound.example", 403},
		{"GET /metrics HTTP/1.1\nHost: rebound.example:8082", 403},
		{"GET /healthz HTTP/1.1\nHost: rebound.example", 403},
		{"GET /nothing HTTP/1.1\nHost: rebound.example", 403},
		{"POST /purge HTTP/1.1\nHost: rebound.example\nContent-Length: 0", 403},
		{"OPTIONS * HTTP/1.1\nHost: rebound.example", 403},
		{"CONNECT rebound.example:80 HTTP/1.1\nHost: localhost", 403},

		// An absolute target takes precedence over the Host field (RFC 9112, section 3.2.2).
		{"GET http://rebound.example/metrics HTTP/1.1\nHost: localhost", 403},
		{"GET http://localhost/metrics HTTP/1.1\nHost: rebound.example", 204},
		{"GET //rebound.example/metrics HTTP/1.1\nHost: localhost", 204}, // a path
		{"GET //localhost/metrics HTTP/1.1\nHost: rebound.example", 403},

		{"GET /metrics HTTP/1.0", 204}, // a load balancer's health check; browsers send a Host
		{"GET /metrics HTTP/1.0\nHost: rebound.example", 403},
		{"GET /metrics HTTP/1.0\nOrigin: null", 403},
		{"GET /metrics HTTP/1.1", 400},
		{"GET /metrics HTTP/1.1\nHost:", 403},
		{"GET /metrics HTTP/1.1\nHost: localhost\nHost: rebound.example", 400},
		{"GET /metrics HTTP/1.1\nHost: localhost, rebound.example", 400},

		{"POST /purge HTTP/1.1\nHost: localhost\nOrigin: https://evil.example\nContent-Length: 0", 403},
		{"POST /purge HTTP/1.1\nHost: localhost\nOrigin: http://localhost\nContent-Length: 0", 403},
		{"GET /metrics HTTP/1.1\nHost: localhost\nOrigin: null", 403},
		{"GET /metrics HTTP/1.1\nHost: localhost\norigin:", 403},
		{"OPTIONS /purge HTTP/1.1\nHost: localhost\nOrigin: https://evil.example\nAccess-Control-Request-Method: POST", 403},

		{"GET /metrics HTTP/1.1\nHost: localhost\nSec-Fetch-Site: none", 204},
		{"GET /metrics HTTP/1.1\nHost: localhost\nSec-Fetch-Site: same-origin", 204},
		{"GET /metrics HTTP/1.1\nHost: localhost\nSec-Fetch-Site: same-site", 403},
		{"GET /metrics HTTP/1.1\nHost: localhost\nSec-Fetch-Site: cross-site", 403},
		{"GET /metrics HTTP/1.1\nHost: localhost\nSec-Fetch-Site: whatever-comes-next", 403},
		{"GET /metrics HTTP/1.1\nHost: localhost\nSec-Fetch-Site:", 403},
		{"GET /metrics HTTP/1.1\nHost: localhost\nSec-Fetch-Site: none\nSec-Fetch-Site: cross-site", 403},
		{"GET /metrics HTTP/1.1\nHost: localhost\nSec-Fetch-Mode: cors\nSec-Fetch-Dest: empty", 204},
	} {
		code, header, body := send(t, address, row.request+"\nConnection: close")
		if code != row.code {
			t.Errorf("%q: %d %s, want %d", row.request, code, body, row.code)
		}
		if code != 403 {
			continue
		}
		if header.Get("Content-Type") != problem.ContentType || header.Get("Cache-Control") != "no-store" ||
			header.Get("Access-Control-Allow-Origin") != "" || strings.Contains(body, "rebound") {
			t.Errorf("%q: header %v, body %s; want an uncached problem without CORS or the host's name", row.request, header, body)
		}
	}
}

// open returns the Access for command-line arguments and a token file with the text, and the path
// of that file. There is no file if the text is empty.
func open(t *testing.T, text string, args ...string) (*Access, string, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "token")
	if text != "" {
		write(t, path, text)
		args = append(args, "--admin-token-file="+path)
	}
	var cfg Config
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	cfg.Flags(fs, "POST /purge")
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	before := fmt.Sprint(cfg)
	err := cfg.Validate()
	if fmt.Sprint(cfg) != before {
		t.Errorf("Validate changed the configuration from %s to %v", before, cfg)
	}
	a, opened := cfg.Open()
	if fmt.Sprint(err) != fmt.Sprint(opened) || (a == nil) == (opened == nil) {
		t.Errorf("Validate returns %v, Open %v and %v", err, a, opened)
	}
	return a, path, opened
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestOpen(t *testing.T) {
	for _, row := range []struct {
		name, text string
		args       []string
		bears      string // a valid Authorization line; empty: no token is required
		wrong      string // part of the error; empty: none
	}{
		{"nothing", "", nil, "", ""},
		{"a token", "secret", nil, "Bearer secret", ""},
		{"a token with a line break at the end", "secret\r\n", nil, "Bearer secret", ""},
		{"the scheme in lower case", "secret", nil, "bearer secret", ""}, // RFC 9110, section 11.1
		{"protected metrics", "secret", []string{"--admin-protect-metrics"}, "Bearer secret", ""},
		{"an empty file", " \n", nil, "", "there is no token in it"},
		{"two tokens, the first", "secret\nother", nil, "Bearer secret", ""},
		{"two tokens, the second", "other\n\nsecret\n", nil, "Bearer secret", ""},
		{"three tokens", "secret\nother\nthird", nil, "", "one line with a token, or two"},
		{"a control character", "sec\x00ret", nil, "", "control characters"},
		{"a file that is too long", strings.Repeat("x", maxToken+1), nil, "", "at most 8192 bytes"},
		{"no file", "", []string{"--admin-token-file=/nonexistent"}, "", "--admin-token-file: open /nonexistent"},
		{"protected metrics without a token file", "", []string{"--admin-protect-metrics"}, "",
			"--admin-protect-metrics requires --admin-token-file"},
	} {
		t.Run(row.name, func(t *testing.T) {
			a, _, err := open(t, row.text, row.args...)
			if row.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), row.wrong) || strings.Contains(err.Error(), "secret") {
					t.Errorf("error %v, want one with %q and without the token", err, row.wrong)
				}
				return
			}
			if err != nil || a.Asks() != (row.text != "") || !a.Bears(row.bears) || !a.TokenInUse() {
				t.Fatalf("error %v, Asks %v, Bears %v", err, a.Asks(), a.Bears(row.bears))
			}
			if row.text == "" {
				return
			}
			for _, lines := range [][]string{nil, {""}, {"secret"}, {"Bearer"}, {"Bearer "}, {"Bearer Secret"},
				{"Bearer secret2"}, {"Bearer secre"}, {"Basic secret"}, {row.bears, row.bears}, {"Bearer secret", ""}} {
				if a.Bears(lines...) {
					t.Errorf("Bears(%q) is true", lines)
				}
			}
		})
	}
}

func TestMetrics(t *testing.T) {
	for _, row := range []struct {
		name  string
		args  []string
		bears string
		code  int
	}{
		{"open", nil, "", 204},
		{"protected, without the token", []string{"--admin-protect-metrics"}, "", 401},
		{"protected, with another token", []string{"--admin-protect-metrics"}, "Bearer other", 401},
		{"protected, with the token", []string{"--admin-protect-metrics"}, "Bearer secret", 204},
	} {
		a, _, err := open(t, "secret", row.args...)
		if err != nil {
			t.Fatal(err)
		}
		address := serve(t, a.Metrics(nothing))
		code, header, body := send(t, address, "GET /metrics HTTP/1.1\nHost: localhost\nConnection: close\nAuthorization: "+row.bears)
		if code != row.code || code == 401 && (header.Get("WWW-Authenticate") != "Bearer" ||
			header.Get("Content-Type") != problem.ContentType) {
			t.Errorf("%s: %d %v %s, want %d", row.name, code, header, body, row.code)
		}
	}
}

// A new token is valid within 5 s of the change of its file, and at once after a signal. While the
// file can't be used, the previous token stays valid, and the log reports the error.
func TestTokenIsReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, path, err := open(t, "first")
		if err != nil {
			t.Fatal(err)
		}
		var log logtest.Log
		ctx, stop := context.WithCancel(t.Context())
		signals := make(chan os.Signal, 1)
		var done sync.WaitGroup
		done.Go(func() { a.Run(ctx, signals, log.Logger()) })
		for _, step := range []struct {
			name string
			do   func()
			in   time.Duration
			want string
			ok   bool
			logs string
		}{
			{"another token", func() { write(t, path, "second-one") }, 5 * time.Second, "second-one", true, "file read again"},
			{"an empty file", func() { write(t, path, "") }, 5 * time.Second, "second-one", false, "there is no token in it"},
			{"no file", func() { os.Remove(path) }, 5 * time.Second, "second-one", false, "no such file"},
			{"three lines", func() { write(t, path, "third\nfourth\nfifth\n") }, 5 * time.Second, "second-one", false, "one line"},
			{"a second token beside the old one", func() { write(t, path, "third\nsecond-one\n") }, 5 * time.Second,
				"second-one", true, "file read again"},
			{"the new one of the two", func() { signals <- syscall.SIGHUP }, 0, "third", true, "file read again"},
			{"a valid token again", func() { write(t, path, "fifth") }, 5 * time.Second, "fifth", true, "file read again"},
			{"a signal", func() { write(t, path, "sixth"); signals <- syscall.SIGHUP }, 0, "sixth", true, "file read again"},
			{"a signal without a change", func() { signals <- syscall.SIGHUP }, 0, "sixth", true, "file read again"},
		} {
			before := len(log.String())
			step.do()
			time.Sleep(step.in)
			synctest.Wait()
			if !a.Bears("Bearer "+step.want) || a.TokenInUse() != step.ok {
				t.Errorf("%s: Bears(%q) is %v, want true; TokenInUse is %v, want %v", step.name, step.want,
					a.Bears("Bearer "+step.want), a.TokenInUse(), step.ok)
			}
			if a.Bears("Bearer first") || a.Bears("Bearer ") || a.Bears() {
				t.Errorf("%s: the first token, an empty one or a missing one is accepted", step.name)
			}
			if logged := log.String()[before:]; !strings.Contains(logged, step.logs) ||
				!strings.Contains(logged, "flag=--admin-token-file") || strings.Contains(logged, step.want) {
				t.Errorf("%s: the log is %s; want %q with the flag and without the token", step.name, logged, step.logs)
			}
		}
		stop()
		done.Wait()
	})
	if files.Every > 2500*time.Millisecond {
		t.Errorf("files.Every is %v, so two checks of a file take more than 5 s", files.Every)
	}
}
