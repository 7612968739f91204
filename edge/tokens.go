package edge

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/problem"
)

const (
	licenseFresh  = 30 * time.Second       // a good verdict is used for so long without asking; the origin's own may be as old, and a revocation counts within a minute
	licenseUsable = 60 * time.Second       // a bad one, and a good one where the origin can't be asked
	licenseWait   = 250 * time.Millisecond // for the origin, where there is something to go on with
)

// A license is what the origin said of a token, and when it was asked.
type license struct {
	sum   [sha256.Size]byte
	plan  string
	valid bool
	at    time.Time
}

func (l *license) fresh(now time.Time) bool {
	return l != nil && now.Sub(l.at) < licenseFresh || l.usable(now) && !l.valid
}

func (l *license) usable(now time.Time) bool { return l != nil && now.Sub(l.at) < licenseUsable }

// tokens knows which licence tokens count. Verdicts are kept by the SHA-256 of their tokens and never the tokens themselves. Good
// ones have places of their own, so that nobody can push them out with tokens that he makes up.
type tokens struct {
	ask       func(token string) (plan string, valid bool, err error)
	good, bad [1 << 12]atomic.Pointer[license]

	mu      sync.Mutex
	flights map[[sha256.Size]byte]*tokenFlight
}

// A tokenFlight is one question to the origin, for all who ask the same meanwhile.
type tokenFlight struct {
	began   time.Time
	done    chan struct{}
	license *license
	err     error
}

func newTokens(ask func(token string) (plan string, valid bool, err error)) *tokens {
	return &tokens{ask: ask, flights: map[[sha256.Size]byte]*tokenFlight{}}
}

// verify is the verdict on a well-formed token. Before the origin is asked about one that it has not vouched for, guess may object:
// its error is returned. Other errors are the origin's, after as much patience.
func (t *tokens) verify(token string, now time.Time, patience time.Duration, guess func() error) (*license, error) {
	sum := sha256.Sum256([]byte(token))
	known, flight, err := t.begin(sum, token, now, guess)
	if flight == nil {
		return known, err
	}
	usable := known.usable(now)
	if usable {
		patience = licenseWait - now.Sub(flight.began) // once for all who come while it is under way
	}
	wait := time.NewTimer(patience)
	defer wait.Stop()
	select {
	case <-flight.done:
		if flight.err == nil || !usable {
			return flight.license, flight.err
		}
	case <-wait.C:
		if !usable {
			return nil, late()
		}
	}
	return known, nil
}

// late is the answer where the origin takes longer than anybody would wait.
func late() *problem.Problem {
	return problem.New(http.StatusGatewayTimeout, "the origin did not answer in time; trying again in a moment may help").With("Retry-After", "1")
}

// begin is what is known of a token, where that will do, or a flight that finds out. While guess makes up its mind, which may take a question to
// Redis, others are not held up; nor is it asked about a flight that is under way.
func (t *tokens) begin(sum [sha256.Size]byte, token string, now time.Time, guess func() error) (*license, *tokenFlight, error) {
	if known := t.known(sum); known.fresh(now) {
		return known, nil, nil
	}
	known, f := t.join(sum)
	if f != nil || known.fresh(now) {
		return known, f, nil
	}
	if known == nil || !known.valid {
		if err := guess(); err != nil {
			return nil, nil, err
		}
	}
	known, f = t.launch(sum, token, now)
	return known, f, nil
}

// join is what is known of a token, and the flight that is under way, if there is one.
func (t *tokens) join(sum [sha256.Size]byte) (*license, *tokenFlight) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.known(sum), t.flights[sum]
}

// launch is the same, with a flight in any case, unless what is known will do: it may have landed meanwhile.
func (t *tokens) launch(sum [sha256.Size]byte, token string, now time.Time) (*license, *tokenFlight) {
	t.mu.Lock()
	defer t.mu.Unlock()
	known, f := t.known(sum), t.flights[sum]
	if f == nil && !known.fresh(now) {
		f = &tokenFlight{began: now, done: make(chan struct{})}
		t.flights[sum] = f
		go t.fly(f, sum, token)
	}
	return known, f
}

func (t *tokens) fly(f *tokenFlight, sum [sha256.Size]byte, token string) {
	plan, valid, err := t.ask(token)
	t.mu.Lock()
	defer t.mu.Unlock()
	defer close(f.done)
	delete(t.flights, sum)
	if f.err = err; err == nil {
		f.license = &license{sum, plan, valid, f.began}
		t.keep(f.license)
	}
}

// keep remembers a verdict. A bad one ends a good one.
func (t *tokens) keep(l *license) {
	good := place(t.good[:], l.sum[:])
	if l.valid {
		good.Store(l)
		return
	}
	if good.Load().of(l.sum) {
		good.Store(nil)
	}
	place(t.bad[:], l.sum[:]).Store(l)
}

// known is what the origin said last, however long ago; nil: nothing, or it is forgotten.
func (t *tokens) known(sum [sha256.Size]byte) *license {
	for _, places := range [][]atomic.Pointer[license]{t.good[:], t.bad[:]} {
		if l := place(places, sum[:]).Load(); l.of(sum) {
			return l
		}
	}
	return nil
}

// of reports whether l is of the token with that hash, in a time that tells nothing of either.
func (l *license) of(sum [sha256.Size]byte) bool {
	return l != nil && subtle.ConstantTimeCompare(l.sum[:], sum[:]) == 1
}

// askToken asks the origin what a token is worth. Its errors are problems: whatever else an origin answers is no verdict.
func (h *handler) askToken(token string) (plan string, valid bool, err error) {
	body, err := json.Marshal(map[string]string{"token": token})
	if err != nil {
		return "", false, err
	}
	header := http.Header{"Accept-Encoding": {"identity"}, "Content-Type": {"application/json"}}
	a, err := h.fetchOwn(nil, upstream.Request{Method: http.MethodPost, Target: verifyPath, Header: header, Body: body, Proof: h.amongTiers(!h.proxyAll), Exact: true})
	if err != nil {
		return "", false, err
	}
	var said struct {
		icon.VerifyAnswer
		Valid *bool `json:"valid"`
	}
	if a.Status != http.StatusOK || json.Unmarshal(a.body, &said) != nil || said.Valid == nil {
		return "", false, failed(a.Answer)
	}
	return said.Plan, *said.Valid, nil
}
