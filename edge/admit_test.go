package edge

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/iconedge/iconedge/edge/own/owntest"
	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/internal/logtest"
)

// token returns a well-formed token with a word in it.
func token(word string) string {
	return icon.AssembleToken(word + strings.Repeat("0", icon.TokenSecretLen-len(word)))
}

var good, bad = token("good"), token("bad")

func licensedEdge(t testing.TB, l *owntest.Origin, limits ...string) *edgeTest {
	e := newEdgeTest(t, l, func(c *Config) {
		c.RequireToken = true
		for _, s := range limits {
			if err := c.Limits.Set(s); err != nil {
				t.Fatal(err)
			}
		}
	})
	if err := e.library.Poll(); err != nil {
		t.Fatal(err)
	}
	return e
}

// A lifetime is an origin whose valid tokens all belong to one plan.
type lifetime struct{ *owntest.Origin }

func (l lifetime) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	broken := false
	l.Set(func() { broken = l.Broken })
	if r.Body = io.NopCloser(bytes.NewReader(body)); broken || !strings.Contains(string(body), "good") {
		l.Origin.ServeHTTP(w, r)
		return
	}
	io.WriteString(w, `{"valid":true,"plan":"lifetime"}`)
}

const challenge = `Bearer error="invalid_token"`

// Each row has the fields of a request and the expected response. %s is a token.
func TestRequireToken(t *testing.T) {
	t.Parallel()
	l := owntest.NewOrigin()
	e := licensedEdge(t, l, "search=1000/1h", "icon=1000/1h", "packs=1000/1h")
	for _, target := range []string{"/api/v1/search?q=home", "/api/v1/suggest?q=ho", "/api/v1/icon/mdi/home",
		"/api/v1/icon/mdi/home?format=svg", "/api/v1/packs", "/api/v1/packs/mdi"} {
		for range 3 { // stored, too
			for _, tt := range []struct {
				fields []string
				code   int
				wants  string
			}{
				{nil, 401, "Bearer"},
				{[]string{"Authorization", "Bearer " + good}, 200, ""},
				{[]string{"authorization", "bearer  " + good}, 200, ""},
				{[]string{"Authorization", "Bearer " + bad}, 401, challenge},
				{[]string{"Authorization", "Bearer " + good[:43]}, 401, challenge},
				{[]string{"Authorization", "Bearer"}, 401, challenge},
				{[]string{"Authorization", "Basic " + good}, 401, "Bearer"},
				{[]string{"Authorization", good}, 401, "Bearer"},
				{[]string{"Authorization", "Bearer " + good, "Authorization", "Bearer " + good}, 401, challenge},
				{[]string{"Authorization", "Bearer " + good + ", Bearer " + good}, 401, challenge},
				{[]string{"X-Authorization", "Bearer " + good}, 401, "Bearer"},
			} {
				for _, method := range []string{"GET", "HEAD"} {
					a := e.do(t, method, target, tt.fields...)
					if a.StatusCode != tt.code || a.Header.Get("WWW-Authenticate") != tt.wants ||
						tt.code == 401 && (a.Header.Get("Cache-Control") != "no-store" || a.Header.Get("RateLimit") == "") {
						t.Errorf("%s %s %.30q: %d %q, want %d %q", method, target, tt.fields, a.StatusCode,
							a.Header.Get("WWW-Authenticate"), tt.code, tt.wants)
					}
				}
			}
		}
	}
	if n := l.Count("/api/v1/search?q=home"); n != 1 {
		t.Errorf("the origin got %d requests for a response that all clients may share, want 1", n)
	}
	for _, target := range []string{"/mdi/home.svg", "/", "/healthz", "/api/v1/openapi.json", "/-/release"} {
		if a := e.get(t, target); a.StatusCode != 200 {
			t.Errorf("%s, which requires no token: %d", target, a.StatusCode)
		}
	}
	for _, target := range []string{"/api/v1/search?q=home", "/api/v1/icon/mdi/home"} {
		if a := e.do(t, "OPTIONS", target); a.StatusCode != 204 || a.Header.Get("RateLimit") != "" {
			t.Errorf("a preflight of %s: %d", target, a.StatusCode)
		}
	}
}

// An origin never sees a token, and its responses are stored for all clients, also by an edge that
// does not check tokens.
func TestTokenIsNotForwarded(t *testing.T) {
	for _, require := range []bool{true, false} {
		l := owntest.NewOrigin()
		seen := make(chan string, 100)
		e := newEdgeTest(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			seen <- r.Header.Get("Authorization")
			l.ServeHTTP(w, r)
		}), func(c *Config) { c.RequireToken = require })
		for i, target := range []string{"/api/v1/search?q=home", "/api/v1/search?q=home", "/mdi/home.svg",
			"/mdi/home.svg", "/api/v1/icon/mdi/home"} {
			a := e.get(t, target, "Authorization", "Bearer "+good)
			if a.StatusCode != 200 || strings.Contains(a.Header.Get("Cache-Status"), "hit") != (i == 1 || i == 3) {
				t.Errorf("%s: %d %s", target, a.StatusCode, a.Header.Get("Cache-Status"))
			}
		}
		close(seen)
		for field := range seen {
			if field != "" {
				t.Errorf("the origin was sent Authorization: %s", field)
			}
		}
	}
}

// Guessed tokens use up the client's window; well-formed ones also that of auth/verify. A valid
// token uses up neither.
func TestGuessingIsLimited(t *testing.T) {
	l := owntest.NewOrigin()
	e := licensedEdge(t, l, "search=5/1h", "verify=3/1h")
	const search = "/api/v1/search?q=home"
	from := func(client, token string) answer {
		return e.get(t, search, "X-Forwarded-For", client, "Authorization", "Bearer "+token)
	}
	for i := range 7 {
		if a := from("192.0.2.1", "nonsense"); a.StatusCode != map[bool]int{true: 401, false: 429}[i < 5] {
			t.Errorf("call %d with nonsense: %d", i+1, a.StatusCode)
		}
	}
	for i := range 5 {
		a := from("192.0.2.2", token(fmt.Sprint("bad", i)))
		policy, refused := a.Header.Get("RateLimit-Policy"), i >= 3
		if a.StatusCode != map[bool]int{true: 429, false: 401}[refused] ||
			policy != map[bool]string{true: `"verify";q=3;w=3600`, false: `"search";q=5;w=3600`}[refused] ||
			refused != (a.Header.Get("Retry-After") != "") {
			t.Errorf("guess %d: %d %v", i+1, a.StatusCode, a.Header)
		}
	}
	if n := l.Count("/api/v1/auth/verify"); n != 3 {
		t.Errorf("%d guesses reached the origin, want 3", n)
	}
	if a := from("192.0.2.2", token("bad0")); a.StatusCode != 401 {
		t.Errorf("a guess with a cached negative verdict: %d", a.StatusCode)
	}
	if a := from("192.0.2.3", good); a.StatusCode != 200 {
		t.Errorf("a valid token: %d", a.StatusCode)
	}
	if a := from("192.0.2.2", good); a.StatusCode != 200 {
		t.Errorf("a valid cached token, from a client with too many guesses: %d", a.StatusCode)
	}
}

// While the origin can't be asked, no client gets the response that its token is wrong.
func TestUnknownVerdict(t *testing.T) {
	l := owntest.NewOrigin()
	e := licensedEdge(t, l)
	const search = "/api/v1/search?q=home"
	if a := e.get(t, search, "Authorization", "Bearer "+good); a.StatusCode != 200 {
		t.Fatal(a.StatusCode)
	}
	l.Set(func() { l.Broken = true })
	if a := e.get(t, search, "Authorization", "Bearer "+good); a.StatusCode != 200 {
		t.Errorf("a token with a cached verdict: %d", a.StatusCode)
	}
	for _, word := range []string{"good2", "bad2"} {
		a := e.get(t, search, "Authorization", "Bearer "+token(word))
		if a.StatusCode != 502 || a.Header.Get("Retry-After") == "" || a.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %v", word, a.StatusCode, a.Header)
		}
	}
	if a := e.get(t, search, "Authorization", "Bearer nonsense"); a.StatusCode != 401 {
		t.Errorf("a malformed token: %d", a.StatusCode)
	}
}

// A response of the origin without a verdict neither admits a client nor refuses one.
func TestNoVerdict(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(http.ResponseWriter){
		"no JSON":        func(w http.ResponseWriter) { io.WriteString(w, "valid") },
		"no verdict":     func(w http.ResponseWriter) { io.WriteString(w, `{"plan":"lifetime"}`) },
		"null":           func(w http.ResponseWriter) { io.WriteString(w, `{"valid":null}`) },
		"another type":   func(w http.ResponseWriter) { io.WriteString(w, `{"valid":"true"}`) },
		"no such path":   func(w http.ResponseWriter) { w.WriteHeader(404); io.WriteString(w, `{"valid":true}`) },
		"another status": func(w http.ResponseWriter) { w.WriteHeader(203); io.WriteString(w, `{"valid":true}`) },
	} {
		e := newEdgeTest(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { answer(w) }),
			func(c *Config) { c.RequireToken = true })
		if a := e.get(t, "/api/v1/search?q=home", "Authorization", "Bearer "+good); a.StatusCode != 502 {
			t.Errorf("%s: %d", name, a.StatusCode)
		}
	}
}

// If a plan has its own limit, each of its tokens is counted by itself, from whichever address.
func TestPlanLimits(t *testing.T) {
	l := owntest.NewOrigin()
	for _, require := range []bool{true, false} {
		e := newEdgeTest(t, lifetime{l}, func(c *Config) {
			c.RequireToken = require
			for _, s := range []string{"search=2/1h", "icon=2/1h", "packs=2/1h", "lifetime:search=4/10m",
				"lifetime:packs=off", "other:icon=9/1h"} {
				must(t, c.Limits.Set(s))
			}
		})
		must(t, e.library.Poll())
		ask := func(target, client, token string) answer {
			fields := []string{"X-Forwarded-For", client}
			if token != "" {
				fields = append(fields, "Authorization", "Bearer "+token)
			}
			return e.get(t, target, fields...)
		}
		for i := range 6 {
			client := fmt.Sprintf("192.0.2.%d", 1+i%2)
			a := ask("/api/v1/search?q=home", client, good)
			want, policy := 200, `"search";q=4;w=600`
			if i >= 4 {
				want = 429
			}
			if a.StatusCode != want || a.Header.Get("RateLimit-Policy") != policy ||
				!strings.HasPrefix(a.Header.Get("RateLimit"), fmt.Sprintf(`"search";r=%d;t=`, max(0, 3-i))) {
				t.Errorf("call %d: %d %v, want %d", i+1, a.StatusCode, a.Header, want)
			}
			if a = ask("/api/v1/packs", client, good); a.StatusCode != 200 || a.Header.Get("RateLimit") != "" {
				t.Errorf("call %d of a route without a limit: %d %v", i+1, a.StatusCode, a.Header)
			}
			if a = ask("/api/v1/icon/mdi/home", "192.0.2.9",
				good); a.Header.Get("RateLimit-Policy") != `"icon";q=2;w=3600` || (a.StatusCode == 200) != (i < 2) {
				t.Errorf("call %d of a route without a limit of the plan: %d %v", i+1, a.StatusCode, a.Header)
			}
		}
		if a := ask("/api/v1/search?q=home", "192.0.2.1", token("good3")); a.StatusCode != 200 {
			t.Errorf("another token of the plan: %d", a.StatusCode)
		}
		if require {
			continue
		}
		for _, wrong := range []string{"", bad, "nonsense"} {
			for i := range 3 {
				if a := ask("/api/v1/search?q=home", "198.51.100."+fmt.Sprint(1+len(wrong)),
					wrong); a.Header.Get("RateLimit-Policy") != `"search";q=2;w=3600` || (a.StatusCode == 200) != (i < 2) {
					t.Errorf("call %d with %q: %d %v", i+1, wrong, a.StatusCode, a.Header)
				}
			}
		}
		l.Set(func() { l.Broken = true })
		if a := ask("/api/v1/search?q=home", "198.51.100.99", token("good4")); a.StatusCode != 200 {
			t.Errorf("an unknown token while the origin fails: %d, want 200", a.StatusCode)
		}
		l.Set(func() { l.Broken = false })
	}
}

// The allow list lifts limits, and nothing else.
func TestAllowedNeedTokens(t *testing.T) {
	e, _, _ := listed(t, func(c *Config) { c.RequireToken = true })
	for i := range 5 {
		if a := e.get(t, "/api/v1/search?q=home", "X-Forwarded-For", "192.0.2.1", "Authorization",
			"Bearer "+token(fmt.Sprint("good", i))); a.StatusCode != 200 || a.Header.Get("RateLimit") != "" {
			t.Errorf("%d %v", a.StatusCode, a.Header)
		}
		if a := e.get(t, "/api/v1/search?q=home", "X-Forwarded-For", "192.0.2.1"); a.StatusCode != 401 {
			t.Errorf("without a token: %d", a.StatusCode)
		}
	}
}

// No part of a token is logged, whatever the verdict.
func TestTokensAreNotLogged(t *testing.T) {
	log := new(logtest.Log)
	l := owntest.NewOrigin()
	e := newEdgeTest(t, l, func(c *Config) {
		c.RequireToken, c.OriginTimeout = true, time.Second
		c.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	tokens := []string{good, bad, token("good5"), good[:40]}
	for i, token := range tokens {
		l.Set(func() { l.Broken = i == 2 })
		e.get(t, "/api/v1/search?q=home", "Authorization", "Bearer "+token)
		e.raw(t, "GET /api/v1/search?q=home HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer "+token+"\r\nX A: b\r\n\r\n", 1)
		e.raw(t, "POST /api/v1/auth/verify HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 60\r\n\r\n"+
			fmt.Sprintf("%-60s", `{"token":"`+token+`"}`), 1)
		e.raw(t, "POST /api/v1/auth/verify HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n{\"token\":\""+token+"\"}", 1)
	}
	e.newAdmin(accessBy(t, good))
	if log.String() == "" {
		t.Error("nothing was logged at all")
	}
	for _, token := range tokens {
		if strings.Contains(log.String(), token[4:20]) {
			t.Errorf("the log has %s: %s", token, log.String())
		}
	}
	if strings.Contains(e.exported(), "iel_") {
		t.Error("a metric has a token")
	}
}
