//go:build linux

package fleet

import (
	"context"
	"net/http"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/iconedge/iconedge/loadtest/relay"
)

// An edge is a node that clients send requests to. A load balancer checks its health.
type edge struct {
	node
	region *region
	log    *relay.Path // the network to Redis
	up     atomic.Bool // result of the last health check
}

// Interval and time limit of the load balancer's health checks.
const (
	checkEvery = 250 * time.Millisecond
	checkTime  = 500 * time.Millisecond
)

// watch checks the health of an edge until ctx ends. A single result decides whether the edge gets
// requests.
func (e *edge) watch(ctx context.Context) {
	e.up.Store(true)
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(checkEvery):
		}
		probe, cancel := context.WithTimeout(ctx, checkTime)
		status, _, err := fetch(probe, http.MethodGet, "http://"+e.admin+"/readyz", "")
		cancel()
		e.up.Store(err == nil && status == http.StatusOK)
	}
}

// vanish simulates the loss of the machine: it kills the process, and new connections are refused.
func (e *edge) vanish() {
	e.kept.close()
	e.kill()
}

// appear starts the machine again.
func (e *edge) appear(ctx context.Context) error {
	if err := e.kept.open(); err != nil {
		return err
	}
	return e.start(ctx)
}

// freeze stops the process with SIGSTOP, and thaw continues it.
func (e *edge) freeze() { e.signal(syscall.SIGSTOP) }
func (e *edge) thaw()   { e.signal(syscall.SIGCONT) }
