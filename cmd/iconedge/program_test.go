package main

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// asProgram makes the test binary act as iconedge itself, so that the tests run real processes under the race detector.
const asProgram = "ICONEDGE_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	status := m.Run()
	if publishedPacks.home != "" {
		os.RemoveAll(publishedPacks.home)
	}
	os.Exit(status)
}

// program is an iconedge process to be started: its data and home folders are the test's.
func program(t *testing.T, home string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = []string{asProgram + "=1", "HOME=" + home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + t.TempDir()}
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		if v, set := os.LookupEnv(name); set {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	return cmd
}

// call runs a command to its end.
func callProgram(t *testing.T, home string, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := program(t, home, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !asExit(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

func asExit(err error, exit **exec.ExitError) bool {
	e, ok := err.(*exec.ExitError)
	*exit = e
	return ok
}

// must runs a command that has to succeed and returns its stdout.
func must(t *testing.T, home string, args ...string) string {
	t.Helper()
	stdout, stderr, status := callProgram(t, home, args...)
	if status != 0 {
		t.Fatalf("iconedge %s: status %d\n%s", strings.Join(args, " "), status, stderr)
	}
	return stdout
}

// longest is what a test waits for that a program does unless it is broken: a busy machine stands still for many seconds.
const longest = 3 * time.Minute

// A server is a long-running iconedge process, stopped when the test ends.
type server struct {
	t    *testing.T
	cmd  *exec.Cmd
	log  *logBuffer
	done chan struct{}
}

func start(t *testing.T, home string, args ...string) *server {
	t.Helper()
	return startCommand(t, program(t, home, args...))
}

// startCommand starts what program made.
func startCommand(t *testing.T, cmd *exec.Cmd) *server {
	t.Helper()
	s := &server{t: t, cmd: cmd, log: newLogBuffer(), done: make(chan struct{})}
	s.cmd.Stderr = s.log
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		s.cmd.Wait()
		close(s.done)
		s.log.Close()
	}()
	t.Cleanup(func() {
		s.cmd.Process.Kill()
		<-s.done
		if t.Failed() {
			t.Logf("iconedge %s:\n%s", strings.Join(cmd.Args[1:], " "), s.log)
		}
	})
	return s
}

// stop sends SIGTERM and returns the exit status.
func (s *server) stop() int {
	s.t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		s.t.Fatal(err)
	}
	<-s.done
	return s.cmd.ProcessState.ExitCode()
}

// address is where the listener for public or admin listens, as the process logs it.
func (s *server) address(use string) string {
	s.t.Helper()
	line := regexp.MustCompile(`msg=listening address=(\S+) for=` + use + `\b`)
	m := s.log.wait(line)
	if m == nil {
		s.t.Fatalf("it never said where it listens for %s:\n%s", use, s.log)
	}
	return m[1]
}

// ready waits until /readyz of the admin listener says 200.
func (s *server) ready() *server {
	s.t.Helper()
	admin := "http://" + s.address("admin") + "/readyz"
	ctx, cancel := context.WithTimeout(s.t.Context(), longest)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		resp, err := http.Get(admin)
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return s
			}
		}
		select {
		case <-ctx.Done():
			s.t.Fatalf("not ready in time: %v\n%s", err, s.log)
		case <-tick.C:
		}
	}
}

// relay is an http.Handler that sends every request to the server at address as it is, target and all: an http.Client would
// tidy some of them up.
func relay(address string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		resp, err := send(address, r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusTeapot)
			return
		}
		defer resp.Body.Close()
		maps.Copy(w.Header(), resp.Header)
		w.WriteHeader(resp.StatusCode)
		io.Copy(w, resp.Body)
	})
}

func send(address string, r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	var head bytes.Buffer
	fmt.Fprintf(&head, "%s %s HTTP/1.1\r\nHost: %s\r\n", r.Method, r.URL, address)
	if len(body) > 0 || r.Method == http.MethodPost {
		fmt.Fprintf(&head, "Content-Length: %d\r\n", len(body))
	}
	if err := r.Header.Write(&head); err != nil {
		return nil, err
	}
	head.WriteString("\r\n")
	if _, err := conn.Write(append(head.Bytes(), body...)); err != nil {
		return nil, err
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), r)
	if err != nil {
		return nil, err
	}
	whole, err := io.ReadAll(resp.Body)
	resp.Body = io.NopCloser(bytes.NewReader(whole))
	return resp, err
}

// logBuffer keeps what a process logs, and wakes those who wait for a line.
type logBuffer struct {
	mu     sync.Mutex
	cond   *sync.Cond
	text   bytes.Buffer
	closed bool
}

func newLogBuffer() *logBuffer {
	b := &logBuffer{}
	b.cond = sync.NewCond(&b.mu)
	return b
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.cond.Broadcast()
	return b.text.Write(p)
}

func (b *logBuffer) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.cond.Broadcast()
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// wait returns the first match of line, or nil when the process has ended without one.
func (b *logBuffer) wait(line *regexp.Regexp) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		if m := line.FindStringSubmatch(b.text.String()); m != nil || b.closed {
			return m
		}
		b.cond.Wait()
	}
}

// npm is the folder of a package that tools/package.json pins; `make test` installs them.
func npm(t *testing.T, name string) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "..", "tools", "node_modules", name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); err != nil {
		missing(t, "%s is not installed: run `make test`, which installs it", name)
	}
	return dir
}

// missing skips a test whose tool can't be had here, loudly; in CI that is a failure.
func missing(t *testing.T, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf(format, args...)
	}
	t.Skipf("SKIPPED: "+format, args...)
}
