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

// An edge is a node that clients ask, behind a load balancer that watches it.
type edge struct {
	node
	region *region
	log    *relay.Path // its way to Redis
	up     atomic.Bool // as far as the load balancer knows
}

// The load balancer asks each edge so often whether it is ready, and gives it so long to say so.
const (
	checkEvery = 250 * time.Millisecond
	checkTime  = 500 * time.Millisecond
)

// watch looks after an edge until ctx ends. One check that fails is enough to send it nothing, one that does not to send it its share.
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

// vanish is the end of the machine: its process is killed, and who connects is refused.
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

// freeze stops the process where it stands, and thaw lets it go on.
func (e *edge) freeze() { e.signal(syscall.SIGSTOP) }
func (e *edge) thaw()   { e.signal(syscall.SIGCONT) }
