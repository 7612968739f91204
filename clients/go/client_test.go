package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/internal/logtest"
)

const (
	token   = "iel_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	iconOne = `{"pack":"mdi","name":"home","svg":"<svg/>","license":"MIT","metadata":{"attribution":"A"}}`
	found   = `{"query":"home","results":[]}`
)

var home = icon.Ref{Pack: "mdi", Name: "home"}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func response(status int, body string, fields ...string) *http.Response {
	h := http.Header{}
	for i := 0; i+1 < len(fields); i += 2 {
		h.Set(fields[i], fields[i+1])
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}
}

// TestNamedCDN: without a configured CDN a plugin uses that of the API's responses, if it is an
// address, and before them the API's. A configured one counts more.
func TestNamedCDN(t *testing.T) {
	for _, row := range []struct {
		cfg  Config
		url  string
		want string
	}{
		{Config{Plugin: true, API: "http://a.example/"}, "https://cdn.example/x/mdi/home.svg", "https://cdn.example/x"},
		{Config{Plugin: true, API: "http://a.example/"}, "https://cdn.example/lucide/home.svg", "http://a.example"},
		{Config{Plugin: true, API: "http://a.example/"}, "javascript://x/mdi/home.svg", "http://a.example"},
		{Config{Plugin: true, API: "http://a.example/"}, `https://x.example/")/mdi/home.svg`, "http://a.example"},
		{Config{Plugin: true, CDN: "https://mine.example/"}, "https://cdn.example/mdi/home.svg", "https://mine.example"},
		{Config{}, "https://cdn.example/mdi/home.svg", DefaultBase},
	} {
		row.cfg.Transport = roundTrip(func(*http.Request) (*http.Response, error) {
			body, err := json.Marshal(icon.SearchAnswer{Results: []icon.Result{{Pack: "mdi", Name: "home", URL: row.url}}})
			return response(200, string(body)), err
		})
		c := New(row.cfg)
		if _, err := c.Search(t.Context(), Query{Text: "home", Limit: 1}); err != nil {
			t.Fatal(err)
		}
		if got := c.CDN(); got != row.want {
			t.Errorf("the CDN after %s: %s, want %s", row.url, got, row.want)
		}
	}
}

// TestCallerLeaves: a caller that gives up does not cancel the fetch that another caller waits for.
func TestCallerLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Config{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			select {
			case <-time.After(time.Second):
			case <-r.Context().Done():
				return nil, r.Context().Err()
			}
			return response(200, iconOne), nil
		})})
		ctx, leave := context.WithCancel(t.Context())
		go func() {
			if _, err := c.Icon(ctx, home, Variant{}); !errors.Is(err, context.Canceled) {
				t.Errorf("the caller that left: %v", err)
			}
		}()
		synctest.Wait()
		time.AfterFunc(time.Millisecond, leave)
		if _, err := c.Icon(t.Context(), home, Variant{}); err != nil {
			t.Errorf("the caller that stayed: %v", err)
		}
	})
}

// TestPluginWaits: after a 429 a plugin makes no request of that class until Retry-After has
// passed, also if it is another process; other classes are not concerned. An agent server asks
// again.
func TestPluginWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := map[string]int{}
		rt := roundTrip(func(r *http.Request) (*http.Response, error) {
			asked[class(strings.TrimPrefix(r.URL.Path, "/api/v1"))]++
			if r.URL.Path == "/api/v1/search" {
				return response(429, `{}`, "Retry-After", "7"), nil
			}
			return response(200, iconOne), nil
		})
		folder := t.TempDir()
		first := New(Config{Transport: rt, Plugin: true, Folder: folder})
		second := New(Config{Transport: rt, Plugin: true, Folder: folder})
		for _, step := range []struct {
			client *Client
			after  time.Duration
			asked  int
			says   string
		}{
			{first, 0, 1, "retry in 7 seconds"},
			{first, time.Second, 1, "retry in 6 seconds"},
			{second, 500 * time.Millisecond, 1, "retry in 6 seconds"},
			{second, 5 * time.Second, 1, "retry in 1 second."},
			{second, 500 * time.Millisecond, 2, "retry in 7 seconds"},
			{New(Config{Transport: rt}), 0, 3, "retry in 7 seconds"},
			{New(Config{Transport: rt, Plugin: true}), 0, 4, "retry in 7 seconds"},
		} {
			time.Sleep(step.after)
			_, err := step.client.Search(t.Context(), Query{Text: "home", Limit: 50})
			if e, ok := errors.AsType[*Error](err); !ok || e.Status != 429 || e.Wait <= 0 ||
				!strings.Contains(e.Sentence, step.says) || asked["search"] != step.asked {
				t.Errorf("%+v after %d searches, want %q after %d", err, asked["search"], step.says, step.asked)
			}
			if _, err := step.client.Icon(t.Context(), home, Variant{}); err != nil {
				t.Errorf("an icon: %v", err)
			}
		}
	})
}

// TestNoEndlessWait: a Retry-After of years is cut to an hour.
func TestNoEndlessWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		c := New(Config{Plugin: true, Folder: t.TempDir(), Transport: roundTrip(func(*http.Request) (*http.Response, error) {
			asked++
			return response(429, ``, "Retry-After", "4000000000"), nil
		})})
		c.Packs(t.Context())
		time.Sleep(longestWait)
		if c.Packs(t.Context()); asked != 2 {
			t.Errorf("%d requests", asked)
		}
	})
}

// TestPluginSearches: a plugin reuses a search for five minutes, whatever the response says, but no
// failure.
func TestPluginSearches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, status := 0, 500
		c := New(Config{Plugin: true, Transport: roundTrip(func(*http.Request) (*http.Response, error) {
			asked++
			return response(status, found, "Cache-Control", "max-age=1"), nil
		})})
		for _, step := range []struct {
			after  time.Duration
			status int
			asked  int
		}{{0, 500, 1}, {0, 200, 2}, {4 * time.Minute, 200, 2}, {time.Minute, 200, 3}} {
			time.Sleep(step.after)
			status = step.status
			if _, err := c.Search(t.Context(), Query{Text: "home", Limit: 50}); (err == nil) != (status == 200) || asked != step.asked {
				t.Errorf("%+v: %v, %d requests", step, err, asked)
			}
		}
	})
}

// TestRequests: the requests have the form of the API's contract; without a token there is no
// Authorization; a token that the service repeats is removed.
func TestRequests(t *testing.T) {
	var got []string
	body := strings.Replace(iconOne, `"A"`, `"A `+token+`"`, 1)
	rt := roundTrip(func(r *http.Request) (*http.Response, error) {
		got = append(got, r.URL.RequestURI()+" "+r.UserAgent()+" "+r.Header.Get("Authorization"))
		return response(200, map[bool]string{true: found, false: body}[strings.Contains(r.URL.Path, "search")],
			"Cache-Control", "no-store"), nil
	})
	with := New(Config{API: "http://x.example/a/", Token: token + "\n", Agent: "iconedge-lsp/1", Transport: rt})
	a, err := with.Icon(t.Context(), home, Sized("#ff0000", 48))
	if err != nil || a.Metadata.Attribution != "A …" {
		t.Errorf("%+v, %v", a, err)
	}
	without := New(Config{Transport: rt})
	without.Search(t.Context(), Query{Text: "a&limit=1 ü", Limit: 50, Pack: "mdi", Commercial: true})
	if raw, err := without.SearchJSON(t.Context(), Query{Text: "home", Limit: 5}); err != nil || string(raw) != found {
		t.Errorf("the response itself: %q, %v", raw, err)
	}
	for i, want := range []string{
		"/a/api/v1/icon/mdi/home?color=%23ff0000&size=48 iconedge-lsp/1 Bearer " + token,
		"/api/v1/search?commercial=true&limit=50&pack=mdi&q=a%26limit%3D1+%C3%BC iconedge/unknown ",
		"/api/v1/search?limit=5&q=home iconedge/unknown ",
	} {
		if got[i] != want {
			t.Errorf("request %q, want %q", got[i], want)
		}
	}
}

// TestTokenFile: each request bears the token that the file has then. While the file can't be used,
// the previous token stays, and the log says so without its content.
func TestTokenFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	var got string
	var log logtest.Log
	cfg := Config{TokenFile: path, Log: log.Logger(), Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		got = r.Header.Get("Authorization")
		return response(200, found, "Cache-Control", "no-store"), nil
	})}
	if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), "--license-token-file: open ") {
		t.Errorf("without a file: %v", err)
	}
	c := New(cfg)
	for i, step := range []struct{ text, want string }{
		{"iel_first\n", "Bearer iel_first"},
		{"", "Bearer iel_first"},
		{"iel_secret\niel_two", "Bearer iel_first"},
		{" iel_second \r\n", "Bearer iel_second"},
	} {
		if err := os.WriteFile(path, []byte(step.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Search(t.Context(), Query{Text: fmt.Sprint("home", i), Limit: 5}); err != nil || got != step.want {
			t.Errorf("after %q: Authorization %q, %v, want %q", step.text, got, err, step.want)
		}
	}
	if logged := log.String(); strings.Count(logged, "flag=--license-token-file") != 2 || strings.Contains(logged, "iel_") {
		t.Errorf("logged %s, want each of the two failures, and no token", logged)
	}
	cfg.Token = "iel_other"
	if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), "exclude each other") {
		t.Errorf("a token and a file: %v", err)
	}
}

// TestPluginGivesUp: no response within ten seconds counts as offline.
func TestPluginGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Config{Plugin: true, Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})})
		begin := time.Now()
		if _, err := c.Icon(t.Context(), home, Variant{}); err == nil || time.Since(begin) != 10*time.Second ||
			!strings.Contains(err.Error(), "did not answer in time") {
			t.Errorf("%v after %s", err, time.Since(begin))
		}
	})
}
