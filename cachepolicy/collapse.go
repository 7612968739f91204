package cachepolicy

import (
	"net/http"
	"slices"
	"time"
)

// A Sharing says which of the requests that wait for a collapsed fetch may have its response. The
// client whose request was sent to the origin always gets it. The zero Sharing means that no other
// client does.
type Sharing struct {
	Storable bool // requests that a cache could answer with the response may have it
	// Failure means that the response is an error of the origin that concerns no client in
	// particular. Requests without credentials may have it.
	Failure bool
	// Again means that only the credentials of the request prevent more sharing. Requests without
	// credentials should collapse into a fetch of their own.
	Again bool
}

// SharingOf returns the Sharing of the response to r that arrived at now.
//
// A response whose status is 500 or more is a Failure unless private, no-store or Set-Cookie limits
// it to one client, or the request had credentials. Waiting requests may have a Failure although no
// cache stores it, because an origin that fails should not receive each of them.
func SharingOf(r Request, status int, h http.Header, now time.Time) Sharing {
	s := Sharing{Storable: Storable(r, status, h, now), Failure: sharedFailure(status, h)}
	if !r.credentials() {
		return s
	}
	s.Again = s.Failure || !s.Storable && Storable(r.anonymous(), status, h, now)
	s.Failure = false
	return s
}

// sharedFailure reports whether a response is an error of the origin whose fields do not limit it
// to one client.
func sharedFailure(status int, h http.Header) bool {
	if status < 500 || len(h["Set-Cookie"]) > 0 {
		return false
	}
	d, _ := ResponseDirectives(h)
	personal := func(d Directives) bool { return d.NoStore || d.Private || len(d.PrivateFields) > 0 }
	return !personal(d) && !personal(ParseCacheControl(h["Cache-Control"]...))
}

// Collapsed is the response to a collapsed fetch in the form in which a cache would store it.
type Collapsed struct {
	Sharing Sharing
	Entry   Entry
	// Variants are the secondary keys (VaryKey, VaryLanguageKey) under which the cache would find
	// it.
	Variants []string
}

// MayShare reports whether a request that waits for a collapsed fetch may have its response.
// variants are the secondary keys of the request for the Vary of the response; now is the moment at
// which the response to the request would begin.
//
// It may if a cache that had stored the response could answer the request at now without contacting
// the origin: the response is fresh, or stale where both sides permit that (RFC 9111, section 4). A
// Failure is shared with every request without credentials.
func MayShare(c Collapsed, r Request, variants []string, now time.Time) bool {
	if c.Sharing.Failure && !r.credentials() {
		return true
	}
	stored := func(key string) bool { return slices.Contains(c.Variants, key) }
	return Usable(c, r, now) && slices.ContainsFunc(variants, stored)
}

// Usable is MayShare without its rules for Failure and Vary. If Usable is true and MayShare is
// false, the request needs another variant.
func Usable(c Collapsed, r Request, now time.Time) bool {
	return c.Sharing.Storable && Decide(c.Entry, r, now) != Revalidate
}

// MayShareError reports whether a request that waits for a collapsed fetch may have the error of
// that fetch: the origin could not be reached, or did not respond in time. A request with
// credentials is sent separately, because the origin may fail for the other client only.
func MayShareError(r Request) bool { return !r.credentials() }

// credentials reports whether the request identifies a user.
func (r Request) credentials() bool { return r.Authorized || r.Cookie }

// anonymous returns the request without its credentials.
func (r Request) anonymous() Request {
	r.Authorized, r.Cookie = false, false
	return r
}
