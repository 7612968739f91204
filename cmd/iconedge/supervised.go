package main

import (
	"context"
	"log/slog"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

const (
	// readyWithin is how long a service manager is kept waiting for an origin or a release. A server without them answers what it can, and
	// is not to be killed for them.
	readyWithin = 10 * time.Second
	readyPoll   = 100 * time.Millisecond
	askFor      = 5 * time.Second // an answer of our own admin listener
	noAdmin     = "none"          // address of no such listener
)

// A supervisor is told how the process is (sd_notify(3)): ready, stopping, and, where it wants to know, alive.
type supervisor struct {
	admin string // URL of our own admin listener; empty: there is none
	log   *slog.Logger
	ready chan struct{} // closed when the server is ready, or has had its time to become so
}

// supervised tells the service manager, if there is one, how the server is until the process ends, and has sockets that were passed in take nobody
// before it is ready: who waits in their queue has come in the middle of a restart, and is to be answered as if there had been none. It learns that
// by the admin listener, which it opens where nobody has.
func supervised(ctx context.Context, log *slog.Logger, address string, admin *net.Listener, passed ...*net.Listener) (err error) {
	passed = slices.DeleteFunc(passed, func(l *net.Listener) bool { return *l == nil })
	if os.Getenv("NOTIFY_SOCKET") == "" && len(passed) == 0 {
		return nil
	}
	if *admin == nil && address != noAdmin {
		if *admin, err = net.Listen("tcp", address); err != nil {
			return err
		}
	}
	s := supervisor{log: log, ready: make(chan struct{})}
	if *admin != nil {
		s.admin = "http://" + (*admin).Addr().String()
	}
	for _, l := range passed {
		*l = &patient{Listener: *l, ready: s.ready, closed: make(chan struct{})}
	}
	context.AfterFunc(ctx, func() { s.tell(daemon.SdNotifyStopping) })
	go s.await(ctx)
	go s.alive(context.WithoutCancel(ctx))
	return nil
}

// A patient listener takes nobody before the server is ready.
type patient struct {
	net.Listener
	ready  <-chan struct{}
	closed chan struct{}
	once   sync.Once
}

func (l *patient) Accept() (net.Conn, error) {
	select {
	case <-l.ready:
		return l.Listener.Accept()
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *patient) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

func (s supervisor) tell(state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		s.log.Warn("the service manager can't be told", "err", err)
	}
}

// await waits until the server is ready.
func (s supervisor) await(ctx context.Context) {
	status := "ready"
	if !s.becomesReady(ctx) {
		status = "serving, not ready yet: see the log"
	}
	if ctx.Err() != nil {
		return
	}
	close(s.ready)
	s.tell(daemon.SdNotifyReady + "\nSTATUS=" + status)
}

func (s supervisor) becomesReady(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	for s.admin != "" && !s.ask(ctx, "/readyz") {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// alive tells that the server answers, twice in each period of the manager's watchdog, for as long as it does.
func (s supervisor) alive(ctx context.Context) {
	period, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		s.log.Warn("the service manager's watchdog is not kept quiet", "err", err)
	}
	if period == 0 {
		return
	}
	for range time.Tick(period / 2) {
		if s.admin == "" || s.ask(ctx, "/healthz") {
			s.tell(daemon.SdNotifyWatchdog)
		}
	}
}

// ask reports whether our own admin listener answers 200.
func (s supervisor) ask(ctx context.Context, path string) bool {
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	return healthy(ctx, s.admin+path) == nil
}
