package mcp

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	client "github.com/iconedge/iconedge/clients/go"
)

const (
	plan      = "lifetime" // the plan that the tools require
	goodFor   = time.Hour  // for which a positive answer is not checked again
	graceFor  = 24 * time.Hour
	maxToken  = 2 << 10 // bytes; verify accepts 4 KiB and answers 413 to more
	unsureFix = "The license token could not be verified; try again"
)

// A gate lets calls through while the API says that the token is valid. It remembers a positive
// answer; after any other answer, the next call verifies again.
type gate struct {
	client  *client.Client
	fetches singleflight.Group

	mu    sync.Mutex
	token string    // that the API confirmed
	good  time.Time // when it last did
}

// open returns nil, or a refusal that explains the problem with the licence.
func (g *gate) open(ctx context.Context) error {
	token := g.client.Token()
	if token == "" {
		return refusef("A license token is needed: set ICONEDGE_LICENSE_TOKEN or ICONEDGE_LICENSE_TOKEN_FILE in the " +
			"environment of this server.")
	}
	// not a token of ours, and not fit for a header field
	if len(token) > maxToken || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return refusef("The license token is not valid; check ICONEDGE_LICENSE_TOKEN or ICONEDGE_LICENSE_TOKEN_FILE.")
	}
	if g.age(token, time.Now()) < goodFor {
		return nil
	}
	_, err := client.Collapse(ctx, &g.fetches, token, client.CallTimeout,
		func(ctx context.Context) (any, error) { return nil, g.confirm(ctx, token) })
	if ctx.Err() != nil && err != nil {
		return &client.Error{Sentence: unsureFix + ".", Err: err}
	}
	return err
}

// age returns the time since the API confirmed a token.
func (g *gate) age(token string, now time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.good.IsZero() || g.token != token {
		return graceFor
	}
	return now.Sub(g.good)
}

// confirm verifies the token unless another call has done so since its caller looked: a call may be
// too late for the collapsed request of the others, and must not make another one.
func (g *gate) confirm(ctx context.Context, token string) error {
	if g.age(token, time.Now()) < goodFor {
		return nil
	}
	return g.verify(ctx, token)
}

// verify asks the API about the token. If the API cannot answer, a token that was valid within the
// last day, and not rejected since, stays valid.
func (g *gate) verify(ctx context.Context, token string) error {
	answer, err := g.client.Verify(ctx, token)
	now := time.Now()
	switch {
	case err != nil && g.age(token, now) < graceFor:
		return nil
	case err != nil:
		return unsure(err)
	case !answer.Valid:
		g.remember(token, time.Time{})
		return refusef("The license token is not valid; check ICONEDGE_LICENSE_TOKEN or ICONEDGE_LICENSE_TOKEN_FILE.")
	case answer.Plan != plan:
		g.remember(token, time.Time{})
		return refusef("The license token is not of the lifetime plan, which this server needs.")
	}
	g.remember(token, now)
	return nil
}

// remember stores the time of a positive answer about a token, or the zero time after a rejection.
func (g *gate) remember(token string, good time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.token, g.good = token, good
}

// unsure returns the error of a token that the API gave no verdict about.
func unsure(err error) error {
	e, ok := errors.AsType[*client.Error](err)
	switch {
	case !ok:
		return &client.Error{Sentence: unsureFix + ".", Err: err}
	case e.Status == http.StatusTooManyRequests:
		return refusef("%s in %.0f seconds: the rate limit is reached.", unsureFix, e.Wait.Seconds())
	}
	return &client.Error{Sentence: unsureFix + ": " + strings.ToLower(e.Sentence[:1]) + e.Sentence[1:], Err: err}
}
