package cachepolicy

import (
	"net/http"
	"time"
)

// MaxStaleWhenLost is how long after its life an answer may be served that says nothing of stale-if-error, while its origin
// gives no answer at all.
const MaxStaleWhenLost = 24 * time.Hour

// An Entry is what is kept of a stored answer to judge later whether it may be used again: small, and free of header fields.
type Entry struct {
	Stored               time.Time     // when the answer came, or was last confirmed
	Age                  time.Duration // at that time: corrected_initial_age (RFC 9111, section 4.2.3)
	Lifetime             time.Duration // how long it is fresh, from an age of zero
	StaleWhileRevalidate time.Duration // RFC 5861, section 3, from the end of Lifetime
	StaleIfError         time.Duration // RFC 5861, section 4, from the end of Lifetime
	StaleWhenLost        time.Duration // while the origin is disconnected (RFC 9111, section 4.2.4), from the end of Lifetime
	MustRevalidate       bool          // never stale: must-revalidate, proxy-revalidate, s-maxage
	NoCache              bool          // never without asking the origin
	Heuristic            bool          // the response names no freshness lifetime (RFC 9111, section 4.2.2)
	SetsCookie           bool          // the response has Set-Cookie
	Ended                bool          // by Expired, not by what its fields say: AgeTold tells the caches below
}

// NewEntry takes from an answer what Decide needs; requestTime and responseTime are when it was asked for and when it came.
func NewEntry(status int, h http.Header, requestTime, responseTime time.Time) Entry {
	d, targeted := AnswerDirectives(h)
	life, _ := lifetime(d, targeted, status, h, responseTime)
	e := Entry{
		Stored:               responseTime,
		Age:                  initialAge(h, requestTime, responseTime),
		Lifetime:             life,
		StaleWhileRevalidate: d.StaleWhileRevalidate,
		StaleIfError:         d.StaleIfError,
		StaleWhenLost:        MaxStaleWhenLost,
		MustRevalidate:       neverStale(d),
		NoCache:              d.NoCache,
		Heuristic:            heuristic(d, targeted, h),
		SetsCookie:           setsCookie(h),
	}
	if d.HasStaleIfError {
		e.StaleWhenLost = d.StaleIfError // RFC 5861, section 4: more stale than that it should not be used
	}
	return e
}

// neverStale reports whether the answer forbids its use when stale: s-maxage has the meaning of proxy-revalidate in it
// (RFC 9111, sections 5.2.2.2, 5.2.2.8 and 5.2.2.10).
func neverStale(d Directives) bool { return d.MustRevalidate || d.ProxyRevalidate || d.HasSMaxage }

// AgeAt is the entry's current age: the value of the Age field, but for the fraction.
func (e Entry) AgeAt(now time.Time) time.Duration { return e.Age + max(now.Sub(e.Stored), 0) }

// TTL is how long the entry stays fresh; negative, how long it has been stale.
func (e Entry) TTL(now time.Time) time.Duration { return e.Lifetime - e.AgeAt(now) }

// Fresh reports whether the entry may be used as it is for any request without directives of its own: Decide, in short.
func (e Entry) Fresh(now time.Time) bool { return !e.NoCache && e.TTL(now) > 0 }

// Expired is the entry as a soft purge leaves it: its life ends now if it has not ended yet, and so the periods in which it may
// be served stale begin now. It never becomes usable for longer than it was.
func (e Entry) Expired(now time.Time) Entry {
	e.Lifetime, e.Ended = min(e.Lifetime, e.AgeAt(now)), true
	return e
}

// A Verdict says what may be done with a stored answer.
type Verdict uint8

const (
	Revalidate           Verdict = iota // ask the origin first; if it fails, MayServeStale says whether this copy will do
	StaleWhileRevalidate                // serve it, and ask the origin behind the client's back
	Fresh                               // serve it
)

var verdicts = [...]string{"revalidate", "stale while revalidate", "fresh"}

func (v Verdict) String() string { return verdicts[v] }

// Decide judges an entry for a request by its directives and its policy; zero ones are none (RFC 9111, sections 4 and 5.2.1; RFC 5861).
// Fresh means that its lifetime is greater than its age (section 4.2), or that the client takes it stale and the answer does
// not forbid it. RFC 5861's periods are used up to their last second, and a client's wishes only make them shorter.
func Decide(e Entry, r Request, now time.Time) Verdict {
	req, late := &r.Directives, -e.TTL(now)
	switch {
	case !Selectable(e, r), e.NoCache, refused(e, req, now):
		return Revalidate
	case late < 0:
		return Fresh
	case e.MustRevalidate:
		return Revalidate // section 4.2.4: no stale answer against an explicit directive
	case req.HasMaxStale && late <= req.MaxStale:
		return Fresh
	case wantsFresh(req):
		return Revalidate
	case late < e.StaleWhileRevalidate:
		return StaleWhileRevalidate
	}
	return Revalidate
}

// refused reports whether the request wants no stored answer of that age, or with so little of its life left
// (RFC 9111, sections 5.2.1.1, 5.2.1.3 and 5.2.1.4).
func refused(e Entry, req *Directives, now time.Time) bool {
	return req.NoCache ||
		req.HasMaxAge && e.AgeAt(now) > req.MaxAge ||
		req.HasMinFresh && e.TTL(now) < req.MinFresh
}

// wantsFresh reports whether the client says itself how stale an answer may be: not at all with a max-age alone, and no more
// than max-stale (RFC 9111, sections 5.2.1.1 and 5.2.1.2).
func wantsFresh(req *Directives) bool { return req.HasMaxAge || req.HasMaxStale }

// A Failure is how the origin failed.
type Failure uint8

const (
	FailureStatus Failure = iota // it answered 500, 502, 503 or 504 (RFC 5861, section 4)
	FailureLost                  // no whole answer came
)

// MayServeStale reports whether the entry may answer a request although its origin, when asked, failed: the stale-if-error of
// the answer or of the request allows it (RFC 5861, section 4), or the origin is disconnected and nothing forbids it
// (RFC 9111, section 4.2.4). What the request refused, fresh or not, it does not get.
func MayServeStale(e Entry, r Request, f Failure, now time.Time) bool {
	req, late := &r.Directives, -e.TTL(now)
	switch {
	case !Selectable(e, r), e.NoCache, e.MustRevalidate && late >= 0, refused(e, req, now):
		return false
	case late < req.StaleIfError, req.HasMaxStale && late <= req.MaxStale:
		return true // the client's own word
	case late >= 0 && wantsFresh(req):
		return false
	case f == FailureLost && late < e.StaleWhenLost:
		return true
	}
	return late < e.StaleIfError
}
