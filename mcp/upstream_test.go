package mcp

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// reply returns a handler with a fixed response.
func reply(status int, body string, fields ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for i := 0; i+1 < len(fields); i += 2 {
			w.Header().Set(fields[i], fields[i+1])
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// TestFaults: a failure of the API is explained to the caller, and not cached (C20).
func TestFaults(t *testing.T) {
	half := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "5000")
		io.WriteString(w, iconJSON("mdi", "home", homeSVG, "MIT", true, false))
	}
	for _, row := range []struct {
		about  string
		answer http.HandlerFunc
		word   string
	}{
		{"429", reply(429, `{}`, "Retry-After", "7"), "rate limit is reached; retry in 7 seconds"},
		{"429 without a time", reply(429, ``, "Retry-After", "soon"), "retry in a minute"},
		{"500", reply(500, `<html>panic: goroutine 1`), "status 500"},
		{"503", reply(503, ``), "try again"},
		{"401", reply(401, `{}`), "ICONEDGE_LICENSE_TOKEN"},
		{"400", reply(400, `{}`), "arguments"},
		{"a redirect", reply(302, ``, "Location", "http://192.0.2.1/"), "status 302"},
		{"half a JSON", reply(200, `{"pack":"mdi","name":"home","svg":"<svg`), "invalid response"},
		{"incomplete response", half, "ended its response early"},
		{"HTML", reply(200, `<!doctype html><html>`), "invalid response"},
		{"JSON of something else", reply(200, `{}`), "invalid response"},
		{"no JSON object", reply(200, `[1]`), "invalid response"},
		{"hung up", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "could not be reached"},
	} {
		a := newFakeAPI(t)
		s := session(t, a)
		a.answer("*", row.answer)
		for tool, args := range map[string]map[string]any{"get_icon": {"pack": "mdi", "name": "home"}, "search_icons": {"query": "home"}, "list_packs": {}, "get_pack": {"pack": "mdi"}} {
			if got := call(t, s, tool, args); !got.refused || !strings.Contains(got.texts[0], row.word) {
				t.Errorf("%s: %s: %+v, want %q", row.about, tool, got, row.word)
			}
		}
		a.answer("*", nil)
		if got := call(t, s, "get_icon", map[string]any{"pack": "mdi", "name": "home"}); got.refused {
			t.Errorf("after %s: %+v", row.about, got)
		}
	}
}

// TestEndless: no more than maxResponse bytes of a response are read.
func TestEndless(t *testing.T) {
	a := newFakeAPI(t)
	a.answer("/api/v1/icon/mdi/home", reply(200, iconJSON("mdi", "home", homeSVG, "MIT", true, false)+strings.Repeat(" ", maxResponse)))
	if got := call(t, session(t, a), "get_icon", map[string]any{"pack": "mdi", "name": "home"}); !got.refused || !strings.Contains(got.texts[0], "ended its response early") {
		t.Errorf("%.200v", got)
	}
}

// TestCached: an icon is fetched once while it is fresh, in whatever format, and then revalidated
// by its ETag (C19).
func TestCached(t *testing.T) {
	a := newFakeAPI(t)
	var plain, revalidated atomic.Int32
	cacheControl := "max-age=300"
	a.answer("/api/v1/icon/mdi/home", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"x"`)
		w.Header().Set("Cache-Control", cacheControl)
		if r.Header.Get("If-None-Match") == `"x"` {
			revalidated.Add(1)
			w.WriteHeader(http.StatusNotModified)
			return
		}
		plain.Add(1)
		io.WriteString(w, iconJSON("mdi", "home", homeSVG, "MIT", true, false))
	})
	s := session(t, a)
	for _, format := range append(formats, formats...) {
		if got := call(t, s, "get_icon", map[string]any{"pack": "mdi", "name": "home", "format": format}); got.refused {
			t.Fatal(got)
		}
	}
	if plain.Load() != 1 || revalidated.Load() != 0 {
		t.Errorf("fresh: %d fetches, %d revalidations", plain.Load(), revalidated.Load())
	}
	plain.Store(0)
	cacheControl = "no-cache"
	s = session(t, a)
	for _, format := range formats {
		if got := call(t, s, "get_icon", map[string]any{"pack": "mdi", "name": "home", "format": format}); got.refused || got.fields["format"] != format {
			t.Fatal(got)
		}
	}
	if plain.Load() != 1 || revalidated.Load() != 3 {
		t.Errorf("no-cache: %d fetches, %d revalidations", plain.Load(), revalidated.Load())
	}
}

func TestFreshness(t *testing.T) {
	now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	for _, row := range []struct {
		about, control, age string
		fresh               time.Duration
		storable            bool
	}{
		{"max-age counts", "public, max-age=300", "", 300 * time.Second, true},
		{"Age is subtracted", "max-age=300", "100", 200 * time.Second, true},
		{"older than its max-age", "max-age=300", "400", 0, true},
		{"an Age that is no number counts as older than any response", "max-age=300", "soon", 0, true},
		{"a quoted number", `max-age="60"`, "", time.Minute, true},
		{"the shorter of two", "max-age=300, max-age=60", "", time.Minute, true},
		{"no-store wins", "no-store, max-age=300", "", 0, false},
		{"a string without an end may hide a no-store", `max-age=300, x="no-store`, "", 0, false},
		{"no-cache wins", "no-cache, max-age=300", "", 0, true},
		{"no-cache wins in any order and case", "max-age=300, No-Cache", "", 0, true},
		{"no-cache for some fields counts for all", `max-age=300, no-cache="Set-Cookie"`, "", 0, true},
		{"no Cache-Control", "", "", time.Minute, true},
		{"a max-age that is no number means stale (RFC 9111, section 4.2.1)", "max-age=x", "", 0, true},
		{"a private cache stores private responses", "private, max-age=9", "", 9 * time.Second, true},
		{"a private cache ignores s-maxage", "s-maxage=1, max-age=9", "", 9 * time.Second, true},
	} {
		h := http.Header{"Cache-Control": {row.control}}
		if row.age != "" {
			h.Set("Age", row.age)
		}
		until, storable := freshness(h, now)
		if storable != row.storable || storable && until.Sub(now) != row.fresh {
			t.Errorf("%s: fresh for %s, storable %v; want %s, %v", row.about, until.Sub(now), storable, row.fresh, row.storable)
		}
	}
	h := http.Header{"Cdn-Cache-Control": {"max-age=5"}, "Cache-Control": {"max-age=9"}, "Date": {"Sat, 21 Nov 2026 00:00:00 GMT"}}
	if until, _ := freshness(h, now.Add(time.Hour)); until != now.Add(time.Hour+9*time.Second) {
		t.Errorf("a field for CDNs and a Date an hour ago: fresh until %s", until)
	}
}

func FuzzFreshness(f *testing.F) {
	f.Add("public, max-age=300", "5")
	f.Add("no-cache,,max-age=99999999999999999999", "-1")
	f.Fuzz(func(t *testing.T, control, age string) {
		now := time.Unix(1_000_000, 0)
		until, storable := freshness(http.Header{"Cache-Control": {control}, "Age": {age}}, now)
		if storable && (until.Before(now) || until.Sub(now) > (1<<31)*time.Second) {
			t.Errorf("freshness(%q, %q) = %s", control, age, until.Sub(now))
		}
	})
}

// TestCacheBounds: the stored bytes never exceed their limit, and the entry used last is not
// evicted.
func TestCacheBounds(t *testing.T) {
	c := newCache()
	for i := range 100 {
		c.store(entry{target: string(rune('a' + i)), size: maxCached / 10})
		if _, ok := c.find("a"); !ok {
			t.Fatalf("after %d entries: the entry in use was evicted", i+1)
		}
		bytes := 0
		for _, e := range c.lru.Items() {
			bytes += e.Value().size
		}
		if bytes > maxCached || i >= 10 && c.lru.Len() < 9 {
			t.Fatalf("%d entries of %d bytes are stored", c.lru.Len(), bytes)
		}
	}
	c.store(entry{target: "a", size: maxCachedBody + 1})
	if _, ok := c.find("a"); ok || c.lru.Len() < 9 {
		t.Errorf("after a response of more than %d bytes: found %v, %d entries", maxCachedBody, ok, c.lru.Len())
	}
	c.store(entry{target: "a", size: maxCachedBody})
	if e, ok := c.find("a"); !ok || e.size != maxCachedBody {
		t.Errorf("a response of %d bytes was not stored", maxCachedBody)
	}
}

// A silent API accepts a request and never answers.
type silent struct{ asked atomic.Int32 }

func (s *silent) RoundTrip(r *http.Request) (*http.Response, error) {
	s.asked.Add(1)
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// TestNoAnswer: a call gives up in time, also if verify does not answer (C20).
func TestNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLibrary(Config{API: "http://api.example", Token: goodToken}.filled())
		l.upstream.http.Transport = &silent{}
		for _, good := range []bool{false, true} {
			if good {
				l.gate.good = time.Now()
			}
			began := time.Now()
			_, err := l.call(t.Context(), "get_icon", []byte(`{"pack":"mdi","name":"home"}`))
			if took := time.Since(began); err == nil || took > 15*time.Second {
				t.Errorf("it took %s: %v", took, err)
			}
			synctest.Wait()
		}
	})
}

// TestCallerLeaves: a caller that gives up does not cancel the fetch that another caller waits for.
func TestCallerLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLibrary(Config{API: "http://api.example", Token: goodToken}.filled())
		l.gate.good = time.Now()
		l.upstream.http.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
			select {
			case <-time.After(time.Second):
			case <-r.Context().Done():
				return nil, r.Context().Err()
			}
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(iconJSON("mdi", "home", homeSVG, "MIT", true, false)))}, nil
		})
		ctx, leave := context.WithCancel(t.Context())
		go func() {
			if _, err := l.call(ctx, "get_icon", []byte(`{"pack":"mdi","name":"home"}`)); !errors.Is(err, context.Canceled) {
				t.Errorf("the caller that left: %v", err)
			}
		}()
		synctest.Wait()
		time.AfterFunc(time.Millisecond, leave)
		if _, err := l.call(t.Context(), "get_icon", []byte(`{"pack":"mdi","name":"home"}`)); err != nil {
			t.Errorf("the caller that stayed: %v", err)
		}
	})
}

// TestAskedAgain: after a caller has given up, the next call starts a new fetch and does not wait
// for the fetch that hangs (C20).
func TestAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLibrary(Config{API: "http://api.example", Token: goodToken}.filled())
		answers := map[string]string{
			"/api/v1/auth/verify":   `{"valid":true,"plan":"lifetime"}`,
			"/api/v1/icon/mdi/home": iconJSON("mdi", "home", homeSVG, "MIT", true, false),
		}
		for _, mute := range []string{"/api/v1/auth/verify", "/api/v1/icon/mdi/home"} {
			l.upstream.http.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
				if r.URL.Path == mute {
					return (&silent{}).RoundTrip(r)
				}
				return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(answers[r.URL.Path]))}, nil
			})
			ctx, leave := context.WithTimeout(t.Context(), time.Second)
			if _, err := l.call(ctx, "get_icon", []byte(`{"pack":"mdi","name":"home"}`)); err == nil {
				t.Errorf("%s hung, but the call succeeded", mute)
			}
			leave()
			synctest.Wait()
			path, began := mute, time.Now()
			mute = ""
			if _, err := l.call(t.Context(), "get_icon", []byte(`{"pack":"mdi","name":"home"}`)); err != nil || time.Since(began) > 0 {
				t.Errorf("after %s did not answer: %s, %v", path, time.Since(began), err)
			}
			time.Sleep(callTimeout) // the fetch that hangs times out
			l.upstream.cache = newCache()
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
