package cachepolicy

import (
	"net/http"
	"time"
)

// MaxStaleWhenLost is how long after its freshness lifetime a response without stale-if-error and
// s-maxage may be served while its origin does not respond.
const MaxStaleWhenLost = 24 * time.Hour

// An Entry has the parts of a stored response that decide whether it may be reused. It is small and
// holds no header fields.
type Entry struct {
	Stored time.Time // when the response arrived, or was last confirmed
	// Age is the corrected_initial_age at that time (RFC 9111, section 4.2.3).
	Age                  time.Duration
	Lifetime             time.Duration // freshness lifetime, from an age of zero
	StaleWhileRevalidate time.Duration // RFC 5861, section 3, from the end of Lifetime
	StaleIfError         time.Duration // RFC 5861, section 4, from the end of Lifetime
	// StaleWhenLost applies while the origin is disconnected (RFC 9111, section 4.2.4), from the
	// end of Lifetime.
	StaleWhenLost time.Duration
	// MustRevalidate forbids stale use: must-revalidate, proxy-revalidate or s-maxage.
	MustRevalidate bool
	NoCache        bool // never serve without revalidation
	Heuristic      bool // no explicit freshness lifetime (RFC 9111, section 4.2.2)
	SetsCookie     bool // the response has Set-Cookie
	SoftPurged     bool // set by Expired: see AgeToSend
}

// NewEntry returns the Entry of a response to a request that was sent at requestTime; the response
// arrived at responseTime.
func NewEntry(status int, h http.Header, requestTime, responseTime time.Time) Entry {
	return Policy{}.NewEntry(status, h, requestTime, responseTime)
}

// NewEntry returns the Entry of a response as the function NewEntry does, by the policy of its
// request.
func (p Policy) NewEntry(status int, h http.Header, requestTime, responseTime time.Time) Entry {
	d, targeted, set := p.directives(status, h)
	freshFor, _ := p.lifetime(d, targeted, status, h, responseTime)
	e := Entry{
		Stored:     responseTime,
		Age:        initialAge(h, requestTime, responseTime),
		Lifetime:   freshFor,
		NoCache:    d.NoCache,
		Heuristic:  heuristic(d, targeted, h),
		SetsCookie: setsCookie(h),
	}
	if set {
		e.Lifetime += e.Age // the operator's lifetime begins now
	}
	p.stale(&e, d)
	return e
}

// NewEntry returns the Entry of a response to r, by its policy. With SafeCookies a response to a
// request with Cookie that was never fresh is not served while the origin is lost, unless its
// origin says so: the origin has not said that it is the same for every user.
func (r Request) NewEntry(status int, h http.Header, requestTime, responseTime time.Time) Entry {
	r.Policy = r.lasting(status, h, responseTime)
	e := r.Policy.NewEntry(status, h, requestTime, responseTime)
	if r.Policy.SafeCookies && r.Cookie && e.TTL(responseTime) <= 0 {
		if d, _, _ := r.Policy.directives(status, h); !d.Public {
			e.StaleWhenLost = e.StaleIfError
		}
	}
	return e
}

// AgeAt returns the entry's current age: the value of the Age field, with its fraction of a second.
func (e Entry) AgeAt(now time.Time) time.Duration { return e.Age + max(now.Sub(e.Stored), 0) }

// TTL returns the remaining freshness lifetime; if negative, for how long the entry has been stale.
func (e Entry) TTL(now time.Time) time.Duration { return e.Lifetime - e.AgeAt(now) }

// Fresh reports whether Decide returns Fresh for a request without directives and with the zero
// Policy.
func (e Entry) Fresh(now time.Time) bool { return !e.NoCache && e.TTL(now) > 0 }

// Expired returns the entry as a soft purge leaves it. Its freshness lifetime ends now at the
// latest, and the periods in which it may be served stale begin then. An expired entry is never
// usable for longer than the original.
func (e Entry) Expired(now time.Time) Entry {
	e.Lifetime, e.SoftPurged = min(e.Lifetime, e.AgeAt(now)), true
	return e
}

// A Verdict says how a cache may use a stored response.
type Verdict uint8

const (
	// Revalidate means to contact the origin first, and if that fails, to see MayServeStale.
	Revalidate           Verdict = iota
	StaleWhileRevalidate         // serve it, and revalidate it in the background
	Fresh                        // serve it
)

var verdicts = [...]string{"revalidate", "stale while revalidate", "fresh"}

func (v Verdict) String() string { return verdicts[v] }

// Decide returns the Verdict on an entry for the directives and the policy of a request (RFC 9111,
// sections 4 and 5.2.1; RFC 5861). The verdict is Fresh if the freshness lifetime exceeds the age
// (section 4.2), or if the client accepts a stale response and the response does not forbid that. A
// request can shorten the periods of RFC 5861, but not extend them.
func Decide(e Entry, r Request, now time.Time) Verdict {
	req, late := &r.Directives, -e.TTL(now)
	switch {
	case !Selectable(e, r), e.NoCache, rejects(e, req, now):
		return Revalidate
	case late < 0:
		return Fresh
	case e.MustRevalidate:
		return Revalidate // section 4.2.4: an explicit directive forbids stale responses
	case req.HasMaxStale && late <= req.MaxStale:
		return Fresh
	case limitsStaleness(req):
		return Revalidate
	case late < e.StaleWhileRevalidate:
		return StaleWhileRevalidate
	}
	return Revalidate
}

// rejects reports whether the request rejects a stored response of that age or remaining freshness
// lifetime (RFC 9111, sections 5.2.1.1, 5.2.1.3 and 5.2.1.4).
func rejects(e Entry, req *Directives, now time.Time) bool {
	return req.NoCache ||
		req.HasMaxAge && e.AgeAt(now) > req.MaxAge ||
		req.HasMinFresh && e.TTL(now) < req.MinFresh
}

// limitsStaleness reports whether the request itself limits staleness: max-age without max-stale
// accepts no stale response, and max-stale no staler one (RFC 9111, sections 5.2.1.1 and 5.2.1.2).
func limitsStaleness(req *Directives) bool { return req.HasMaxAge || req.HasMaxStale }

// A Failure is the way in which the origin failed.
type Failure uint8

const (
	FailureStatus       Failure = iota // 500, 502, 503 or 504 (RFC 5861, section 4)
	FailureDisconnected                // no complete response arrived
)

// MayServeStale reports whether the entry may answer a request after its origin failed. It may if
// stale-if-error of the response or of the request allows it (RFC 5861, section 4), or if the
// origin is disconnected and no directive forbids it (RFC 9111, section 4.2.4). A request never
// gets an entry that its directives reject, be it fresh or stale.
func MayServeStale(e Entry, r Request, f Failure, now time.Time) bool {
	req, late := &r.Directives, -e.TTL(now)
	switch {
	case !Selectable(e, r), e.NoCache, e.MustRevalidate && late >= 0, rejects(e, req, now):
		return false
	case late < req.StaleIfError, req.HasMaxStale && late <= req.MaxStale:
		return true // the client accepts it
	case late >= 0 && limitsStaleness(req):
		return false
	case f == FailureDisconnected && late < e.StaleWhenLost:
		return true
	}
	return late < e.StaleIfError
}
