//go:build linux

package fleet

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/iconedge/iconedge/test/listening"
)

// A process is a program that can be started repeatedly with the same arguments.
type process struct {
	name    string
	program string
	args    []string
	env     []string // in addition to our own
	logs    string   // folder
	kept    *sockets // sockets that stay open while it is down; nil: it opens its own
	ready   func(context.Context) error

	mu   sync.Mutex
	cmd  *exec.Cmd
	done chan struct{} // closed when cmd has exited
}

// patience is the time limit for a process to become ready, and to exit after SIGTERM.
const patience = 60 * time.Second

// start starts the process and waits until it is ready. The process does not get the terminal's ^C;
// stop ends it.
func (p *process) start(ctx context.Context) error {
	if err := p.launch(); err != nil {
		return fmt.Errorf("starting %s: %w", p.name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		err := p.ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("starting %s: it exited; its last output: %s", p.name, p.lastWords())
		case <-ctx.Done():
			return fmt.Errorf("starting %s: it is not ready (%w); its last output: %s", p.name, err, p.lastWords())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (p *process) launch() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	log, err := os.OpenFile(p.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(p.program, p.args...)
	cmd.Env = append(os.Environ(), p.env...)
	if p.kept != nil {
		listening.PassSockets(cmd, p.kept.names, p.kept.files)
	}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return err
	}
	done := make(chan struct{})
	p.cmd, p.done = cmd, done
	go func() {
		cmd.Wait()
		close(done)
	}()
	return nil
}

func (p *process) logFile() string { return filepath.Join(p.logs, p.name+".log") }

// lastWords returns the end of the process's output.
func (p *process) lastWords() string {
	b, err := os.ReadFile(p.logFile())
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(b[max(0, len(b)-500):]))
}

// signal sends a signal if the process runs.
func (p *process) signal(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil {
		p.cmd.Process.Signal(s) // fails if it has exited
	}
}

// kill sends SIGKILL and waits for the exit.
func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	p.wait()
}

// stop sends SIGTERM, and SIGKILL after a while.
func (p *process) stop() {
	p.signal(syscall.SIGTERM)
	p.signal(syscall.SIGCONT) // the process may be frozen
	kill := time.AfterFunc(patience, func() { p.signal(syscall.SIGKILL) })
	defer kill.Stop()
	p.wait()
}

func (p *process) wait() {
	p.mu.Lock()
	done := p.done
	p.mu.Unlock()
	if done != nil {
		<-done
	}
}
