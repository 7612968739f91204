package proxy

import (
	"net/http"
	"strings"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/access"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/cache/collapse"
	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/eligible"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/routes"
)

// A fastMiss is a request for an icon that is not stored, on the fast path. The collapsed fetch is
// that of the pipeline, and so are the bytes of the response; where another response than the icon
// is due, the pipeline answers.
type fastMiss struct {
	q       *fetchRequest
	accept  string
	secure  bool
	arrived time.Time
}

// Fetch begins to fetch the icon that a request asks for; see h1.Fetcher. It reports false if the
// pipeline has to answer.
func (h *Proxy) Fetch(q *eligible.Request, client interface{ ClientGone() bool }, ready func(func([]byte) []byte)) bool {
	sites := h.current.Load()
	if h.draining.Load() || h.Options.Redirect != "" && !q.Secure || q.Tier || q.IfNoneMatch != nil || sites.Icons == nil || sites.Icons.Name != "" || h.Options.Reports.Tracer != nil || h.Options.Reports.Lines != nil {
		return false
	}
	if !isPlainIcon(string(q.Target)) || !sites.seenHosts.has(q.Host) || h.Options.Library.Known() == "" ||
		q.Fields.Line("cache-control", 0) != nil || q.Fields.Line("traceparent", 0) != nil || h.Options.Admission.Counts(routes.ClassCDN) {
		return false
	}
	if _, ok := h.Options.Admission.AdmitFast(q, routes.ClassCDN); !ok {
		return false
	}
	m := &fastMiss{accept: string(q.AcceptEncoding), secure: q.Secure, arrived: q.Now}
	key := string(q.Target)
	name := strings.TrimSuffix(key[1:], ".svg")
	m.q = &fetchRequest{key: key, target: key, own: true, sendsTierSecret: h.Options.Library.MayGetSecret(true), name: name, header: h.fieldsFor(key), policy: cachepolicy.Request{Method: http.MethodGet, Target: key}}
	came := h.Options.Cache.Generation()
	if s := h.lookup(m.q); s.entry != nil || h.Options.Library.Absent(name, q.Now) != nil || h.Options.Cache.IsHitForPass(key, q.Now) {
		return false
	}
	slot, err := h.Options.Origin.limiter.acquire(client, q.Now)
	if err != nil {
		return false
	}
	f, began := h.join(m.q, nil, key, came, q.Now, h.fetchAndStore, false)
	waits := h.Options.Cache.Then(f, key, func(l collapse.Result) {
		h.Options.Origin.limiter.release(slot)
		ready(h.fastMissed(m, f, &l, began, came))
	})
	if !waits {
		h.Options.Origin.limiter.release(slot)
	}
	return waits
}

// fastMissed returns the function that appends the response; nil: the pipeline has to answer.
func (h *Proxy) fastMissed(m *fastMiss, f *collapse.Fetch, l *collapse.Result, began bool, came cache.Generation) func([]byte) []byte {
	e, now := l.Entry, time.Now()
	if l.Err != nil || l.Stream != nil || !l.Stored || e.Status != http.StatusOK || e.Head == nil || h.draining.Load() {
		return nil
	}
	if began {
		now = m.arrived
	} else if h.Options.Cache.InvalidatedSince(f, e, came) || !cachepolicy.MayShare(l.Collapsed(), m.q.policy, nil, now) {
		return nil
	}
	v, coding := e.Choose(m.accept)
	if len(v.Body) > maxPrebuilt {
		return nil
	}
	t := head{coding: coding, length: len(v.Body), etag: []byte(v.ETag), ranges: coding == entry.Identity, count: &access.Count{}}
	t.status = cachepolicy.CacheStatus{Forward: cachepolicy.ForwardURIMiss, Collapsed: !began}
	outcome := exchange.Collapsed
	if began {
		outcome = exchange.Miss
		t.status.Stored, t.status.HasTTL, t.status.TTL = true, true, e.Freshness().TTL(now)
	}
	if t.aged = !began || e.Policy.AgeAt(now) >= time.Second || e.Freshness().SoftPurged; t.aged {
		t.age = ageToSend(e, now)
	}
	if m.secure {
		t.altSvc = h.Options.AltSvc
	}
	return func(dst []byte) []byte {
		w := headWriter{head: e.Head}
		dst = append(w.append(append(dst, "HTTP/1.1 200 OK\r\n"...), &t), "\r\n"...)
		h.Options.Metrics.Answered(exchange.H1, routes.CDN, outcome, http.StatusOK, time.Since(m.arrived)).Send(len(v.Body))
		return append(dst, v.Body...)
	}
}
