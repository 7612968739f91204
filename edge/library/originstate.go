package library

import (
	"net/http"
	"sync/atomic"

	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/icon"
)

// An OriginState records whether the origin can answer requests.
type OriginState struct{ reached, unpublished atomic.Bool }

// Reached reports whether the origin has given a response that is no failure.
func (s *OriginState) Reached() bool { return s.reached.Load() }

// Unpublished reports whether the origin declared in its last response that it has no release yet.
func (s *OriginState) Unpublished() bool { return s.unpublished.Load() }

// Record records one of the origin's responses.
func (s *OriginState) Record(a *upstream.Response) {
	s.unpublished.Store(WithoutRelease(a))
	if a.Status < http.StatusInternalServerError && !WithoutRelease(a) {
		s.reached.Store(true)
	}
}

// WithoutRelease reports whether the origin declares in a response that it has no release yet.
func WithoutRelease(a *upstream.Response) bool { return a.Header.Get(icon.FieldReady) == "?0" }
