package cachepolicy

import (
	"net/http"
	"slices"
	"time"
)

// A Sharing says which of the requests that wait for a collapsed fetch may have its response. The client whose request was
// sent to the origin always gets it. The zero Sharing means that no other client does.
type Sharing struct {
	Storable bool // Storable: requests that a cache could answer with the response may have it
	Failure  bool // the response says that the origin fails, and belongs to nobody: requests without credentials may have it
	Again    bool // only the credentials of the request forbid more: requests without any should collapse into a fetch of their own
}

// SharingOf returns the Sharing of the response to r, which came at now.
//
// A response whose status is 500 to 599 is a Failure unless private, no-store or Set-Cookie says that it is for one client, or
// the request had credentials. Requests that wait may have it although no cache stores it: an origin that fails should not be
// sent each of them.
func SharingOf(r Request, status int, h http.Header, now time.Time) Sharing {
	s := Sharing{Storable: Storable(r, status, h, now), Failure: commonFailure(status, h)}
	if !r.credentials() {
		return s
	}
	s.Again = s.Failure || !s.Storable && Storable(r.anonymous(), status, h, now)
	s.Failure = false
	return s
}

// commonFailure reports whether a response is an error of the origin that its fields give to no client in particular.
func commonFailure(status int, h http.Header) bool {
	if status < 500 || status > 599 || len(h["Set-Cookie"]) > 0 {
		return false
	}
	d, _ := AnswerDirectives(h)
	personal := func(d Directives) bool { return d.NoStore || d.Private || len(d.PrivateFields) > 0 }
	return !personal(d) && !personal(ParseCacheControl(h["Cache-Control"]...))
}

// A Collapsed is the response to a collapsed fetch as a cache would store it.
type Collapsed struct {
	Sharing  Sharing
	Entry    Entry
	Variants []string // secondary keys (VaryKey, VaryLanguageKey) under which the cache would find it
}

// MayShare reports whether a request that waits for a collapsed fetch may have its response; variants are the secondary keys of
// the request for the Vary of the response. It may if a cache that had stored the response could answer the request with it at
// now, the moment at which the request's own response would begin, without asking the origin: fresh, or stale where both sides
// permit it (RFC 9111, section 4). And a Failure is for every request without credentials.
func MayShare(c Collapsed, r Request, variants []string, now time.Time) bool {
	if c.Sharing.Failure && !r.credentials() {
		return true
	}
	stored := func(key string) bool { return slices.Contains(c.Variants, key) }
	return Usable(c, r, now) && slices.ContainsFunc(variants, stored)
}

// Usable is MayShare without Failure and Vary. Where Usable is true and MayShare is not, the request wants another variant.
func Usable(c Collapsed, r Request, now time.Time) bool {
	return c.Sharing.Storable && Decide(c.Entry, r, now) != Revalidate
}

// MayShareError reports whether a request that waits for a collapsed fetch may have the error of that fetch: the origin could not
// be reached, or did not answer in time. With credentials the request is sent by itself: it may be that the origin fails for
// the other client alone.
func MayShareError(r Request) bool { return !r.credentials() }

// credentials reports whether the request says whose it is.
func (r Request) credentials() bool { return r.Authorized || r.Cookie }

// anonymous is the request without its credentials.
func (r Request) anonymous() Request {
	r.Authorized, r.Cookie = false, false
	return r
}
