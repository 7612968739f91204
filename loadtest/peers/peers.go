//go:build linux

// Package peers starts the servers that are compared, each pinned to the same cores, and reads what they cost: the CPU time and the
// memory of their processes, by the kernel's own accounts. nginx.conf, varnish.vcl and haproxy.cfg are tuned as their operators would
// for small files; whoever knows better changes them there.
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

//go:embed nginx.conf varnish.vcl haproxy.cfg
var files embed.FS

var templates = template.Must(template.ParseFS(files, "*"))

// A Spec says how a server is started.
type Spec struct {
	Name    string
	Program string         // looked for in PATH, and where Debian puts servers
	Args    []string       //
	Env     []string       // besides our own
	File    string         // of files, written into Dir before the start; may be empty
	Dir     string         // for what it writes
	CPUs    string         // it may use, as taskset takes them: "0", "0,1"; empty: all
	Listen  netip.AddrPort //
	Origin  netip.AddrPort
	Cores   int
	PEM     string // file of a certificate and its key: Listen is for TLS, with HTTP/1.1 and 2; empty: for HTTP/1.1 in the clear
	Store   bool   // nginx: keep answers; without, it forwards
	Memory  string // folder whose files are memory that the server's processes do not show: a cache in a tmpfs
}

// Root reports whether servers are started by root, which some have to be told.
func (s Spec) Root() bool { return os.Geteuid() == 0 }

// OriginHost and OriginPort are the two halves of Origin.
func (s Spec) OriginHost() string { return s.Origin.Addr().String() }

// OriginPort is the port of Origin.
func (s Spec) OriginPort() string { return strconv.Itoa(int(s.Origin.Port())) }

// A Server is one that runs.
type Server struct {
	Spec
	cmd  *exec.Cmd
	out  *os.File
	done chan error
}

// Start starts a server and waits until it takes connections. It does not get the terminal's ^C: Stop ends it.
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
	if err := os.MkdirAll(s.Dir, 0o755); err != nil || s.File == "" {
		return err
	}
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, s.File, s); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(s.Dir, s.File), b.Bytes(), 0o644)
}

// startTime is how long a server has to take its first connection.
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
			return fmt.Errorf("it does not listen: %w: %s", context.Cause(ctx), s.lastWords())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Ended is an error where the server has ended by itself, with what it said last.
func (s *Server) Ended() error {
	select {
	case err := <-s.done:
		s.done <- err
		return fmt.Errorf("%s ended (%v): %s", s.Name, err, s.lastWords())
	default:
		return nil
	}
}

// lastWords is the end of what the server printed.
func (s *Server) lastWords() string {
	b, err := os.ReadFile(s.out.Name())
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(b[max(0, len(b)-500):]))
}

// stopTime is how long a server has to end by itself.
const stopTime = 5 * time.Second

// Stop ends the server and all its processes, and waits for it.
func (s *Server) Stop() {
	syscall.Kill(s.cmd.Process.Pid, syscall.SIGTERM)
	select {
	case <-s.done:
	case <-time.After(stopTime):
		syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
		<-s.done
	}
	s.out.Close()
}

// Tree is the server's processes.
func (s *Server) Tree() (Tree, error) { return TreeOf(s.cmd.Process.Pid) }

// RSS is the memory of the server in bytes, its cache in a tmpfs with it.
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

// find looks for a program where users look, and where Debian puts servers.
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

// ErrMissing says that a server's program is not installed.
var ErrMissing = errors.New("not installed")
