package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

const (
	plan      = "lifetime" // the one that the tools are for
	goodFor   = time.Hour  // that a good answer is taken for the truth
	graceFor  = 24 * time.Hour
	maxToken  = 2 << 10 // bytes: verify takes 4 KiB, and says of more that it is too large
	unsureFix = "The license token could not be verified; try again"
)

// A gate lets calls through while the API calls the token valid. A good answer is kept; any other is asked for again by the
// next call.
type gate struct {
	upstream *upstream
	flights  singleflight.Group

	mu   sync.Mutex
	good time.Time // when the API last called the token valid
}

// open returns nil, or a refusal that says what is wrong with the licence.
func (g *gate) open(ctx context.Context) error {
	token := g.upstream.token
	if token == "" {
		return refusef("A license token is needed: set ICONEDGE_LICENSE_TOKEN in the environment of this server.")
	}
	if len(token) > maxToken || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) { // none of ours, and none that a header could carry
		return refusef("The license token in ICONEDGE_LICENSE_TOKEN is not valid.")
	}
	if age := g.age(time.Now()); age < goodFor {
		return nil
	}
	_, err := together(ctx, &g.flights, "", func(ctx context.Context) (any, error) { return nil, g.verify(ctx) })
	if ctx.Err() != nil && err != nil {
		return &refusal{unsureFix + ".", err}
	}
	return err
}

// age says how long ago the token was called valid.
func (g *gate) age(now time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.good.IsZero() {
		return graceFor
	}
	return now.Sub(g.good)
}

// verify asks the API. Where that can't say, a token that was good within a day, and not refused since, still is.
func (g *gate) verify(ctx context.Context) error {
	answer, err := g.ask(ctx)
	now := time.Now()
	switch {
	case err != nil && g.age(now) < graceFor:
		return nil
	case err != nil:
		return err
	case !*answer.Valid:
		g.judged(time.Time{})
		return refusef("The license token in ICONEDGE_LICENSE_TOKEN is not valid.")
	case answer.Plan != plan:
		g.judged(time.Time{})
		return refusef("The license token is not of the lifetime plan, which this server needs.")
	}
	g.judged(now)
	return nil
}

// judged keeps what the API said of the token: when that was good, or the zero time.
func (g *gate) judged(good time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.good = good
}

// verdict is what the API says of a token. Valid is nil where it says nothing.
type verdict struct {
	Valid *bool
	Plan  string
}

func (g *gate) ask(ctx context.Context) (verdict, error) {
	body := marshal(map[string]string{"token": g.upstream.token})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.upstream.base+"/auth/verify", bytes.NewReader(body))
	if err != nil {
		return verdict{}, &refusal{unsureFix + ".", err}
	}
	req.Header.Set("Content-Type", "application/json")
	resp, data, err := g.upstream.do(req)
	if err != nil {
		return verdict{}, &refusal{unsureFix + ": " + strings.ToLower(err.Error()[:1]) + err.Error()[1:], err}
	}
	if resp.StatusCode == http.StatusTooManyRequests {
		return verdict{}, refusef("%s %s: the rate limit is reached.", unsureFix, wait(resp.Header))
	}
	var v verdict
	if resp.StatusCode != http.StatusOK || json.Unmarshal(data, &v) != nil || v.Valid == nil {
		return verdict{}, refusef("%s: the icon service gave no clear answer (status %d).", unsureFix, resp.StatusCode)
	}
	return v, nil
}
