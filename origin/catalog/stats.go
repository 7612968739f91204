package catalog

import (
	"errors"
	"sync/atomic"
	"time"
)

// Stats holds the state of a catalog and its counts since it was opened. Release is "" if there is
// none.
type Stats struct {
	Release     string
	Created     time.Time
	Packs       int
	Switches    int64  // releases made current, the first included
	Refused     int64  // attempts to open a release that failed
	StoreErrors int64  // failed checks of the store
	Fetched     int64  // bytes copied from the store
	Err         string // the reason why the store is not followed at the moment; "" when it is
}

type counts struct {
	switches, refused, storeErrors, fetched atomic.Int64
	err                                     atomic.Pointer[string]
}

// failed records the result of the last check of the store; nil means success.
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

// Stats returns the current counts.
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
