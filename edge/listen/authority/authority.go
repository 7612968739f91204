// Package authority keeps the certificates of an ACME authority (RFC 8555) at hand and says what
// happens on the way: each exchange with the authority is logged, and failures are counted. It
// orders certificates when the edge starts, not at the first handshake of a client.
package authority

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// An Observer counts what happens between the edge and its authority.
type Observer interface {
	// AuthorityFailed counts an exchange with the authority that failed.
	AuthorityFailed()
	// AuthorityCertificates records how many hosts have no certificate yet, and when the first of
	// the certificates expires; the zero time: there are none.
	AuthorityCertificates(missing int, end time.Time)
}

// Exchanges logs and counts the requests to an authority.
type Exchanges struct {
	Next http.RoundTripper
	Log  *slog.Logger
	Observer
}

// maxAnswer is the size of a response up to which its status is read; others pass unread.
const maxAnswer = 64 << 10

// RoundTrip implements http.RoundTripper.
func (e *Exchanges) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := e.Next.RoundTrip(r)
	if err != nil {
		e.AuthorityFailed()
		e.Log.Error("ACME authority unreachable", "method", r.Method, "url", r.URL.Redacted(), "err", err)
		return resp, err
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return resp, err
	}
	resp.Body = rest{io.MultiReader(bytes.NewReader(body), resp.Body), resp.Body}
	var answer struct {
		Status, Type, Detail string
		Identifier           struct{ Value string }
		Challenges           []struct{ Error struct{ Detail string } }
	}
	json.Unmarshal(body, &answer) // a certificate is no JSON
	for _, c := range answer.Challenges {
		if answer.Detail == "" {
			answer.Detail = c.Error.Detail
		}
	}
	step := []any{"method", r.Method, "path", r.URL.Path, "code", resp.StatusCode}
	for _, said := range []struct{ key, value string }{{"status", answer.Status}, {"host", answer.Identifier.Value},
		{"detail", answer.Detail}} {
		if said.value != "" {
			step = append(step, said.key, said.value)
		}
	}
	// A client gets a new nonce from the refusal of an old one, and sends the request again.
	if (resp.StatusCode >= 400 || answer.Status == "invalid") && !strings.HasSuffix(answer.Type, ":badNonce") {
		e.AuthorityFailed()
		e.Log.Error("ACME request failed", step...)
	} else {
		e.Log.Info("ACME request", step...)
	}
	return resp, nil
}

type rest struct {
	io.Reader
	io.Closer
}

// Times between two orders for a host after a failure. Let's Encrypt allows five failures an hour.
const (
	firstRetry = 5 * time.Minute
	lastRetry  = time.Hour
	look       = 10 * time.Second // between two looks at the certificates
)

// A Keeper orders the certificates of hosts.
type Keeper struct {
	Hosts func() []string // those that have a certificate of their own by ACME
	// Get returns the certificate for a handshake. It orders one if there is none.
	Get func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// Lock keeps other edges with the same folder from ordering the certificate of a host at the
	// same time, because each would answer the authority with a challenge of its own order. It
	// reports whether this edge may order now. nil: there are no others.
	Lock func(host string) (unlock func(), ok bool)
	Log  *slog.Logger
	Observer

	mu    sync.Mutex
	hosts map[string]*host
}

// A host is the state of the certificate of one host.
type host struct {
	ordered bool // an order is under way
	known   bool // there is a certificate
	end     time.Time
	next    time.Time // of the next order after a failure
	wait    time.Duration
}

// Run orders the certificates that are missing, and records the state, until ctx ends.
func (k *Keeper) Run(ctx context.Context) {
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		for _, name := range k.due(time.Now()) {
			go k.order(name)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// due returns the hosts whose certificate is to be looked at now, and marks them as ordered.
func (k *Keeper) due(now time.Time) (due []string) {
	hosts := k.Hosts()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.hosts == nil {
		k.hosts = map[string]*host{}
	}
	for name := range k.hosts {
		if !slices.Contains(hosts, name) {
			delete(k.hosts, name)
		}
	}
	for _, name := range hosts {
		h := k.hosts[name]
		if h == nil {
			h = &host{}
			k.hosts[name] = h
			k.Log.Info("ACME certificate wanted", "host", name)
		}
		if !h.ordered && !now.Before(h.next) {
			h.ordered = true
			due = append(due, name)
		}
	}
	k.record()
	return due
}

// order gets the certificate of a host. The hello is that of a client with ECDSA, like every
// browser's.
func (k *Keeper) order(name string) {
	if k.Lock != nil {
		unlock, ok := k.Lock(name)
		if !ok { // another edge orders it, and this one finds it in the folder then
			k.postpone(name)
			return
		}
		defer unlock()
	}
	cert, err := k.Get(&tls.ClientHelloInfo{ServerName: name, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256}})
	k.ordered(name, cert, err, time.Now())
}

// postpone leaves an order for the next look.
func (k *Keeper) postpone(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if h := k.hosts[name]; h != nil {
		h.ordered = false
	}
}

// ordered records the result of an order.
func (k *Keeper) ordered(name string, cert *tls.Certificate, err error, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	h := k.hosts[name]
	if h == nil {
		return // the host was removed meanwhile
	}
	h.ordered = false
	if err != nil {
		h.wait = min(max(2*h.wait, firstRetry), lastRetry)
		h.next = now.Add(h.wait)
		k.Log.Error("ACME certificate missing", "host", name, "retry", h.wait, "err", err)
	} else {
		end := time.Time{}
		if cert.Leaf != nil {
			end = cert.Leaf.NotAfter
		}
		if !h.known || !end.Equal(h.end) {
			k.Log.Info("ACME certificate in use", "host", name, "end", end)
		}
		*h = host{known: true, end: end}
	}
	k.record()
}

// record hands the state to the observer.
func (k *Keeper) record() {
	missing, end := 0, time.Time{}
	for _, h := range k.hosts {
		if !h.known {
			missing++
		} else if end.IsZero() || h.end.Before(end) {
			end = h.end
		}
	}
	k.AuthorityCertificates(missing, end)
}

// Missing returns the hosts that have no certificate yet.
func (k *Keeper) Missing() (names []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for name, h := range k.hosts {
		if !h.known {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
