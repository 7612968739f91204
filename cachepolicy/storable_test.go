package cachepolicy

import (
	"net/http"
	"testing"
)

func TestStorable(t *testing.T) {
	const fresh = "Cache-Control: max-age=60"
	none := http.Header{}
	for _, c := range []struct {
		name              string
		method            string
		status            int
		request, response http.Header
		want              bool
	}{
		{"fresh", "GET", 200, none, fields(fresh), true},
		{"an answer to HEAD has no body", "HEAD", 200, none, fields(fresh), false},
		{"POST", "POST", 200, none, fields(fresh), false},
		{"any status with a life, section 3", "GET", 599, none, fields(fresh), true},
		{"not final", "GET", 103, none, fields(fresh), false},
		{"not whole", "GET", 206, none, fields(fresh), false},
		{"a 304 is not an answer to keep", "GET", 304, none, fields(fresh), false},
		{"no-store", "GET", 200, none, fields("Cache-Control: max-age=60, no-store"), false},
		{"the client's no-store, section 5.2.1.5", "GET", 200, fields("Cache-Control: no-store"), fields(fresh), false},
		{"private", "GET", 200, none, fields("Cache-Control: private, max-age=60"), false},
		{"private and s-maxage contradict each other", "GET", 200, none, fields("Cache-Control: private, s-maxage=60"), false},
		{"Authorization, section 3.5", "GET", 200, fields("Authorization: x"), fields(fresh), false},
		{"Authorization and public", "GET", 200, fields("Authorization: x"), fields("Cache-Control: public, max-age=60"), true},
		{"Authorization and s-maxage", "GET", 200, fields("Authorization: x"), fields("Cache-Control: s-maxage=60"), true},
		{"Authorization and must-revalidate", "GET", 200, fields("Authorization: x"), fields("Cache-Control: must-revalidate, max-age=60"), true},
		{"must-understand overrides no-store, section 5.2.2.3", "GET", 200, none, fields("Cache-Control: must-understand, no-store, max-age=60"), true},
		{"of a status that is not understood", "GET", 299, none, fields("Cache-Control: must-understand, max-age=60"), false},
		{"Vary: *, section 4.1", "GET", 200, none, fields(fresh, "Vary: Accept, *"), false},
		{"Vary", "GET", 200, none, fields(fresh, "Vary: Accept"), true},
		{"nothing said, no validator", "GET", 200, none, fields("Date: @0s"), false},
		{"a validator to ask with", "GET", 200, none, fields(`ETag: "x"`), true},
		{"a validator on a 500", "GET", 500, none, fields(`ETag: "x"`), false},
		{"no-cache with a validator", "GET", 200, none, fields("Cache-Control: no-cache", `ETag: "x"`), true},
		{"no-cache without", "GET", 200, none, fields("Cache-Control: no-cache, max-age=60"), false},
		{"stale at once, no validator", "GET", 200, none, fields("Cache-Control: max-age=0"), false},
		{"stale at once, for when the origin fails", "GET", 200, none, fields("Cache-Control: max-age=0, stale-if-error=60"), true},
		{"guessed from Last-Modified", "GET", 200, none, fields("Date: @0s", "Last-Modified: @-10h"), true},
		{"cookies and a life", "GET", 200, none, fields(fresh, "Set-Cookie: a=b"), true},
		{"cookies and a guess", "GET", 200, none, fields("Date: @0s", "Last-Modified: @-10h", "Set-Cookie: a=b"), false},
		{"a quote without an end", "GET", 200, none, fields(`Cache-Control: max-age=60, x="`), false},
	} {
		if got := Storable(c.method, c.status, c.request, c.response); got != c.want {
			t.Errorf("%s: Storable(%s, %d, %v, %v) = %v, want %v", c.name, c.method, c.status, c.request, c.response, got, c.want)
		}
	}
}
