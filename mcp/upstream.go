package mcp

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/iconedge/iconedge/icon"
)

const (
	callTimeout = 12 * time.Second // of one call to the API
	maxResponse = 8 << 20          // bytes of one response
)

// An upstream calls the public API: {api}/search, /icon/x/y, /packs and /packs/x. Concurrent
// fetches of the same target are collapsed into one.
type upstream struct {
	base    string // the part before /search
	token   string
	agent   string
	http    *http.Client
	cache   *cache
	fetches singleflight.Group
	log     *slog.Logger
}

func newUpstream(cfg Config) *upstream {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost, transport.MaxConnsPerHost = 16, 32
	return &upstream{
		base: cfg.API + "/api/v1", token: cfg.Token, agent: "iconedge-mcp/" + cfg.Version, cache: newCache(), log: cfg.Log,
		// A redirect would send the token elsewhere, so it counts as an error like any other
		// status.
		http: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
}

func (u *upstream) search(ctx context.Context, query string, limit int, pack string) (*icon.SearchAnswer, error) {
	values := url.Values{"q": {query}, "limit": {strconv.Itoa(limit)}}
	if pack != "" {
		values.Set("pack", pack)
	}
	return ask(ctx, u, "/search?"+values.Encode(), "Pack "+pack, func(a *icon.SearchAnswer) bool { return a.Results != nil })
}

func (u *upstream) icon(ctx context.Context, ref icon.Ref, color icon.Color) (*icon.Answer, error) {
	target := "/icon/" + ref.String()
	if color != "" {
		target += "?" + url.Values{"color": {string(color)}}.Encode()
	}
	return ask(ctx, u, target, "Icon "+ref.String(), func(a *icon.Answer) bool { return a.SVG != "" && a.License != "" })
}

func (u *upstream) packs(ctx context.Context) (*icon.PacksAnswer, error) {
	return ask(ctx, u, "/packs", "The list of packs", func(a *icon.PacksAnswer) bool { return a.Packs != nil })
}

func (u *upstream) pack(ctx context.Context, key string) (*icon.PackAnswer, error) {
	return ask(ctx, u, "/packs/"+key, "Pack "+key, func(a *icon.PackAnswer) bool { return a.Pack.Key == key && a.License != "" })
}

// ask returns the response for a target: a fresh one from the cache, else one from the API. The
// function whole reports whether a response is complete; only complete ones are cached. A caller
// that gives up does not cancel the fetch of other callers.
func ask[T any](ctx context.Context, u *upstream, target, what string, whole func(*T) bool) (*T, error) {
	if answer := fresh[T](u, target); answer != nil {
		return answer, nil
	}
	answer, err := collapse(ctx, &u.fetches, target, func(ctx context.Context) (any, error) {
		if answer := fresh[T](u, target); answer != nil {
			return answer, nil // another caller's fetch ended before this one joined it
		}
		return fetch(ctx, u, target, what, whole)
	})
	if err != nil {
		return nil, err
	}
	return answer.(*T), nil
}

// fresh returns the fresh response for a target in the cache, or nil.
func fresh[T any](u *upstream, target string) *T {
	if e, ok := u.cache.find(target); ok && time.Now().Before(e.freshUntil) {
		return e.answer.(*T)
	}
	return nil
}

// collapse runs one fetch for all concurrent callers with the same target. After a caller has given
// up, the next one starts a new fetch, because the first may hang.
func collapse(ctx context.Context, fetches *singleflight.Group, target string, fetch func(context.Context) (any, error)) (any, error) {
	done := fetches.DoChan(target, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
		defer cancel()
		return fetch(ctx)
	})
	select {
	case r := <-done:
		return r.Val, r.Err
	case <-ctx.Done():
		fetches.Forget(target)
		return nil, &refusal{"The icon service did not answer in time; try again.", ctx.Err()}
	}
}

// fetch calls the API. It revalidates a stored response by its ETag.
func fetch[T any](ctx context.Context, u *upstream, target, what string, whole func(*T) bool) (*T, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.base+target, nil)
	if err != nil {
		return nil, unreachable(err)
	}
	req.Header.Set("Authorization", "Bearer "+u.token)
	old, kept := u.cache.find(target)
	if kept && old.etag != "" {
		req.Header.Set("If-None-Match", old.etag)
	}
	resp, body, err := u.do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusNotModified && kept {
		u.refresh(old, resp.Header)
		return old.answer.(*T), nil
	}
	if resp.StatusCode != http.StatusOK {
		return nil, u.fault(resp, body, what)
	}
	answer := new(T)
	if json.Unmarshal(body, answer) != nil || !whole(answer) {
		return nil, refusef("The icon service returned an invalid response; try again later.")
	}
	u.refresh(entry{target: target, answer: answer, size: len(body), etag: resp.Header.Get("ETag")}, resp.Header)
	return answer, nil
}

func (u *upstream) refresh(e entry, h http.Header) {
	var storable bool
	if e.freshUntil, storable = freshness(h, time.Now()); storable {
		u.cache.store(e)
	}
}

// do sends a request and reads the whole response.
func (u *upstream) do(req *http.Request) (*http.Response, []byte, error) {
	req.Header.Set("User-Agent", u.agent)
	req.Header.Set("Accept", "application/json")
	resp, err := u.http.Do(req)
	if err != nil {
		u.log.Debug("request failed", "method", req.Method, "path", req.URL.Path, "error", err)
		return nil, nil, unreachable(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse+1))
	if err != nil || len(body) > maxResponse {
		u.log.Debug("incomplete response", "method", req.Method, "path", req.URL.Path, "error", err, "bytes", len(body))
		return nil, nil, refusef("The icon service ended its response early; try again.")
	}
	u.log.Debug("response", "method", req.Method, "path", req.URL.Path, "status", resp.StatusCode, "bytes", len(body))
	return resp, body, nil
}
