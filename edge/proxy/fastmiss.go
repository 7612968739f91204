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

	fetch  *collapse.Fetch
	began  bool // the request began it
	came   cache.Generation
	result collapse.Result
}

// Fetch begins to fetch the icon that a request asks for; see h1.Fetcher. It reports false if the
// pipeline has to answer.
func (h *Proxy) Fetch(q *eligible.Request, client interface{ ClientGone() bool }, ready func(func([]byte) []byte, any)) bool {
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
	if h.Options.Cache.Reads(key) {
		return false // an event loop must not block
	}
	if h.Options.Library.Absent(name, q.Now) != nil || h.Options.Cache.IsHitForPass(key, q.Now) {
		return false
	}
	slot, err := h.Options.Origin.limiter.acquire(client, q.Now)
	if err != nil {
		return false
	}
	f, began := h.Options.Cache.Join(q.Now, collapse.Call{
		Key: key, Stored: key, Failures: m.q.passKey(key), Came: came,
		Find:  func() *cache.Entry { return h.lookup(m.q).entry }, // the pipeline decides about it
		Fetch: func() collapse.Result { return h.fetchOnce(m.q, key, nil, h.fetchAndStore) },
	})
	m.fetch, m.began, m.came = f, began, came
	waits := h.Options.Cache.Then(f, key, func(l collapse.Result) {
		h.Options.Origin.limiter.release(slot)
		m.result = l
		ready(h.appendMiss(m), m)
	})
	if !waits {
		h.Options.Origin.limiter.release(slot)
	}
	return waits
}

// take makes the result of a fetch on the fast path that of the request, and returns the state that
// follows it.
func (x *finding) take(h *Proxy, m *fastMiss) state {
	x.forward, x.key, x.came, x.result, x.arrived = cachepolicy.ForwardURIMiss, m.q.key, m.came, m.result, time.Now()
	if m.result.Found {
		x.stored.entry = m.result.Entry
	}
	return afterJoin(nil, m.waited(h), x.q, x.now, x.arrived)
}

func (m *fastMiss) waited(h *Proxy) waited {
	return waited{Result: &m.result, began: m.began, invalidated: h.Options.Cache.InvalidatedSince(m.fetch, m.result.ForOthers(), m.came)}
}

// appendMiss returns the function that appends the response; nil: the pipeline has to answer.
func (h *Proxy) appendMiss(m *fastMiss) func([]byte) []byte {
	l, now := &m.result, time.Now()
	e := l.Entry
	if l.Err != nil || l.Stream != nil || !l.Stored || e.Status != http.StatusOK || e.Head == nil || h.draining.Load() {
		return nil
	}
	switch afterJoin(nil, m.waited(h), m.q, m.arrived, now) {
	case stateFetch:
		now = m.arrived
	case stateCollapsed:
	default:
		return nil
	}
	v, coding := e.Choose(m.accept)
	if len(v.Body) > maxPrebuilt {
		return nil
	}
	t := head{coding: coding, length: len(v.Body), etag: []byte(v.ETag), ranges: coding == entry.Identity, count: &access.Count{}}
	t.status = cachepolicy.CacheStatus{Forward: cachepolicy.ForwardURIMiss, Collapsed: !m.began}
	outcome := exchange.Collapsed
	if m.began {
		outcome = exchange.Miss
		t.status.Stored, t.status.HasTTL, t.status.TTL = true, true, e.Freshness().TTL(now)
	}
	if t.aged = !m.began || e.Policy.AgeAt(now) >= time.Second || e.Freshness().SoftPurged; t.aged {
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
