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

	"github.com/iconedge/iconedge/internal/hostport"
)

const (
	// readyWithin is how long a service manager waits for an origin or a release. A server without
	// them answers the requests that it can, and the manager must not kill it.
	readyWithin = 10 * time.Second
	readyPoll   = 100 * time.Millisecond
	answerTime  = 5 * time.Second // time limit for an answer of our own admin listener
	noAdmin     = "none"          // the address that means no admin listener
)

// A supervisor notifies the service manager of the process's state (sd_notify(3)): ready, stopping
// and, if the manager has a watchdog, alive.
type supervisor struct {
	admin string // URL of our own admin listener; empty: none
	log   *slog.Logger
	ready chan struct{} // closed when the server is ready, or readyWithin has passed
}

// supervised notifies the service manager, if there is one, of the server's state until the process
// ends. Sockets that were passed in accept nothing before the server is ready: the clients in their
// queue have connected during a restart, and must not notice it. supervised learns the state from
// the admin listener, and opens it if systemd did not pass it in. The server calls ended when it
// returns, after which the manager has been notified that it stops.
func supervised(ctx context.Context, log *slog.Logger, address string, admin *net.Listener,
	passed ...*net.Listener) (ended func(), err error) {
	passed = slices.DeleteFunc(passed, func(l *net.Listener) bool { return *l == nil })
	if os.Getenv("NOTIFY_SOCKET") == "" && len(passed) == 0 {
		return func() {}, nil
	}
	if *admin == nil && address != noAdmin {
		if *admin, err = hostport.Listen(ctx, "--admin-listen", address); err != nil {
			return nil, err
		}
	}
	s := supervisor{log: log, ready: make(chan struct{})}
	if *admin != nil {
		s.admin = "http://" + (*admin).Addr().String()
	}
	for _, l := range passed {
		*l = &patient{Listener: *l, ready: s.ready, closed: make(chan struct{})}
	}
	stopping := sync.OnceFunc(func() { s.notify(daemon.SdNotifyStopping) })
	unused := context.AfterFunc(ctx, stopping)
	go s.await(ctx)
	go s.alive(context.WithoutCancel(ctx))
	return func() {
		unused()
		stopping() // an idle server may end before the function of AfterFunc has started
	}, nil
}

// A patient listener accepts nothing before the server is ready.
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

func (s supervisor) notify(state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		s.log.Warn("service manager notification failed", "err", err)
	}
}

// await waits until the server is ready, and notifies the service manager.
func (s supervisor) await(ctx context.Context) {
	status := "ready"
	if !s.becomesReady(ctx) {
		status = "serving, not ready yet: see the log"
	}
	if ctx.Err() != nil {
		return
	}
	close(s.ready)
	s.notify(daemon.SdNotifyReady + "\nSTATUS=" + status)
}

func (s supervisor) becomesReady(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	for s.admin != "" && !s.answers(ctx, "/readyz") {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// alive notifies the watchdog twice in each of its periods, as long as the server answers.
func (s supervisor) alive(ctx context.Context) {
	period, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		s.log.Warn("watchdog settings unreadable; no keep-alives sent", "err", err)
	}
	if period == 0 {
		return
	}
	for range time.Tick(period / 2) {
		if s.admin == "" || s.answers(ctx, "/healthz") {
			s.notify(daemon.SdNotifyWatchdog)
		}
	}
}

// answers reports whether our own admin listener answers 200.
func (s supervisor) answers(ctx context.Context, path string) bool {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	return healthy(ctx, s.admin+path) == nil
}
