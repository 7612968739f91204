//go:build linux

package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/iconedge/iconedge/test/listening"
)

// script returns a process that runs a shell script. It is ready when it has written a file; the
// shell creates the file before it writes.
func script(t *testing.T, words string) (p *process, made string) {
	t.Helper()
	dir := t.TempDir()
	made = filepath.Join(dir, "made")
	p = &process{name: "script", program: "/bin/sh", args: []string{"-c", words, "sh", made}, logs: dir,
		ready: func(context.Context) error {
			info, err := os.Stat(made)
			if err == nil && info.Size() == 0 {
				err = errors.New("the file is empty")
			}
			return err
		}}
	t.Cleanup(p.kill)
	return p, made
}

// TestProcess: a process can be stopped or killed, and started again each time; a frozen one can be
// stopped too.
func TestProcess(t *testing.T) {
	p, made := script(t, `trap exit TERM; echo ready >"$1"; while :; do sleep 0.02; done`)
	for _, end := range []func(){p.stop, p.kill, func() { (&edge{node: node{process: p}}).freeze(); p.stop() }} {
		if err := p.start(t.Context()); err != nil {
			t.Fatal(err)
		}
		select {
		case <-p.done:
			t.Fatal("the process exited")
		default:
		}
		end()
		<-p.done
		if err := os.Remove(made); err != nil {
			t.Fatal(err)
		}
	}
}

func TestProcessThatEnds(t *testing.T) {
	p, _ := script(t, `echo "no such flag" >&2; exit 2`)
	if err := p.start(t.Context()); err == nil || !strings.Contains(err.Error(), "script: it exited; its last output: no such flag") {
		t.Errorf("%v", err)
	}
	p, _ = script(t, `exec sleep 1000`)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := p.start(ctx); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a process that never becomes ready: %v, want the reason", err)
	}
}

// TestSockets: sockets are passed as by systemd, and connections wait in them while no process
// serves.
func TestSockets(t *testing.T) {
	ports, err := listening.FreeAddresses(2)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := openSockets([]string{"public", "admin"}, ports)
	if err != nil {
		t.Fatal(err)
	}
	defer kept.close()
	p, made := script(t, `[ "$LISTEN_PID" = $$ ] && [ -S /proc/self/fd/3 ] && [ -S /proc/self/fd/4 ] && echo "$LISTEN_FDS $LISTEN_FDNAMES" >"$1"; exec sleep 1000`)
	p.kept = kept
	if err := p.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if said, err := os.ReadFile(made); err != nil || string(said) != "2 public:admin\n" {
		t.Errorf("the process received %q, %v", said, err)
	}
	p.kill()
	for _, open := range []bool{true, false} {
		c, err := net.Dial("tcp", ports[0])
		if (err == nil) != open {
			t.Errorf("connecting while the sockets are open (%v): %v", open, err)
		}
		if err == nil {
			c.Close()
		}
		kept.close()
	}
	if err := kept.open(); err != nil {
		t.Errorf("opening them again: %v", err)
	}
}

// TestBuild: an edge has the shields, then the origin, behind relays of its region, and Prometheus
// can read all its targets.
func TestBuild(t *testing.T) {
	for _, program := range []string{"redis-server", "prometheus", "promtool"} {
		if _, err := exec.LookPath(program); err != nil && os.Getenv("CI") != "" {
			t.Fatal(err)
		} else if err != nil {
			t.Skipf("NOT TESTED: %v", err)
		}
	}
	s, err := build(Config{Iconedge: "true", Next: "true", S3: "true", Work: t.TempDir(), Shields: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer s.stop()
	e := s.regions[2].edges[1]
	relays := s.regions[2].relays // two to shields, one to the origin, one to Redis for each edge
	want := "--region ap --tier-secret-file " + s.secretFile() + " --origin http://" + relays[0].Addr() + ",http://" + relays[1].Addr() +
		" --origin http://" + relays[2].Addr() + " --redis redis://" + relays[4].Addr()
	if got := strings.Join(e.args[1:], " "); got != want {
		t.Errorf("the command of %s is\n%s, want\n%s", e.name, got, want)
	}
	config := filepath.Join(s.folder, "prometheus.yml")
	if out, err := exec.Command("promtool", "check", "config", config).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	jobs, err := json.Marshal(s.jobs())
	if err != nil || !strings.Contains(string(jobs), `{"targets":["`+e.admin+`"],"labels":{"instance":"ap-2","region":"ap"}}`) {
		t.Errorf("%s, %v", jobs, err)
	}
	if _, err := build(Config{Iconedge: "/no/such/program", Next: "true", S3: "true", Work: t.TempDir()}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing program: %v", err)
	}
}
