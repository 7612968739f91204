//go:build linux

package simulate

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/iconedge/iconedge/loadtest/relay"
)

// A place is a region of the model: how far it is from the centre, where Redis, the shields and the
// origin are.
type place struct {
	name  string
	delay time.Duration // one way
	loss  float64       // share of lost segments
}

// places are ten regions. The farthest leaves a check of a limit 90 of its 250 ms.
var places = []place{
	{"eu-central", time.Millisecond, 0.0002},
	{"eu-west", 5 * time.Millisecond, 0.0005},
	{"eu-north", 10 * time.Millisecond, 0.0005},
	{"eu-south", 20 * time.Millisecond, 0.0005},
	{"us-east", 30 * time.Millisecond, 0.001},
	{"me", 40 * time.Millisecond, 0.001},
	{"us-west", 50 * time.Millisecond, 0.001},
	{"ap-south", 60 * time.Millisecond, 0.002},
	{"sa-east", 70 * time.Millisecond, 0.002},
	{"ap-east", 80 * time.Millisecond, 0.002},
}

// A link is the network between a region and the centre. A process of its own carries its
// connections, because a process may have too few file descriptors for those of all regions.
type link struct {
	place
	addresses []string // of the targets, as the region reaches them
	orders    io.WriteCloser
	process   *exec.Cmd
}

// openLink starts the process, which is this program with the argument relay; see Relay.
func openLink(p place, seed int, targets ...string) (*link, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	l := &link{place: p}
	l.process = exec.Command(self, append([]string{"relay", p.delay.String(), fmt.Sprint(p.loss), fmt.Sprint(seed)}, targets...)...)
	l.process.Stderr = os.Stderr
	l.process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if l.orders, err = l.process.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := l.process.StdoutPipe()
	if err == nil {
		err = l.process.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("starting the relay of %s: %w", p.name, err)
	}
	for lines := bufio.NewScanner(out); len(l.addresses) < len(targets) && lines.Scan(); {
		l.addresses = append(l.addresses, lines.Text())
	}
	if len(l.addresses) < len(targets) {
		return nil, fmt.Errorf("the relay of %s has ended", p.name)
	}
	return l, nil
}

// silence loses everything that the region sends and is sent, until mend.
func (l *link) silence() { fmt.Fprintln(l.orders, "silence") }
func (l *link) mend()    { fmt.Fprintln(l.orders, "mend") }

func (l *link) close() {
	l.orders.Close()
	l.process.Wait()
}

// Relay carries the connections of a region until in ends, or ctx. The arguments are the delay in
// one direction, the share of lost segments, a seed, and the targets. It writes an address for each
// target to out, and obeys the lines silence and mend.
func Relay(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	const fixed = 3
	if len(args) <= fixed {
		return fmt.Errorf("a relay needs a delay, a loss, a seed and targets; it has %q", args)
	}
	delay, err := time.ParseDuration(args[0])
	if err != nil {
		return err
	}
	loss, err := strconv.ParseFloat(args[1], 64)
	if err != nil {
		return err
	}
	seed, err := strconv.ParseUint(args[2], 10, 64)
	if err != nil {
		return err
	}
	path := relay.NewPath(delay, loss, seed)
	for _, target := range args[fixed:] {
		r, err := relay.Listen(target, path)
		if err != nil {
			return err
		}
		defer r.Close()
		fmt.Fprintln(out, r.Addr())
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(in); lines.Scan(); {
			switch strings.TrimSpace(lines.Text()) {
			case "silence":
				path.Silence()
			case "mend":
				path.Mend()
			}
		}
	}()
	select {
	case <-ended:
	case <-ctx.Done():
	}
	return nil
}
