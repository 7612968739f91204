package signon

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/iconedge/iconedge/config"
	"github.com/iconedge/iconedge/config/rules"
	"github.com/iconedge/iconedge/edge/upstream"
)

// An issuer signs tokens with its newest key, and serves the public keys.
type issuer struct {
	url     string
	private map[string]ed25519.PrivateKey
	set     atomic.Pointer[jose.JSONWebKeySet] // nil: it fails
	asked   atomic.Int64
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	i := &issuer{private: map[string]ed25519.PrivateKey{}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i.asked.Add(1)
		set := i.set.Load()
		if set == nil || r.URL.Path != "/jwks" {
			http.Error(w, "", http.StatusInternalServerError)
			return
		}
		json.NewEncoder(w).Encode(set)
	}))
	t.Cleanup(server.Close)
	i.url = server.URL
	return i
}

// has makes keys with these names those of the issuer.
func (i *issuer) has(t *testing.T, kids ...string) {
	t.Helper()
	set := &jose.JSONWebKeySet{}
	for _, kid := range kids {
		if i.private[kid] == nil {
			_, private, err := ed25519.GenerateKey(rand.Reader)
			if err != nil {
				t.Fatal(err)
			}
			i.private[kid] = private
		}
		set.Keys = append(set.Keys, jose.JSONWebKey{Key: i.private[kid].Public(), KeyID: kid})
	}
	i.set.Store(set)
}

// token signs a token with a key.
func (i *issuer) token(t *testing.T, kid string, until time.Time) string {
	t.Helper()
	options := (&jose.SignerOptions{}).WithHeader("kid", kid)
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.EdDSA, Key: i.private[kid]}, options)
	if err != nil {
		t.Fatal(err)
	}
	payload, _ := json.Marshal(map[string]any{"sub": "ann", "exp": until.Unix(), "groups": []string{"staff"}})
	signed, err := signer.Sign(payload)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := signed.CompactSerialize()
	return text
}

// gate returns the gate of a site whose keys the issuer has.
func (i *issuer) gate(t *testing.T, c config.JWT) *tokens {
	t.Helper()
	u, err := url.Parse(i.url)
	if err != nil {
		t.Fatal(err)
	}
	client := upstream.New(upstream.Config{Origins: [][]*url.URL{{u}}})
	t.Cleanup(client.Close)
	c.Keys = i.url + "/jwks"
	if c.From == "" {
		c.From = "header Authorization"
	}
	return newTokens(Options{Life: t.Context(), Client: client, Observer: &counted{}, SignOn: &rules.SignOn{Auth: &config.Auth{JWT: &c}}})
}

// verdict returns the status of a request with a token at a time.
func verdict(g *tokens, now time.Time, fields ...string) int {
	q := from(fields...)
	q.Now = now
	q.Cookies = func(name string) (values []string) {
		for _, c := range (&http.Request{Header: q.Header}).CookiesNamed(name) {
			values = append(values, c.Value)
		}
		return values
	}
	switch a := g.Check(q).Refusal; {
	case a == nil:
		return http.StatusOK
	case a.Err != nil:
		return http.StatusServiceUnavailable
	default:
		return a.Status
	}
}

// The token is where the operator says, once.
func TestSource(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	i.has(t, "a")
	token := i.token(t, "a", t0.Add(time.Hour))
	for name, row := range map[string]struct {
		from   string
		fields []string
		want   int
	}{
		"Bearer":               {"", []string{"Authorization", "Bearer " + token}, 200},
		"bearer":               {"", []string{"Authorization", "bearer  " + token}, 200},
		"Basic":                {"", []string{"Authorization", "Basic " + token}, 401},
		"no scheme":            {"", []string{"Authorization", token}, 401},
		"none":                 {"", nil, 401},
		"two":                  {"", []string{"Authorization", "Bearer " + token, "Authorization", "Bearer x"}, 401},
		"elsewhere":            {"", []string{"X-Token", token}, 401},
		"a field":              {"header x-token", []string{"X-Token", token}, 200},
		"a cookie":             {"cookie session", []string{"Cookie", "a=b; session=" + token}, 200},
		"a cookie of the name": {"cookie session", []string{"Cookie", "xsession=" + token}, 401},
		"two cookies":          {"cookie session", []string{"Cookie", "session=" + token + "; session=x"}, 401},
		"the same twice":       {"cookie session", []string{"Cookie", "session=" + token + "; session=" + token}, 200},
	} {
		if got := verdict(i.gate(t, config.JWT{From: row.from}), t0, row.fields...); got != row.want {
			t.Errorf("%s: %d, want %d", name, got, row.want)
		}
	}
}

// A token tells the origin the claims that the operator names, and lacks others.
func TestTokenIdentity(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	i.has(t, "a")
	g := i.gate(t, config.JWT{Headers: map[string]string{"sub": "x-user", "groups": "X-Groups", "email": "X-Email"}})
	q := from("Authorization", "Bearer "+i.token(t, "a", t0.Add(time.Hour)))
	v := g.Check(q)
	if len(v.Identity) != 2 || v.Identity.Get("X-User") != "ann" || v.Identity.Get("X-Groups") != "staff" {
		t.Errorf("%+v", v)
	}
	g = i.gate(t, config.JWT{Claims: map[string]config.Strings{"groups": {"admin"}}})
	if a := g.Check(q).Refusal; a == nil || a.Status != http.StatusForbidden || a.Value != `Bearer error="insufficient_scope"` {
		t.Errorf("%+v", a)
	}
}

// Keys rotate: an unknown one makes the edge fetch the set, at a bounded rate; one that the issuer
// has withdrawn ends with the set that lacks it. Without its issuer the edge goes on with the keys
// that it has, for a day.
func TestRotation(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	i.has(t, "a")
	g := i.gate(t, config.JWT{})
	now := t0
	long := t0.Add(100 * time.Hour)
	token := map[string]string{"a": i.token(t, "a", long)}
	ask := func(kid string, want int, asked int64) {
		t.Helper()
		if got := verdict(g, now, "Authorization", "Bearer "+token[kid]); got != want || i.asked.Load() != asked {
			t.Errorf("%s: %d after %d fetches, want %d after %d", kid, got, i.asked.Load(), want, asked)
		}
	}
	ask("a", 200, 1)
	ask("a", 200, 1)
	i.has(t, "b", "x")
	token["b"], token["x"] = i.token(t, "b", long), i.token(t, "x", long)
	i.has(t, "b")
	ask("b", 401, 1) // too early
	now = now.Add(fetchEvery)
	ask("b", 200, 2)
	ask("a", 401, 2) // it is withdrawn
	for range 100 {
		ask("x", 401, 2) // unknown
	}
	now = now.Add(fetchEvery)
	for range 100 {
		ask("x", 401, 3)
	}
	i.set.Store(nil)
	now = now.Add(keysUsable - time.Second)
	if got := verdict(g, now, "Authorization", "Bearer "+token["b"]); got != 200 {
		t.Errorf("a day without the issuer: %d", got)
	}
	for i.asked.Load() < 4 {
		time.Sleep(time.Millisecond) // it fetches in the background
	}
	now = now.Add(fetchEvery)
	if got := verdict(g, now, "Authorization", "Bearer "+token["b"]); got != 503 {
		t.Errorf("more than a day: %d", got)
	}
}

// Without any keys nobody passes, and the issuer is asked once a second.
func TestNoKeys(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	i.has(t, "a")
	token := i.token(t, "a", t0.Add(time.Hour))
	i.set.Store(nil)
	g := i.gate(t, config.JWT{})
	for range 10 {
		if got := verdict(g, t0, "Authorization", "Bearer "+token); got != 503 {
			t.Error(got)
		}
	}
	if n := i.asked.Load(); n != 1 {
		t.Errorf("%d fetches", n)
	}
	i.has(t, "a")
	if got := verdict(g, t0.Add(retryEvery), "Authorization", "Bearer "+token); got != 200 {
		t.Error(got)
	}
}
