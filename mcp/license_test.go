package mcp

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	client "github.com/iconedge/iconedge/clients/go"
)

// TestLicense: until the API confirms the token for the lifetime plan, it gets no other request,
// and each call explains why (C21).
func TestLicense(t *testing.T) {
	for _, row := range []struct {
		about, token string
		verify       http.HandlerFunc
		want         string
	}{
		{"no token", "", nil, "ICONEDGE_LICENSE_TOKEN"},
		{"an empty token", " \n", nil, "ICONEDGE_LICENSE_TOKEN"},
		{"one that no header can carry", "a\r\nb", nil, "not valid"},
		{"one that no body of verify could carry", strings.Repeat("x", 9000), reply(413, `{}`), "not valid"},
		{"a wrong one", "iel_wrong", reply(200, `{"valid":false}`), "not valid"},
		{"valid:false with the plan", "iel_wrong", reply(200, `{"valid":false,"plan":"lifetime"}`), "not valid"},
		{"another plan", "iel_other", reply(200, `{"valid":true,"plan":"monthly"}`), "lifetime"},
		{"no plan", "iel_other", reply(200, `{"valid":true}`), "lifetime"},
		{"429", goodToken, reply(429, `{"valid":false}`, "Retry-After", "3"), "could not be verified; try again in 3 seconds"},
		{"503", goodToken, reply(503, `{"valid":false}`), "could not be verified; try again"},
		{"rubbish", goodToken, reply(200, `<html>`), "could not be verified; try again"},
		{"{}", goodToken, reply(200, `{}`), "could not be verified; try again"},
		{"valid is no boolean", goodToken, reply(200, `{"valid":"true","plan":"lifetime"}`), "could not be verified; try again"},
		{"null", goodToken, reply(200, `null`), "could not be verified; try again"},
		{"hung up", goodToken, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
			"could not be verified; try again"},
	} {
		a := newFakeAPI(t)
		a.answer("/api/v1/auth/verify", row.verify)
		s := dial(t, "stdio", Config{Config: client.Config{API: a.URL, Token: row.token}})
		for tool, args := range map[string]map[string]any{"get_icon": {"pack": "mdi", "name": "home",
			"format": "url"}, "search_icons": {"query": "home"}, "list_packs": {}, "get_pack": {"pack": "mdi"}} {
			got := call(t, s, tool, args)
			if !got.refused || !strings.Contains(got.texts[0], row.want) ||
				strings.Contains(row.want, "verified") && strings.Contains(got.texts[0], "not valid") {
				t.Errorf("%s: %s: %+v, want %q", row.about, tool, got, row.want)
			}
		}
		if n := len(a.requests("")); n != 0 {
			t.Errorf("%s: %d requests but verify", row.about, n)
		}
		if row.token != goodToken {
			continue
		}
		a.answer("/api/v1/auth/verify", nil)
		if got := call(t, s, "get_icon", map[string]any{"pack": "mdi", "name": "home"}); got.refused {
			t.Errorf("after %s: %+v", row.about, got)
		}
	}
}

// TestVerifyRequest: the token is sent to verify in the form of the API's contract.
func TestVerifyRequest(t *testing.T) {
	a := newFakeAPI(t)
	body := ""
	a.answer("/api/v1/auth/verify", func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		body = r.Method + " " + r.Header.Get("Content-Type") + " " + r.UserAgent() + " " + string(data)
		usual(w, r)
	})
	call(t, session(t, a), "list_packs", nil)
	if want := `POST application/json iconedge-mcp/1.2 {"token":"` + goodToken + `"}`; body != want {
		t.Errorf("verify was asked with %q, want %q", body, want)
	}
}

// TestGood: a positive answer holds for an hour, and for a day while verify fails.
func TestGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, answer := 0, `{"valid":true,"plan":"lifetime"}`
		g := newLibrary(with(roundTrip(func(*http.Request) (*http.Response, error) {
			asked++
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(answer))}, nil
		}))).gate
		for _, step := range []struct {
			about, answer string
			after         time.Duration
			asked         int
			open          bool
		}{
			{"first", answer, 0, 1, true},
			{"again", answer, time.Minute, 1, true},
			{"an hour later", answer, time.Hour, 2, true},
			{"nothing can be said", "rubbish", 2 * time.Hour, 3, true},
			{"for a day", "rubbish", 25 * time.Hour, 4, false},
			{"good again", answer, time.Minute, 5, true},
			{"revoked", `{"valid":false}`, time.Hour, 6, false},
			{"revoked, and then nothing can be said", "rubbish", time.Minute, 7, false},
		} {
			answer = step.answer
			time.Sleep(step.after)
			if err := g.open(t.Context()); (err == nil) != step.open || asked != step.asked {
				t.Errorf("%s: %v, asked %d times, want open %v, %d", step.about, err, asked, step.open, step.asked)
			}
		}
	})
}

// TestReplacedToken: a token that replaces another is verified, because the positive answer was
// about the other.
func TestReplacedToken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	var asked []string
	cfg := with(roundTrip(func(r *http.Request) (*http.Response, error) {
		body, err := io.ReadAll(r.Body)
		asked = append(asked, string(body))
		return &http.Response{StatusCode: 200, Header: http.Header{},
			Body: io.NopCloser(strings.NewReader(`{"valid":true,"plan":"lifetime"}`))}, err
	}))
	cfg.Token, cfg.TokenFile = "", path
	g := newLibrary(cfg).gate
	for _, token := range []string{"iel_first", "iel_first", "iel_second", "iel_second"} {
		if err := os.WriteFile(path, []byte(token+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := g.open(t.Context()); err != nil {
			t.Errorf("%s: %v", token, err)
		}
	}
	if want := []string{`{"token":"iel_first"}`, `{"token":"iel_second"}`}; !slices.Equal(asked, want) {
		t.Errorf("verify was asked about %q, want %q", asked, want)
	}
}

// TestConfirmedMeanwhile: a call that is too late for the collapsed request of the others does not
// verify the token again.
func TestConfirmedMeanwhile(t *testing.T) {
	asked := &silent{}
	l := newLibrary(with(asked))
	l.gate.remember(goodToken, time.Now())
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // a request would fail at once
	if err := l.gate.confirm(ctx, goodToken); err != nil || asked.asked.Load() != 0 {
		t.Errorf("%v, after %d requests", err, asked.asked.Load())
	}
}
