package cachepolicy

import (
	"net/http"
	"testing"
	"time"
)

func TestSharingOf(t *testing.T) {
	anonymous, bearer, cookie := Request{Method: "GET"}, Request{Method: "GET", Authorized: true}, Request{Method: "GET", Cookie: true}
	for _, c := range []struct {
		name   string
		r      Request
		status int
		h      http.Header
		want   Sharing
	}{
		{"storable", anonymous, 200, fields("Cache-Control: max-age=60"), Sharing{Storable: true}},
		{"storable, and never fresh", anonymous, 200, fields(`ETag: "x"`), Sharing{Storable: true}},
		{"private", anonymous, 200, fields("Cache-Control: private"), Sharing{}},
		{"private to a bearer", bearer, 200, fields("Cache-Control: private"), Sharing{}},
		{"only Authorization prevents storing, section 3.5", bearer, 200, fields("Cache-Control: max-age=60"), Sharing{Again: true}},
		{"public", bearer, 200, fields("Cache-Control: public, max-age=60"), Sharing{Storable: true}},
		{"a failure", anonymous, 500, nil, Sharing{Failure: true}},
		{"the status below 500", anonymous, 499, nil, Sharing{}},
		{"the greatest status of a class", anonymous, 599, nil, Sharing{Failure: true}},
		{"a status of no class is one of a failure, RFC 9110, section 15", anonymous, 600, nil, Sharing{Failure: true}},
		{"a failure that is stored", anonymous, 503, fields("Cache-Control: max-age=5"), Sharing{Storable: true, Failure: true}},
		{"a private failure", anonymous, 503, fields("Cache-Control: private"), Sharing{}},
		{"a failure with a private field", anonymous, 503, fields(`Cache-Control: private="X-A"`), Sharing{}},
		{"a failure with no-store", anonymous, 503, fields("Cache-Control: no-store"), Sharing{}},
		{"no-store beside a targeted field", anonymous, 503,
			fields("Cache-Control: no-store", "CDN-Cache-Control: max-age=5"), Sharing{Storable: true}},
		{"private in a targeted field", anonymous, 503, fields("CDN-Cache-Control: private"), Sharing{}},
		{"a failure with a cookie", anonymous, 503, fields("Set-Cookie: a=b"), Sharing{}},
		{"a failure for a bearer", bearer, 503, nil, Sharing{Again: true}},
		{"a failure for a session", cookie, 503, nil, Sharing{Again: true}},
		{"a private failure for a session", cookie, 503, fields("Cache-Control: private"), Sharing{}},
	} {
		if got := SharingOf(c.r, c.status, c.h, t0); got != c.want {
			t.Errorf("%s: SharingOf = %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestMayShare(t *testing.T) {
	anonymous, bearer, cookie := Request{Method: "GET"}, Request{Method: "GET", Authorized: true}, Request{Method: "GET", Cookie: true}
	directives := func(s string) Request { return Request{Method: "GET", Directives: ParseCacheControl(s)} }
	storable, failure := Sharing{Storable: true}, Sharing{Failure: true}
	for _, c := range []struct {
		name     string
		sharing  Sharing
		h        http.Header
		r        Request
		variants []string // of the request; the response has "en" and "@en"
		after    time.Duration
		want     bool
	}{
		{"fresh", storable, fields("Cache-Control: max-age=60"), anonymous, []string{"en"}, 0, true},
		{"to a bearer, as a hit would be", storable, fields("Cache-Control: max-age=60"), bearer, []string{"en"}, 0, true},
		{"to a session, as a hit would be", storable, fields("Cache-Control: max-age=60"), cookie, []string{"en"}, 0, true},
		{"in its last nanosecond", storable, fields("Cache-Control: max-age=60"), anonymous, []string{"en"}, time.Minute - 1, true},
		{"expired while the request waited", storable, fields("Cache-Control: max-age=60"), anonymous, []string{"en"}, time.Minute, false},
		{"fresh, but not storable", Sharing{}, fields("Cache-Control: max-age=60"), anonymous, []string{"en"}, 0, false},
		{"only without credentials", Sharing{Again: true}, fields("Cache-Control: max-age=60"), anonymous, []string{"en"}, 0, false},
		{"another variant", storable, fields("Cache-Control: max-age=60"), anonymous, []string{"de"}, 0, false},
		{"selected by its language", storable, fields("Cache-Control: max-age=60"), anonymous, []string{"de", "@en"}, 0, true},
		{"within stale-while-revalidate", storable, fields("Cache-Control: max-age=0, stale-while-revalidate=5"),
			anonymous, []string{"en"}, 4 * time.Second, true},
		{"after stale-while-revalidate", storable, fields("Cache-Control: max-age=0, stale-while-revalidate=5"),
			anonymous, []string{"en"}, 5 * time.Second, false},
		{"stale, where the client permits it", storable, fields("Cache-Control: max-age=0"),
			directives("max-stale=5"), []string{"en"}, 5 * time.Second, true},
		{"too old for the client", storable, fields("Cache-Control: max-age=60"), directives("max-age=5"),
			[]string{"en"}, 6 * time.Second, false},
		{"no-cache of the client", storable, fields("Cache-Control: max-age=60"), directives("no-cache"), []string{"en"}, 0, false},
		{"max-age=0", storable, fields("Cache-Control: public, max-age=0", `ETag: "x"`), anonymous, []string{"en"}, 0, false},
		{"no-cache", storable, fields("Cache-Control: no-cache, max-age=60", `ETag: "x"`), anonymous, []string{"en"}, 0, false},
		{"no freshness lifetime", storable, fields(`ETag: "x"`), anonymous, []string{"en"}, 0, false},
		{"a failure", failure, nil, anonymous, []string{"de"}, time.Hour, true},
		{"a failure, to a bearer", failure, nil, bearer, []string{"en"}, 0, false},
		{"a failure, to a session", failure, nil, cookie, []string{"en"}, 0, false},
		{"a fresh failure, to a session", Sharing{Storable: true, Failure: true}, fields("Cache-Control: max-age=5"),
			cookie, []string{"en"}, 0, true},
	} {
		collapsed := Collapsed{Sharing: c.sharing, Entry: NewEntry(200, c.h, t0, t0), Variants: []string{"en", "@en"}}
		if got := MayShare(collapsed, c.r, c.variants, t0.Add(c.after)); got != c.want {
			t.Errorf("%s: MayShare = %v, want %v", c.name, got, c.want)
		}
	}
	for r, want := range map[*Request]bool{&anonymous: true, &bearer: false, &cookie: false} {
		if got := MayShareError(*r); got != want {
			t.Errorf("MayShareError(%+v) = %v, want %v", *r, got, want)
		}
	}
}
