package own

import (
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/access"
	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/clock"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/fetch"
	"github.com/iconedge/iconedge/edge/hit"
	"github.com/iconedge/iconedge/edge/library"
	"github.com/iconedge/iconedge/edge/observe"
	"github.com/iconedge/iconedge/edge/pipeline"
	"github.com/iconedge/iconedge/edge/request"
	"github.com/iconedge/iconedge/edge/respond"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/icon"
)

// MissOptions has the components of misses.
type MissOptions struct {
	Redirects   bool                           // requests without TLS are redirected
	AltSvc      func(client netip.Addr) string // value of Alt-Svc (RFC 7838); empty: none
	WaitTimeout time.Duration
	Clock       clock.Clock
	Clients     access.Clients
	Admission   *access.Admission
	Library     *library.Library
	Metrics     *observe.Metrics
	Reports     observe.Reports
}

// Misses answers the misses of icons on the event loops of HTTP/1.1.
type Misses struct {
	MissOptions
	Finder *fetch.Finder
	Hits   *hit.Path
}

// A fastMiss is a request for an icon that is not stored, on the hit path. The collapsed fetch is
// that of the pipeline, and so are the bytes of the response; where another response than the icon
// is due, the pipeline answers.
type fastMiss struct {
	*fetch.Begun
	h       *Misses
	accept  string
	client  netip.Addr
	secure  bool
	arrived time.Time
	top     func(now time.Time, status, body int) // counts the response; nil: not in the sample
	ready   func(append func([]byte) []byte, result any)
}

// Fetch begins to fetch the icon that a request asks for; see h1.Fetcher. It returns nil if the
// pipeline has to answer.
func (h *Misses) Fetch(q *request.Request, conn interface{ ClientGone() bool }, ready func(func([]byte) []byte, any)) request.Pending {
	if h.Hits.Draining() || h.Redirects && !q.Secure {
		return nil
	}
	if h.Reports.Tracer != nil || h.Reports.Lines != nil || h.Reports.IDs.On() {
		return nil
	}
	if q.Tier || q.Loop || q.Head || q.Authorization || q.Conditions.Any() {
		return nil
	}
	key := string(q.Target)
	if !routes.IsPlainIcon(key) || !h.Hits.KnowsIcons(q.Host) || h.Library.Known() == "" || h.Admission.Counts(routes.ClassCDN) {
		return nil
	}
	if q.Fields.Line("cache-control", 0) != nil || q.Fields.Line("traceparent", 0) != nil {
		return nil
	}
	client := h.Clients.OfEligible(q)
	if _, _, ok := h.Admission.AdmitFast(client, h.Clock.At(q.Now), nil, routes.ClassCDN); !ok {
		return nil
	}
	name := strings.TrimSuffix(key[1:], ".svg")
	// Another path of this form, and a name that the origin lacks, are for the pipeline.
	if ref, err := icon.ParseRef(name); err != nil || !h.Library.Has(ref) {
		return nil
	}
	m := &fastMiss{h: h, accept: string(q.AcceptEncoding), client: client, secure: q.Secure, arrived: q.Now, ready: ready}
	if m.Begun = h.Finder.BeginIcon(key, name, h.Clock.At(q.Now), conn); m.Begun == nil {
		return nil
	}
	m.top = h.Reports.CountLater(q)
	m.Begun.Then(m.end)
	return m
}

// Due returns until when the client waits, as in the pipeline.
func (m *fastMiss) Due() time.Time { return m.arrived.Add(m.h.WaitTimeout) }

// Expire ends the wait. The fetch goes on, and stores its response.
func (m *fastMiss) Expire() { m.Begun.Expire() }

func (m *fastMiss) end() { m.ready(m.h.appendMiss(m), m.Begun) }

// appendMiss returns the function that appends the response; nil: the pipeline has to answer.
func (h *Misses) appendMiss(m *fastMiss) func([]byte) []byte {
	e, now, ok := m.Begun.Icon(h.Clock.Now())
	if !ok || e.Head == nil || h.Hits.Draining() {
		return nil
	}
	v, coding := e.Choose(m.accept)
	if len(v.Body) > hit.MaxPrebuilt {
		return nil
	}
	t := respond.Head{Coding: coding, Length: len(v.Body), ETag: []byte(v.ETag), Ranges: coding == entry.Identity, Count: &access.Count{}}
	t.Status = cachepolicy.CacheStatus{Forward: cachepolicy.ForwardURIMiss, Collapsed: !m.Began}
	outcome := exchange.Collapsed
	if m.Began {
		outcome = exchange.Miss
		t.Status.Stored, t.Status.HasTTL, t.Status.TTL = true, true, e.Freshness().TTL(now)
	}
	if t.Aged = !m.Began || e.Policy.AgeAt(now) >= time.Second || e.Freshness().SoftPurged; t.Aged {
		t.Age = pipeline.AgeToSend(e, now)
	}
	if m.secure {
		t.AltSvc = h.AltSvc(m.client)
	}
	return func(dst []byte) []byte {
		w := respond.Writer{Prebuilt: e.Head}
		dst = append(w.Append(append(dst, "HTTP/1.1 200 OK\r\n"...), &t), "\r\n"...)
		h.Metrics.Answered(exchange.H1, routes.CDN, outcome, http.StatusOK, time.Since(m.arrived)).Send(len(v.Body))
		if m.top != nil {
			m.top(now, http.StatusOK, len(v.Body))
		}
		return append(dst, v.Body...)
	}
}
