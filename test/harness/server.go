package harness

import (
	"context"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A Server is a long-running iconedge process. It ends with the test.
type Server struct {
	t    *testing.T
	Cmd  *exec.Cmd
	Log  *Log
	Done chan struct{}
}

func Start(t *testing.T, home string, args ...string) *Server {
	t.Helper()
	return StartCommand(t, Program(t, home, args...))
}

// StartCommand starts a command that Program has made.
func StartCommand(t *testing.T, cmd *exec.Cmd) *Server {
	t.Helper()
	s := &Server{t: t, Cmd: cmd, Log: NewLog(), Done: make(chan struct{})}
	s.Cmd.Stderr = s.Log
	if err := s.Cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		s.Cmd.Wait()
		close(s.Done)
		s.Log.Close()
	}()
	t.Cleanup(func() {
		s.Cmd.Process.Kill()
		<-s.Done
		if t.Failed() {
			t.Logf("iconedge %s:\n%s", strings.Join(cmd.Args[1:], " "), s.Log)
		}
	})
	return s
}

// Stop sends SIGTERM and returns the exit status.
func (s *Server) Stop() int {
	s.t.Helper()
	if err := s.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		s.t.Fatal(err)
	}
	<-s.Done
	return s.Cmd.ProcessState.ExitCode()
}

// Address returns the address of a listener, such as public or admin, as the process logs it.
func (s *Server) Address(use string) string {
	s.t.Helper()
	line := regexp.MustCompile(`msg=listening address=(\S+) for=` + use + `\b`)
	m := s.Log.Wait(line)
	if m == nil {
		s.t.Fatalf("it logged no address for %s:\n%s", use, s.Log)
	}
	return m[1]
}

// Ready waits until /readyz of the admin listener answers 200.
func (s *Server) Ready() *Server {
	s.t.Helper()
	admin := "http://" + s.Address("admin") + "/readyz"
	ctx, cancel := context.WithTimeout(s.t.Context(), Longest)
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
			s.t.Fatalf("not ready in time: %v\n%s", err, s.Log)
		case <-tick.C:
		}
	}
}

// HangUp sends SIGHUP, as a closed terminal does, or an operator after changing a file.
func (s *Server) HangUp() {
	s.t.Helper()
	if err := s.Cmd.Process.Signal(syscall.SIGHUP); err != nil {
		s.t.Fatal(err)
	}
}
