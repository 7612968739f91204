// Package fleettest runs a Redis server for a test.
package fleettest

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// patience is more time than any machine needs for a step of Redis.
const patience = 2 * time.Minute

// A Server is a redis-server whose socket stays the same when it is restarted.
type Server struct {
	*redis.Client // of the test itself
	URL           string
	socket        string
	args          []string
	process       *exec.Cmd
}

// Start starts a server, with further options if given. If redis-server is not installed it skips
// the test, or fails it if CI is set.
func Start(t testing.TB, options ...string) *Server {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("redis-server is missing: run make engines")
		}
		t.Skip("NOT TESTED: redis-server is missing; make engines installs it")
	}
	// The path of a socket has at most 107 bytes; that of a test may be longer.
	dir, err := os.MkdirTemp("", "redis")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := &Server{socket: filepath.Join(dir, "s")}
	s.URL = "unix://" + s.socket
	s.args = append([]string{"--port", "0", "--unixsocket", s.socket, "--dir", dir, "--save", "", "--appendonly", "no"}, options...)
	s.Client = redis.NewClient(&redis.Options{Network: "unix", Addr: s.socket, MaxRetries: -1, ReadTimeout: patience})
	t.Cleanup(func() { s.Client.Close() })
	s.Again(t)
	t.Cleanup(func() { s.Kill() })
	return s
}

// Again starts the server after Kill, with the data in its folder: none, unless the test saved it.
func (s *Server) Again(t testing.TB) {
	t.Helper()
	s.process = exec.Command("redis-server", s.args...)
	if err := s.process.Start(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(patience); time.Now().Before(end); {
		if c, err := net.Dial("unix", s.socket); err == nil {
			c.Close()
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("redis-server does not listen")
}

// Kill ends the server as kill -9 does.
func (s *Server) Kill() {
	s.process.Process.Kill()
	s.process.Wait()
	os.Remove(s.socket)
}

// Pause suspends the server, which keeps its connections open and answers nothing until Resume.
func (s *Server) Pause()  { s.signal("-STOP") }
func (s *Server) Resume() { s.signal("-CONT") }

// signal runs kill(1), because package syscall does not define these signals on all systems.
func (s *Server) signal(name string) {
	exec.Command("kill", name, strconv.Itoa(s.process.Process.Pid)).Run()
}
