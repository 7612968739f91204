package signon

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/iconedge/iconedge/config/rules"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/internal/jwt"
)

// tokens let requests with a valid token pass.
type tokens struct {
	Options
	required jwt.Required
	name     string // of the field or the cookie with the token
	cookie   bool
	keys     *keys
}

func newTokens(o Options) *tokens {
	c := o.SignOn.JWT
	t := &tokens{Options: o, required: jwt.Required{Issuer: c.Issuer, Audience: c.Audience, Claims: map[string][]string{}}}
	for claim, values := range c.Claims {
		t.required.Claims[claim] = values
	}
	t.name, t.cookie = c.Source()
	t.keys = &keys{fixed: o.SignOn.Keys}
	if o.Client != nil {
		_, target, _ := c.KeysURL()
		t.keys.fetch = func() (*jwt.Keys, error) { return fetchKeys(o, target) }
	}
	return t
}

// Check verifies the token of a request.
func (t *tokens) Check(q *Request) rules.Verdict {
	v, r := t.check(q)
	t.Observer.SignedOn("jwt", r)
	return v
}

func (t *tokens) check(q *Request) (rules.Verdict, string) {
	token := t.token(q)
	if token == "" {
		return refuse(http.StatusUnauthorized, "this address requires a token", "Bearer"), Refused
	}
	keys, err := t.keys.current(q.Now)
	if err != nil {
		return failed(err), Failed
	}
	claims, err := jwt.Verify(token, keys, t.required, q.Now)
	if errors.Is(err, jwt.ErrUnknownKey) {
		if newer := t.keys.newer(keys, q.Now); newer != nil {
			claims, err = jwt.Verify(token, newer, t.required, q.Now)
		}
	}
	switch {
	case errors.Is(err, jwt.ErrClaims):
		return refuse(http.StatusForbidden, "the token does not permit this", `Bearer error="insufficient_scope"`), Refused
	case err != nil:
		return refuse(http.StatusUnauthorized, "the token is not valid: it is malformed, expired, or of another issuer or audience",
			`Bearer error="invalid_token"`), Refused
	}
	identity := http.Header{}
	for claim, field := range t.SignOn.JWT.Headers {
		if text := claims.Text(claim); text != "" {
			identity[http.CanonicalHeaderKey(field)] = []string{text}
		}
	}
	return rules.Verdict{Identity: identity}, Passed
}

// refuse returns the refusal of a token (RFC 6750, section 3).
func refuse(status int, text, challenge string) rules.Verdict {
	return rules.Verdict{Refusal: &rules.Answer{Status: status, Text: text, Denied: true, Name: "Www-Authenticate", Value: challenge}}
}

// token returns the token of a request. Two different ones are none, because the origin might read
// the other one.
func (t *tokens) token(q *Request) string {
	lines := q.Header[t.name]
	if t.cookie {
		lines = q.Cookies(t.name)
	}
	if lines = slices.Compact(slices.Sorted(slices.Values(lines))); len(lines) != 1 {
		return ""
	}
	if t.cookie || t.name != "Authorization" {
		return strings.Trim(lines[0], " ")
	}
	scheme, token, _ := strings.Cut(lines[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.Trim(token, " ")
}

const (
	// keysFresh is how long keys are used before they are fetched again, in the background.
	keysFresh = 5 * time.Minute
	// keysUsable is how long they are used while their issuer can't be reached.
	keysUsable = 24 * time.Hour
	// fetchEvery is the least time between two fetches, whatever tokens arrive.
	fetchEvery = 10 * time.Second
	// retryEvery is the least time between two fetches while there are no keys.
	retryEvery = time.Second
	// maxKeySet is the length of the longest set of keys, in bytes.
	maxKeySet = 1 << 20
)

// errEarly reports that keys can't be fetched yet, because the last attempt is not long ago.
var errEarly = errors.New("the keys of the issuer could not be fetched a moment ago")

// keys are those of an issuer: fixed ones, or those that fetch returns.
type keys struct {
	fixed *jwt.Keys
	fetch func() (*jwt.Keys, error)

	flight  singleflight.Group
	mu      sync.Mutex
	known   *jwt.Keys
	fetched time.Time // when the known ones were
	tried   time.Time // the last fetch
}

// current returns the keys. It waits for a fetch if there are none that may be used.
func (k *keys) current(now time.Time) (*jwt.Keys, error) {
	if k.fixed != nil {
		return k.fixed, nil
	}
	k.mu.Lock()
	known, age, due := k.known, now.Sub(k.fetched), now.Sub(k.tried) >= fetchEvery
	k.mu.Unlock()
	switch {
	case known == nil || age >= keysUsable:
		return k.refresh(now, retryEvery)
	case age >= keysFresh && due:
		go k.refresh(now, fetchEvery)
	}
	return known, nil
}

// newer returns keys that were fetched after those that do not know a token's key; nil: there are
// none.
func (k *keys) newer(than *jwt.Keys, now time.Time) *jwt.Keys {
	if k.fixed != nil {
		return nil
	}
	k.mu.Lock()
	known := k.known
	k.mu.Unlock()
	if known != than {
		return known
	}
	if known, err := k.refresh(now, fetchEvery); err == nil && known != than {
		return known
	}
	return nil
}

// refresh fetches the keys, once for all that wait, unless the last fetch began less than a time
// ago.
func (k *keys) refresh(now time.Time, least time.Duration) (*jwt.Keys, error) {
	v, err, _ := k.flight.Do("", func() (any, error) {
		k.mu.Lock()
		early := !k.tried.IsZero() && now.Sub(k.tried) < least
		if !early {
			k.tried = now
		}
		k.mu.Unlock()
		if early {
			return nil, errEarly
		}
		fetched, err := k.fetch()
		if err != nil {
			return nil, err
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		k.known, k.fetched = fetched, now
		return fetched, nil
	})
	if err != nil {
		return nil, err
	}
	return v.(*jwt.Keys), nil
}

// keysTimeout is how long an issuer has for its keys.
const keysTimeout = 5 * time.Second

// fetchKeys fetches the keys of an issuer.
func fetchKeys(o Options, target string) (*jwt.Keys, error) {
	a, err := o.Client.Do(o.Life, upstream.Request{Method: http.MethodGet, Target: target,
		Header:   http.Header{"Accept": {"application/jwk-set+json, application/json"}},
		Patience: &upstream.Patience{FirstByte: keysTimeout, Idle: keysTimeout, Whole: keysTimeout}})
	if err != nil {
		return nil, err
	}
	text, err := a.Whole(maxKeySet)
	if err == nil && a.Status != http.StatusOK {
		err = fmt.Errorf("the issuer of the keys answered with status %d", a.Status)
	}
	if err != nil {
		return nil, err
	}
	return jwt.ParseKeys(text, false)
}
