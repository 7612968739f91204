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
	patience  = 12 * time.Second // of one call with the API
	maxAnswer = 8 << 20          // bytes of one answer of it
)

// An upstream asks the public API: {api}/search, /icon/x/y, /packs and /packs/x. The same question asked by several at once is
// asked once.
type upstream struct {
	base    string // before /search
	token   string
	agent   string
	http    *http.Client
	cache   *cache
	flights singleflight.Group
	log     *slog.Logger
}

func newUpstream(cfg Config) *upstream {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost, transport.MaxConnsPerHost = 16, 32
	return &upstream{
		base: cfg.API + "/api/v1", token: cfg.Token, agent: "iconedge-mcp/" + cfg.Version, cache: newCache(), log: cfg.Log,
		// A redirect would take the token elsewhere: it is an answer like any other that is not 200.
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
	return ask(ctx, u, "/packs/"+key, "Pack "+key, func(a *icon.PackAnswer) bool { return a.Pack.Pack == key && a.License != "" })
}

// ask gives the answer to one question: from the cache where that is fresh, else from the API. whole says whether an answer is
// one; only such are kept. A caller who leaves does not take the answer away from the others.
func ask[T any](ctx context.Context, u *upstream, target, what string, whole func(*T) bool) (*T, error) {
	if e, ok := u.cache.find(target); ok && time.Now().Before(e.freshUntil) {
		return e.answer.(*T), nil
	}
	answer, err := together(ctx, &u.flights, target, func(ctx context.Context) (any, error) { return fetch(ctx, u, target, what, whole) })
	if err != nil {
		return nil, err
	}
	return answer.(*T), nil
}

// together asks once for all who ask the same at a time. Who comes after a caller has given up is asked for anew: what the
// others still wait for may never be answered.
func together(ctx context.Context, flights *singleflight.Group, question string, ask func(context.Context) (any, error)) (any, error) {
	flight := flights.DoChan(question, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		return ask(ctx)
	})
	select {
	case r := <-flight:
		return r.Val, r.Err
	case <-ctx.Done():
		flights.Forget(question)
		return nil, &refusal{"The icon service did not answer in time; try again.", ctx.Err()}
	}
}

// fetch asks the API, with the tag of what is kept.
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
		return nil, refusef("The icon service gave an answer that is not one of its own; try again later.")
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

// do sends a request and reads the whole answer.
func (u *upstream) do(req *http.Request) (*http.Response, []byte, error) {
	req.Header.Set("User-Agent", u.agent)
	req.Header.Set("Accept", "application/json")
	resp, err := u.http.Do(req)
	if err != nil {
		u.log.Debug("no answer", "method", req.Method, "path", req.URL.Path, "error", err)
		return nil, nil, unreachable(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil || len(body) > maxAnswer {
		u.log.Debug("half an answer", "method", req.Method, "path", req.URL.Path, "error", err, "bytes", len(body))
		return nil, nil, refusef("The icon service broke its answer off; try again.")
	}
	u.log.Debug("answered", "method", req.Method, "path", req.URL.Path, "status", resp.StatusCode, "bytes", len(body))
	return resp, body, nil
}
