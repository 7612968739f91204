package catalog

import (
	"errors"
	"sync/atomic"
	"time"
)

// Stats is what a catalog has counted since it was opened, and what it serves. Release is "" where there is none.
type Stats struct {
	Release     string
	Created     time.Time
	Packs       int
	Switches    int64  // releases made current, the first included
	Refused     int64  // tries at a release that stayed refused
	StoreErrors int64  // failed looks at the store
	Fetched     int64  // bytes copied from the store
	Err         string // why the store is not followed at the moment; "" when it is
}

type counts struct {
	switches, refused, storeErrors, fetched atomic.Int64
	err                                     atomic.Pointer[string]
}

// failed notes how the last look at the store went.
func (n *counts) failed(err error) {
	if err == nil {
		n.err.Store(nil)
		return
	}
	if !errors.Is(err, errNothingPublished) {
		n.storeErrors.Add(1)
	}
	s := err.Error()
	n.err.Store(&s)
}

func (n *counts) lastError() string {
	if s := n.err.Load(); s != nil {
		return *s
	}
	return ""
}

// Stats tells what was counted.
func (c *Catalog) Stats() Stats {
	s := Stats{
		Switches: c.counts.switches.Load(), Refused: c.counts.refused.Load(), StoreErrors: c.counts.storeErrors.Load(),
		Fetched: c.counts.fetched.Load(), Err: c.counts.lastError(),
	}
	if r := c.Current(); r != nil {
		s.Release, s.Created, s.Packs = r.ID(), r.Created(), len(r.packs)
		r.Done()
	}
	return s
}
