package cachepolicy

import (
	"net/http"
	"time"
)

// An Entry is what is kept of a stored answer to judge later whether it may be used again: small, and free of header fields.
type Entry struct {
	Stored               time.Time     // when the answer came, or was last confirmed
	Age                  time.Duration // at that time: corrected_initial_age (RFC 9111, section 4.2.3)
	Lifetime             time.Duration // how long it is fresh, from an age of zero
	StaleWhileRevalidate time.Duration // RFC 5861, section 3, from the end of Lifetime
	StaleIfError         time.Duration // RFC 5861, section 4, from the end of Lifetime
	MustRevalidate       bool          // never stale: must-revalidate, proxy-revalidate, s-maxage
	NoCache              bool          // never without asking the origin
}

// NewEntry takes from an answer what Decide needs; requestTime and responseTime are when it was asked for and when it came.
func NewEntry(status int, h http.Header, requestTime, responseTime time.Time) Entry {
	d := ParseCacheControl(h["Cache-Control"]...)
	life, _ := lifetime(d, status, h, responseTime)
	return Entry{
		Stored:               responseTime,
		Age:                  initialAge(h, requestTime, responseTime),
		Lifetime:             life,
		StaleWhileRevalidate: d.StaleWhileRevalidate,
		StaleIfError:         d.StaleIfError,
		// s-maxage has the meaning of proxy-revalidate in it (RFC 9111, section 5.2.2.10).
		MustRevalidate: d.MustRevalidate || d.ProxyRevalidate || d.HasSMaxage,
		NoCache:        d.NoCache,
	}
}

// AgeAt is the entry's current age: the value of the Age field, but for the fraction.
func (e Entry) AgeAt(now time.Time) time.Duration { return e.Age + max(now.Sub(e.Stored), 0) }

// TTL is how long the entry stays fresh; negative, how long it has been stale.
func (e Entry) TTL(now time.Time) time.Duration { return e.Lifetime - e.AgeAt(now) }

// A Verdict says what may be done with a stored answer.
type Verdict uint8

const (
	Revalidate           Verdict = iota // ask the origin first; if it fails, so does the request
	StaleIfError                        // ask the origin first; if it fails, this copy may be served
	StaleWhileRevalidate                // serve it, and ask the origin behind the client's back
	Fresh                               // serve it
)

var verdicts = [...]string{"revalidate", "stale if error", "stale while revalidate", "fresh"}

func (v Verdict) String() string { return verdicts[v] }

// Decide judges an entry for a request without directives of its own (RFC 9111, section 4; RFC 5861). Fresh means that its
// lifetime is greater than its age (section 4.2); RFC 5861's periods are used up to their last second.
func Decide(e Entry, now time.Time) Verdict {
	late := -e.TTL(now)
	switch {
	case e.NoCache:
		return Revalidate
	case late < 0:
		return Fresh
	case e.MustRevalidate:
		return Revalidate // RFC 9111, section 4.2.4: no stale answer against an explicit directive
	case late < e.StaleWhileRevalidate:
		return StaleWhileRevalidate
	case late < e.StaleIfError:
		return StaleIfError
	}
	return Revalidate
}
