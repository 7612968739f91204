package signon

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/iconedge/iconedge/config/rules"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/internal/guesses"
	"github.com/iconedge/iconedge/internal/problem"
)

const (
	// maxRefusal is the length of the longest refusal of a service, in bytes.
	maxRefusal = 1 << 20
	// maxWaiting is how many requests may wait for a service at a time. More are refused at once,
	// so that a service that hangs takes no more memory.
	maxWaiting = 4096
	// maxPasses bounds the decisions in memory, in each of two generations, and maxIdentity the
	// bytes of each, so that they take at most 16 MiB.
	maxPasses, maxIdentity = 4096, 2048
)

// errBusy reports that too many requests wait for a service.
var errBusy = errors.New("too many requests wait for the service of sign-on")

// A forward asks a service about each request.
type forward struct {
	Options
	target     string
	patience   upstream.Patience
	cache      time.Duration
	anyAddress bool

	waiting atomic.Int64
	flights singleflight.Group // by key
	secret  [sha256.Size]byte  // of the keys, because a plain hash would help to find a password
	mu      sync.Mutex
	passes  *guesses.Memory[guesses.Key, pass]
}

// A pass is the decision of a service to let requests pass.
type pass struct {
	identity http.Header
	until    time.Time
}

// A decision is that of a service about one request.
type decision struct {
	rules.Verdict
	result string
}

func newForward(o Options) *forward {
	c := o.SignOn.Forward
	f := &forward{Options: o, anyAddress: c.AnyAddress, passes: guesses.NewMemory[guesses.Key, pass](maxPasses)}
	_, f.target, _ = c.Split() // the check of the file has refused wrong ones
	timeout := time.Duration(*c.Timeout)
	f.patience = upstream.Patience{FirstByte: timeout, Idle: timeout, Whole: timeout}
	if c.Cache != nil {
		f.cache = time.Duration(*c.Cache)
	}
	rand.Read(f.secret[:]) // never fails
	return f
}

// Check asks the service. Requests with the same credentials share a decision that lets them pass,
// while it is made, and for the time that the operator gives. Each gets a refusal of its own, which
// may have cookies or a state for one client. So does a request without credentials.
func (f *forward) Check(q *Request) rules.Verdict {
	sub := f.request(q)
	d := f.decide(q, sub)
	f.Observer.SignedOn("forward", d.result)
	return d.Verdict
}

func (f *forward) decide(q *Request, sub upstream.Request) decision {
	credentials := len(sub.Header["Cookie"]) > 0 || len(sub.Header["Authorization"]) > 0
	var key guesses.Key
	if credentials {
		key = f.key(q, sub.Header)
		if p, ok := f.recall(key, q.Now); ok {
			return decision{rules.Verdict{Identity: p.identity}, Recalled}
		}
	}
	defer f.waiting.Add(-1)
	switch {
	case f.waiting.Add(1) > maxWaiting:
		return decision{failed(errBusy), Failed}
	case !credentials:
		return f.ask(sub)
	}
	first := false
	shared, _, _ := f.flights.Do(string(key[:]), func() (any, error) {
		first = true
		d := f.ask(sub)
		if d.result == Passed {
			f.remember(key, pass{d.Identity, q.Now.Add(f.cache)})
		}
		return d, nil
	})
	d := shared.(decision)
	switch {
	case first || d.result == Failed:
	case d.result == Refused:
		return f.ask(sub)
	default:
		d.result = Recalled
	}
	return d
}

// about are fields about the body, the form or the age of the response to the client's own request.
// The service gets no body, and answers another request.
var about = []string{"Content-Length", "Content-Type", "Content-Encoding", "Content-Language", "Content-Location",
	"Content-Range", "Content-Disposition", "Content-Md5", "Content-Digest", "Repr-Digest", "Digest", "Expect", "Range", "If-Range",
	"If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "Surrogate-Capability", "Available-Dictionary"}

const (
	fieldMethod = "X-Forwarded-Method"
	fieldURI    = "X-Forwarded-Uri"
)

// passed are fields that the edge writes itself, in place of the client's.
var passed = map[string]bool{fieldMethod: true, fieldURI: true}

// request returns the question about a request: a GET with the fields of the client, as an origin
// gets them.
func (f *forward) request(q *Request) upstream.Request {
	sub := upstream.Request{Method: http.MethodGet, Target: f.target, Forwarded: q.Forwarded, Patience: &f.patience,
		PassedFields: passed, Header: make(http.Header, len(q.Header)+2)}
	maps.Copy(sub.Header, q.Header)
	for _, name := range about {
		delete(sub.Header, name)
	}
	sub.Header = sub.Fields() // without those that Connection names
	sub.Header[fieldMethod], sub.Header[fieldURI] = []string{q.Method}, []string{q.Target}
	return sub
}

// ask asks the service.
func (f *forward) ask(sub upstream.Request) decision {
	a, err := f.Client.Do(f.Life, sub)
	var body []byte
	if err == nil {
		body, err = a.Whole(maxRefusal)
	}
	switch {
	case errors.Is(err, upstream.ErrRequest):
		p := problem.New(http.StatusBadRequest, "an address or a field of the request has characters that it can't have").Because(err)
		return decision{rules.Verdict{Refusal: &rules.Answer{Err: p, Denied: true}}, Refused}
	case err != nil:
		return decision{failed(err), Failed}
	case a.Status >= 200 && a.Status < 300:
		v := rules.Verdict{Identity: http.Header{}}
		for _, name := range f.SignOn.Identity() {
			if lines := a.Header[name]; len(lines) > 0 {
				v.Identity[name] = lines
			}
		}
		return decision{v, Passed}
	}
	return decision{rules.Verdict{Refusal: refusal(a, body)}, Refused}
}

// refusal makes the response of the service that of the edge. No cache stores it unless it says so,
// because a request of somebody else has the same address.
func refusal(a *upstream.Response, body []byte) *rules.Answer {
	for _, name := range []string{"Content-Length", "Date", "Age", "Alt-Svc", "Accept-Ranges", "Trailer"} {
		delete(a.Header, name)
	}
	if len(a.Header["Cache-Control"]) == 0 {
		a.Header["Cache-Control"] = []string{"no-store"}
	}
	return &rules.Answer{Status: a.Status, Body: body, Fields: a.Header, Denied: true}
}

// indifferent are fields on which no decision depends that lets a request pass. All others are a
// part of the key, because a service may take any of them for credentials.
var indifferent = map[string]bool{"Accept": true, "Accept-Encoding": true, "Accept-Language": true, "Cache-Control": true,
	"Pragma": true, "Priority": true, "Referer": true, "Sec-Fetch-Dest": true, "Sec-Fetch-Mode": true, "Sec-Fetch-Site": true,
	"Sec-Fetch-User": true, "Upgrade-Insecure-Requests": true, "Traceparent": true, "Tracestate": true, "Dnt": true,
	"Sec-Purpose": true, fieldMethod: true, fieldURI: true}

// key returns what a decision depends on: the client, the host, the credentials and, unless the
// operator says that these decide alone, method and address.
func (f *forward) key(q *Request, h http.Header) (key guesses.Key) {
	mac := hmac.New(sha256.New, f.secret[:])
	parts(mac, q.Client.String(), q.Forwarded.Scheme, q.Forwarded.Host)
	if !f.anyAddress {
		parts(mac, q.Method, q.Target)
	}
	for _, name := range slices.Sorted(maps.Keys(h)) {
		if !indifferent[name] {
			parts(mac, name)
			parts(mac, h[name]...)
		}
	}
	mac.Sum(key[:0])
	return key
}

// parts hashes texts, each with its length, so that no two lists have the same hash.
func parts(to hash.Hash, texts ...string) {
	to.Write(binary.BigEndian.AppendUint64(nil, uint64(len(texts))))
	for _, text := range texts {
		to.Write(binary.BigEndian.AppendUint64(nil, uint64(len(text))))
		to.Write([]byte(text))
	}
}

func (f *forward) recall(key guesses.Key, now time.Time) (pass, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p, ok := f.passes.Get(key)
	return p, ok && now.Before(p.until)
}

func (f *forward) remember(key guesses.Key, p pass) {
	size := 0
	for _, lines := range p.identity {
		for _, line := range lines {
			size += len(line)
		}
	}
	if f.cache <= 0 || size > maxIdentity {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.passes.Put(key, p)
}
