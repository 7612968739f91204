//go:build linux

// Package peers starts the servers of the comparison, pinned to the same cores, and reads their CPU
// time and memory from the kernel's accounts. The files nginx.conf, varnish.vcl, haproxy.cfg and
// h2o.conf are tuned as operators would tune them for small files; improvements are welcome there.
package peers

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"text/template"
	"time"
)

//go:embed nginx.conf varnish.vcl haproxy.cfg h2o.conf openssl.cnf sites.yaml
var files embed.FS

var templates = template.Must(template.ParseFS(files, "*"))

// A Spec describes how to start a server.
type Spec struct {
	Name    string
	Program string   // searched in PATH, and in Debian's folders for servers
	Args    []string //
	Env     []string // in addition to our own
	File    string   // configuration files, written into Dir before the start; may be empty
	Dir     string   // for the server's own files
	// another such file; may be empty
	Settings string
	CPUs     string         // cores in taskset's form: "0", "0,1"; empty: all
	Listen   netip.AddrPort //
	Origin   netip.AddrPort
	Cores    int
	// file of a certificate and its key: Listen then serves HTTP/1.1 and 2 over TLS; empty:
	// HTTP/1.1 in the clear
	PEM    string
	Store  bool   // nginx: cache responses; otherwise it only forwards
	Memory string // folder whose files count as memory of the server: a cache in a tmpfs
	Admin  netip.AddrPort
	Sites  []string // names of the sites of an edge
	Icons  bool     // the first one has icons
}

// Root reports whether root starts the servers, which some configurations must say.
func (s Spec) Root() bool { return os.Geteuid() == 0 }

// OriginHost returns the host of Origin.
func (s Spec) OriginHost() string { return s.Origin.Addr().String() }

// OriginPort returns the port of Origin.
func (s Spec) OriginPort() string { return strconv.Itoa(int(s.Origin.Port())) }

// A Server is a running server.
type Server struct {
	Spec
	cmd  *exec.Cmd
	out  *os.File
	done chan error
}

// Start starts a server and waits until it accepts connections. The server does not get the
// terminal's ^C; Stop ends it.
func Start(ctx context.Context, s Spec) (*Server, error) {
	if err := s.write(); err != nil {
		return nil, fmt.Errorf("configuring %s: %w", s.Name, err)
	}
	program, err := find(s.Program)
	if err != nil {
		return nil, err
	}
	argv := append([]string{program}, s.Args...)
	if s.CPUs != "" {
		argv = append([]string{"taskset", "-c", s.CPUs}, argv...)
	}
	out, err := os.Create(filepath.Join(s.Dir, "output"))
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), s.Env...)
	cmd.Stdout, cmd.Stderr, cmd.Dir = out, out, s.Dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		out.Close()
		return nil, fmt.Errorf("starting %s: %w", s.Name, err)
	}
	running := &Server{Spec: s, cmd: cmd, out: out, done: make(chan error, 1)}
	go func() { running.done <- cmd.Wait() }()
	if err := running.ready(ctx); err != nil {
		running.Stop()
		return nil, fmt.Errorf("starting %s: %w", s.Name, err)
	}
	return running, nil
}

// write makes the server's folder and its configuration.
func (s Spec) write() error {
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return err
	}
	for _, name := range []string{s.File, s.Settings} {
		if name == "" {
			continue
		}
		var b bytes.Buffer
		if err := templates.ExecuteTemplate(&b, name, s); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(s.Dir, name), b.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// startTime is the time limit for the first connection.
const startTime = 60 * time.Second

// ready waits for the first connection.
func (s *Server) ready(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, startTime)
	defer stop()
	for {
		conn, err := net.Dial("tcp", s.Listen.String())
		if err == nil {
			return conn.Close()
		}
		select {
		case err := <-s.done:
			s.done <- err
			return s.Ended()
		case <-ctx.Done():
			return fmt.Errorf("it accepts no connections: %w: %s", context.Cause(ctx), s.lastWords())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Ended returns an error, with the end of the output, if the server has exited by itself.
func (s *Server) Ended() error {
	select {
	case err := <-s.done:
		s.done <- err
		return fmt.Errorf("%s ended (%v): %s", s.Name, err, s.lastWords())
	default:
		return nil
	}
}

// lastWords returns the end of the server's output.
func (s *Server) lastWords() string {
	b, err := os.ReadFile(s.out.Name())
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(b[max(0, len(b)-500):]))
}

// stopTime is the time for a graceful exit.
const stopTime = 5 * time.Second

// Stop ends the server and all its processes, and waits for them.
func (s *Server) Stop() {
	s.End(stopTime)
	s.out.Close()
}

// End ends the server, and waits for it. After a time it ends all its processes at once, and
// returns an error.
func (s *Server) End(within time.Duration) error {
	s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-s.done:
		s.done <- err
		return nil
	case <-time.After(within):
		syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
		s.done <- <-s.done
		return fmt.Errorf("%s did not end within %v", s.Name, within)
	}
}

// Tree returns the processes of the server.
func (s *Server) Tree() (Tree, error) { return TreeOf(s.cmd.Process.Pid) }

// RSS returns the memory of the server in bytes, including a cache in a tmpfs.
func (s *Server) RSS() (int64, error) {
	tree, err := s.Tree()
	if err != nil {
		return 0, err
	}
	rss, err := tree.RSS()
	if err != nil || s.Memory == "" {
		return rss, err
	}
	stored, err := sizeOf(s.Memory)
	return rss + stored, err
}

// find searches for a program in PATH, and in Debian's folders for servers.
func find(program string) (string, error) {
	path, err := exec.LookPath(program)
	if err == nil {
		return path, nil
	}
	if path, err := exec.LookPath("/usr/sbin/" + program); err == nil {
		return path, nil
	}
	return "", fmt.Errorf("%w: %w", ErrMissing, err)
}

// ErrMissing means that a server's program is not installed.
var ErrMissing = errors.New("not installed")
