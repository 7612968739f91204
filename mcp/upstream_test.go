package mcp

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	client "github.com/iconedge/iconedge/clients/go"
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
		io.WriteString(w, iconJSON("mdi", "home", homeSVG, "MIT"))
	}
	for _, row := range []struct {
		about  string
		answer http.HandlerFunc
		word   string
	}{
		{"429", reply(429, `{}`, "Retry-After", "7"), "rate limit is reached; retry in 7 seconds"},
		{"429 without a time", reply(429, ``, "Retry-After", "soon"), "retry in a minute"},
		{"410", reply(410, `{"title":"Gone","status":410}`), "withdrawn"},
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
		for tool, args := range map[string]map[string]any{"get_icon": {"pack": "mdi", "name": "home"},
			"search_icons": {"query": "home"}, "list_packs": {}, "get_pack": {"pack": "mdi"}} {
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

// TestEndless: no more than 8 MiB of a response are read.
func TestEndless(t *testing.T) {
	a := newFakeAPI(t)
	a.answer("/api/v1/icon/mdi/home", reply(200, iconJSON("mdi", "home", homeSVG, "MIT")+strings.Repeat(" ", 8<<20)))
	if got := call(t, session(t, a), "get_icon", map[string]any{"pack": "mdi", "name": "home"}); !got.refused ||
		!strings.Contains(got.texts[0], "ended its response early") {
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
		io.WriteString(w, iconJSON("mdi", "home", homeSVG, "MIT"))
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
		if got := call(t, s, "get_icon", map[string]any{"pack": "mdi", "name": "home",
			"format": format}); got.refused || got.fields["format"] != format {
			t.Fatal(got)
		}
	}
	if plain.Load() != 1 || revalidated.Load() != 3 {
		t.Errorf("no-cache: %d fetches, %d revalidations", plain.Load(), revalidated.Load())
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
		l := newLibrary(with(&silent{}))
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

// TestAskedAgain: after a caller has given up, the next call starts a new fetch and does not wait
// for the fetch that hangs (C20).
func TestAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mute := ""
		answers := map[string]string{
			"/api/v1/auth/verify":   `{"valid":true,"plan":"lifetime"}`,
			"/api/v1/icon/mdi/home": iconJSON("mdi", "home", homeSVG, "MIT"),
		}
		for _, path := range []string{"/api/v1/auth/verify", "/api/v1/icon/mdi/home"} {
			mute = path
			l := newLibrary(with(roundTrip(func(r *http.Request) (*http.Response, error) {
				if r.URL.Path == mute {
					return (&silent{}).RoundTrip(r)
				}
				return &http.Response{StatusCode: 200, Header: http.Header{},
					Body: io.NopCloser(strings.NewReader(answers[r.URL.Path]))}, nil
			})))
			ctx, leave := context.WithTimeout(t.Context(), time.Second)
			if _, err := l.call(ctx, "get_icon", []byte(`{"pack":"mdi","name":"home"}`)); err == nil {
				t.Errorf("%s hung, but the call succeeded", mute)
			}
			leave()
			synctest.Wait()
			began := time.Now()
			mute = ""
			if _, err := l.call(t.Context(), "get_icon", []byte(`{"pack":"mdi","name":"home"}`)); err != nil || time.Since(began) > 0 {
				t.Errorf("after %s did not answer: %s, %v", path, time.Since(began), err)
			}
			time.Sleep(client.CallTimeout) // the fetch that hangs times out
		}
	})
}

// with returns a configuration with a valid token, whose requests go to rt.
func with(rt http.RoundTripper) Config {
	return Config{Config: client.Config{API: "http://api.example", Token: goodToken, Transport: rt}}.filled()
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
