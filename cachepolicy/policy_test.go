package cachepolicy

import (
	"net/http"
	"reflect"
	"testing"
	"time"
)

// SafeCookies keeps responses that may belong to one user out of the cache, and does not reuse
// stored ones for other users. Without it RFC 9111 decides.
func TestSafeCookies(t *testing.T) {
	anonymous, cookie := Request{Method: "GET"}, Request{Method: "GET", Cookie: true}
	for _, c := range []struct {
		name               string
		r                  Request
		status             int
		h                  http.Header
		storable, byTheRFC bool // the response to r
		// Whether a request without Cookie, and a request with Cookie, may use the stored response.
		anonymous, personal bool
	}{
		{name: "max-age", r: anonymous, status: 200, h: fields("Cache-Control: max-age=60"), storable: true, byTheRFC: true,
			anonymous: true, personal: true},
		{name: "max-age, to a request with Cookie", r: cookie, status: 200, h: fields("Cache-Control: max-age=60"),
			storable: true, byTheRFC: true, anonymous: true, personal: true},
		{name: "s-maxage, to a request with Cookie", r: cookie, status: 200, h: fields("Cache-Control: s-maxage=60"),
			storable: true, byTheRFC: true, anonymous: true, personal: true},
		{name: "Expires, to a request with Cookie", r: cookie, status: 200, h: fields("Expires: @1h"), storable: true,
			byTheRFC: true, anonymous: true, personal: true},
		{name: "CDN-Cache-Control, to a request with Cookie", r: cookie, status: 200,
			h: fields("CDN-Cache-Control: max-age=60"), storable: true, byTheRFC: true, anonymous: true, personal: true},
		{name: "Surrogate-Control, to a request with Cookie", r: cookie, status: 200,
			h: fields("Surrogate-Control: max-age=60"), storable: true, byTheRFC: true, anonymous: true, personal: true},
		{name: "no-cache with a validator, to a request with Cookie", r: cookie, status: 200,
			h: fields("Cache-Control: no-cache", `ETag: "x"`), storable: true, byTheRFC: true},
		{name: "Last-Modified alone", r: anonymous, status: 200, h: fields("Date: @0s", "Last-Modified: @-10h"),
			storable: true, byTheRFC: true, anonymous: true},
		{name: "Last-Modified alone, to a request with Cookie", r: cookie, status: 200, h: fields("Date: @0s", "Last-Modified: @-10h"),
			byTheRFC: true, anonymous: true},
		{name: "public names no time, to a request with Cookie", r: cookie, status: 200,
			h: fields("Date: @0s", "Last-Modified: @-10h", "Cache-Control: public"), byTheRFC: true, anonymous: true},
		{name: "an overridden Expires, to a request with Cookie", r: cookie, status: 200,
			h: fields("Date: @0s", "Last-Modified: @-10h", "Expires: @1h", "CDN-Cache-Control: public"), byTheRFC: true, anonymous: true},
		{name: "ETag alone, to a request with Cookie", r: cookie, status: 200, h: fields(`ETag: "x"`), byTheRFC: true},
		{name: "stale-while-revalidate names no lifetime", r: cookie, status: 200,
			h: fields(`ETag: "x"`, "Cache-Control: stale-while-revalidate=60"), byTheRFC: true},
		{name: "a 404 without a lifetime, to a request with Cookie", r: cookie, status: 404,
			h: fields("Date: @0s", "Last-Modified: @-10h"), byTheRFC: true, anonymous: true},
		{name: "Set-Cookie and max-age", r: anonymous, status: 200, h: fields("Cache-Control: max-age=60", "Set-Cookie: a=b"),
			byTheRFC: true},
		{name: "Set-Cookie and s-maxage, public", r: anonymous, status: 200,
			h: fields("Cache-Control: public, s-maxage=60", "Set-Cookie: a=b"), byTheRFC: true},
		{name: "Set-Cookie that no-cache names", r: anonymous, status: 200,
			h: fields(`Cache-Control: max-age=60, no-cache="Set-Cookie"`, "Set-Cookie: a=b"), byTheRFC: true},
		// Without an explicit lifetime it is never stored.
		{name: "Set-Cookie and a validator", r: anonymous, status: 200,
			h: fields("Cache-Control: no-cache", `ETag: "x"`, "Set-Cookie: a=b")},
	} {
		safe := c.r
		safe.Policy.SafeCookies = true
		if got := Storable(safe, c.status, c.h, t0); got != c.storable {
			t.Errorf("%s: Storable = %v, want %v", c.name, got, c.storable)
		}
		if got := Storable(c.r, c.status, c.h, t0); got != c.byTheRFC {
			t.Errorf("%s: Storable by RFC 9111 = %v, want %v", c.name, got, c.byTheRFC)
		}
		e := NewEntry(c.status, c.h, t0, t0)
		for _, use := range []struct {
			r    Request
			want bool
		}{{anonymous, c.anonymous}, {cookie, c.personal}} {
			use.r.Policy.SafeCookies = true
			if got := Decide(e, use.r, t0) == Fresh; got != use.want {
				t.Errorf("%s: fresh for a request with Cookie %v: %v, want %v", c.name, use.r.Cookie, got, use.want)
			}
			if !use.want && !e.NoCache && !Selectable(e, use.r) && MayServeStale(e, use.r, FailureDisconnected, t0.Add(time.Hour)) {
				t.Errorf("%s: used stale for a request with Cookie %v", c.name, use.r.Cookie)
			}
			use.r.Policy.SafeCookies = false
			if !Selectable(e, use.r) {
				t.Errorf("%s: not selectable under RFC 9111 for a request with Cookie %v", c.name, use.r.Cookie)
			}
		}
	}
}

// Decide and MayServeStale allow no response to a request that is not selectable for it.
func FuzzSafeCookies(f *testing.F) {
	f.Add("max-age=60", "", "", true, int64(5))
	f.Add("", "Tue, 15 Nov 2022 08:12:31 GMT", "", true, int64(100))
	f.Add("stale-if-error=60", "Tue, 15 Nov 2022 08:12:31 GMT", "a=b", false, int64(100))
	f.Fuzz(func(t *testing.T, control, modified, cookie string, has bool, at int64) {
		if at < 0 || at > 1<<32 {
			return
		}
		h := http.Header{"Cache-Control": {control}, "Last-Modified": {modified}}
		if cookie != "" {
			h["Set-Cookie"] = []string{cookie}
		}
		r := Request{Method: "GET", Cookie: has, Policy: Policy{SafeCookies: true}}
		e, now := NewEntry(200, h, t0, t0), t0.Add(time.Duration(at)*time.Second)
		used := Decide(e, r, now) != Revalidate || MayServeStale(e, r, FailureStatus, now) || MayServeStale(e, r, FailureDisconnected, now)
		if used && !Selectable(e, r) {
			t.Fatalf("a request with Cookie %[2]v may use %[1]v, which is not selectable for it", h, has)
		}
		if Storable(r, 200, h, t0) && !Selectable(e, r) {
			t.Fatalf("%v is stored, but is not selectable for its own request", h)
		}
	})
}

func TestIgnoreRevalidation(t *testing.T) {
	for _, c := range []struct {
		cacheControl, pragma []string
		want                 Directives
	}{
		{nil, nil, Directives{}},
		{nil, []string{"no-cache"}, Directives{}},
		{[]string{"no-cache"}, nil, Directives{}},
		{[]string{"max-age=0, min-fresh=5", "max-stale, stale-if-error=9"}, nil, Directives{}},
		{[]string{"no-cache, no-store"}, nil, Directives{NoStore: true}},
		{[]string{"max-age=0", "only-if-cached"}, nil, Directives{OnlyIfCached: true}},
	} {
		if got := (Policy{IgnoreRevalidation: true}).Obeyed(ParseRequest(c.cacheControl, c.pragma)); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q, %q: %+v, want %+v", c.cacheControl, c.pragma, got, c.want)
		}
		if all := ParseRequest(c.cacheControl, c.pragma); !reflect.DeepEqual((Policy{}).Obeyed(all), all) {
			t.Errorf("%q, %q: not all are obeyed: %+v", c.cacheControl, c.pragma, (Policy{}).Obeyed(all))
		}
	}
}

// TestOverride: an operator's lifetime takes precedence over that of the response, but not over
// private and no-store, unless storing is forced.
func TestOverride(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	hour, minute := time.Hour, time.Minute
	of := func(d time.Duration) func(int) (time.Duration, bool) {
		return func(status int) (time.Duration, bool) { return d, status == 200 }
	}
	for _, row := range []struct {
		name     string
		o        Override
		status   int
		control  string
		request  Request
		storable bool
		fresh    time.Duration
		grace    time.Duration
		noCache  bool
	}{
		{name: "none", status: 200, control: "max-age=60", storable: true, fresh: minute},
		{name: "longer", o: Override{TTL: of(hour)}, status: 200, control: "max-age=60", storable: true, fresh: hour},
		{name: "no-cache", o: Override{TTL: of(hour)}, status: 200, control: "no-cache, must-revalidate, max-age=0",
			storable: true, fresh: hour},
		{name: "another status", o: Override{TTL: of(hour)}, status: 404, control: "max-age=60", storable: true, fresh: minute},
		{name: "no-store", o: Override{TTL: of(hour)}, status: 200, control: "no-store", fresh: hour},
		{name: "private", o: Override{TTL: of(hour)}, status: 200, control: "private", fresh: hour},
		{name: "forced", o: Override{TTL: of(hour), Force: true}, status: 200, control: "private, no-store",
			request: Request{Authorized: true}, storable: true, fresh: hour},
		{name: "zero", o: Override{TTL: of(0)}, status: 200, control: "max-age=60", storable: true, noCache: true},
		{name: "default", o: Override{DefaultTTL: of(hour)}, status: 200, control: "public", storable: true, fresh: hour},
		{name: "default of another status", o: Override{DefaultTTL: of(hour)}, status: 404, control: "public", storable: true},
		{name: "default beside a lifetime", o: Override{DefaultTTL: of(hour)}, status: 200, control: "max-age=60",
			storable: true, fresh: minute},
		{name: "default beside none", o: Override{DefaultTTL: of(hour)}, status: 200, control: "no-cache", storable: true, noCache: true},
		{name: "default of a private response", o: Override{DefaultTTL: of(hour)}, status: 200, control: "private", fresh: hour},
		{name: "default of a forced response", o: Override{DefaultTTL: of(hour), Force: true}, status: 200, control: "no-cache",
			storable: true, fresh: hour},
		{name: "both", o: Override{TTL: of(minute), DefaultTTL: of(hour)}, status: 200, control: "public", storable: true, fresh: minute},
		{name: "grace", o: Override{TTL: of(hour), Grace: &minute}, status: 200, control: "s-maxage=1",
			storable: true, fresh: hour, grace: minute},
		{name: "no grace", o: Override{Grace: new(time.Duration)}, status: 200,
			control: "max-age=60, stale-while-revalidate=60", storable: true, fresh: minute},
	} {
		p := Policy{Override: &row.o}
		h := http.Header{"Cache-Control": {row.control}, "Etag": {`"a"`}, "Age": {"100"}}
		row.request.Method, row.request.Policy = http.MethodGet, p
		e := p.NewEntry(row.status, h, now, now)
		lifetime := e.Lifetime
		if row.status == 200 && (row.o.TTL != nil || row.o.DefaultTTL != nil && row.fresh == hour) {
			lifetime -= 100 * time.Second // the lifetime counts from the arrival
		}
		if got := Storable(row.request, row.status, h, now); got != row.storable || lifetime != row.fresh ||
			e.StaleWhileRevalidate != row.grace || e.NoCache != row.noCache {
			t.Errorf("%s: storable %v, %+v", row.name, got, e)
		}
	}
}

// The lifetime of an operator does not make the response to one user one for all.
func TestOverrideWithCookie(t *testing.T) {
	const user, nobody = true, false
	for _, row := range []struct {
		name   string
		cookie bool
		change func(*Override)
		path   string
		fields []string
		want   bool
	}{
		{"nobody's page", nobody, nil, "/x.css", []string{"Content-Type: text/html"}, true},
		{"a user's page", user, nil, "/x.css", []string{"Content-Type: text/html"}, false},
		{"a file", user, nil, "/x.css", []string{"Content-Type: text/css"}, true},
		{"a page that varies", user, nil, "/x", []string{"Vary: Accept, cookie"}, true},
		{"a page that varies on all", user, nil, "/x", []string{"Vary: *"}, false},
		{"a public page", user, nil, "/x", []string{"Cache-Control: public"}, true},
		{"a page with a lifetime", user, nil, "/x", []string{"Cache-Control: max-age=1"}, true},
		{"a page without one", user, nil, "/x", []string{"Cache-Control: max-age=0"}, false},
		{"a page to ask for", user, nil, "/x", []string{"Cache-Control: no-cache, max-age=60"}, false},
		{"a page without one, by default", user, func(o *Override) { o.TTL, o.DefaultTTL = nil, o.TTL }, "/x", nil, false},
		{"a file by default", user, func(o *Override) { o.TTL, o.DefaultTTL = nil, o.TTL }, "/x.css",
			[]string{"Content-Type: text/css"}, true},
		{"cookies do not count", user, func(o *Override) { o.AnyUser = true }, "/x", nil, true},
		{"storing is forced", user, func(o *Override) { o.Force = true }, "/x", nil, true},
	} {
		o := &Override{TTL: func(int) (time.Duration, bool) { return time.Hour, true }, Path: row.path}
		if row.change != nil {
			row.change(o)
		}
		for _, safe := range []bool{true, false} {
			r := Request{Method: "GET", Cookie: row.cookie, Policy: Policy{SafeCookies: safe, Override: o}}
			if got := Storable(r, 200, fields(row.fields...), t0); got != row.want {
				t.Errorf("%s: storable %v, want %v (SafeCookies %v)", row.name, got, row.want, safe)
			}
			if e := r.NewEntry(200, fields(row.fields...), t0, t0); (e.Lifetime == time.Hour) != row.want &&
				row.name != "a page that varies on all" {
				t.Errorf("%s: lifetime %v", row.name, e.Lifetime)
			}
			if s := SharingOf(r, 200, fields(row.fields...), t0); row.cookie && !row.want &&
				row.name != "a page that varies on all" && !s.Again {
				t.Errorf("%s: requests without credentials do not collapse again", row.name)
			}
		}
	}
}

func TestBelongs(t *testing.T) {
	for _, row := range []struct {
		path, kind string
		want       bool
	}{
		{"/a.css", "text/css", true}, {"/a.CSS", "Text/CSS ; charset=utf-8", true}, {"/a.css", "text/html", false},
		{"/a.css", "", false}, {"/a.css", "text/csss", false}, {"/a.css", "text/css, text/html", false},
		{"/a.png", "image/png", true}, {"/a.png", "image/avif", true}, {"/a.png", "image/", false},
		{"/a.png", "imagex/png", false}, {"/a.svg", "image/svg+xml", true}, {"/a.svg", "text/xml", false},
		{"/a.mjs", "text/javascript", true}, {"/a.js", "application/x-javascript", true},
		{"/a.js", "application/json", false}, {"/a.js", "text/plain", false},
		{"/a.woff2", "font/woff2", true}, {"/a.ttf", "application/x-font-ttf", true},
		{"/a.eot", "application/vnd.ms-fontobject", true}, {"/a.woff", "application/octet-stream", false},
		{"/a.mp4", "video/mp4", true}, {"/a.mp3", "audio/mpeg", true}, {"/a.wasm", "application/wasm", true},
		{"/a.json", "application/json", false}, {"/a.html", "text/html", false}, {"/a.pdf", "application/pdf", false},
		{"/a.txt", "text/plain", false},
		{"/a", "text/css", false}, {"/a.css/", "text/css", false}, {"/a.css/b", "text/css", false},
		{"/a.b/css", "text/css", false}, {"/.css", "text/css", true}, {"/a.css;b", "text/css", false}, {"", "text/css", false},
	} {
		if got := Belongs(row.kind, row.path); got != row.want {
			t.Errorf("Belongs(%q, %q) = %v", row.kind, row.path, got)
		}
	}
}

// A response to a request with fields of scripts is stored only if its Vary names them all.
func TestScriptedFields(t *testing.T) {
	for _, row := range []struct {
		scripted []string
		vary     string
		want     bool
	}{
		{nil, "", true}, {[]string{"Hx-Request"}, "", false}, {[]string{"Hx-Request"}, "HX-request", true},
		{[]string{"Hx-Request"}, "HX-Target", false},
		{[]string{"Hx-Request", "Hx-Target"}, "hx-target", false},
		{[]string{"Hx-Request", "Hx-Target"}, "Accept, hx-target,HX-REQUEST", true},
		{[]string{"Hx_request"}, "HX-Request", false}, {[]string{"Rsc"}, "*", false},
	} {
		h := fields("Cache-Control: public, max-age=60", "Vary: "+row.vary)
		r := Request{Method: "GET", Scripted: row.scripted, Policy: Policy{Override: &Override{Force: true}}}
		if got := Storable(r, 200, h, t0); got != row.want {
			t.Errorf("%q, Vary: %s: storable %v", row.scripted, row.vary, got)
		}
		if Supersedes(r, 200, fields("Cache-Control: no-store"), t0) != (row.scripted == nil) {
			t.Errorf("%q: Supersedes", row.scripted)
		}
	}
}
