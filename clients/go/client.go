// Package client calls the public API of an icon service for programs on a user's machine: agent
// tools, editors, launchers, the commands search and get. It decides which responses are cached,
// what a failure is called, which credit belongs to an icon, and how often a service may be
// called. It knows nothing of edges, origins or stores.
//
// Its parts are reference (which words of a text name icons), output (the forms in which an icon is
// inserted), pace (when a search as you type starts), and react (an icon as a component). The
// tables in clients/testdata are cases for these, which clients in other languages run too.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"image/png"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/iconedge/iconedge/icon"
)

const (
	// CallTimeout is the time limit of one call to the API. That of a plugin is shorter.
	CallTimeout   = 12 * time.Second
	pluginTimeout = 10 * time.Second

	maxResponse = 8 << 20 // bytes of one response
)

// A Client calls the public API: {api}/search, /icon/x/y, /packs, /packs/x and /auth/verify.
// Concurrent fetches of the same target are collapsed into one. It may be used by many goroutines.
type Client struct {
	cfg     Config
	token   *tokenSource
	base    string // the part before /search
	timeout time.Duration
	http    *http.Client
	cache   *cache
	limits  limits
	fetches singleflight.Group
	named   atomic.Pointer[string] // the CDN that the API names, if none is configured
	log     *slog.Logger
}

// New returns a client. It makes no request.
func New(cfg Config) *Client {
	cfg = cfg.Filled()
	transport := cfg.Transport
	if transport == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.MaxIdleConnsPerHost, t.MaxConnsPerHost = 16, 32
		transport = t
	}
	c := &Client{
		cfg: cfg, token: newTokenSource(&cfg), base: cfg.API + "/api/v1", timeout: CallTimeout, cache: newCache(), log: cfg.Log,
		// A redirect would send the token elsewhere, so it counts as an error like any other
		// status.
		http: &http.Client{Transport: transport, CheckRedirect: func(*http.Request,
			[]*http.Request) error {
			return http.ErrUseLastResponse
		}},
	}
	if cfg.Plugin {
		c.timeout = pluginTimeout
		c.limits.folder = cfg.Folder
	}
	return c
}

// CDN returns the base address of the CDN, without a slash at its end: the configured one, else
// the one that the API has named, else the API's.
func (c *Client) CDN() string {
	if c.cfg.CDN != "" {
		return c.cfg.CDN
	}
	if named := c.named.Load(); named != nil {
		return *named
	}
	return c.cfg.API
}

// Note notes the CDN in the address of an icon that the API has named.
func (c *Client) Note(ref icon.Ref, address string) {
	base, ok := strings.CutSuffix(address, "/"+ref.String()+".svg")
	if ok && isBase(base) && !strings.ContainsAny(base, " \"'()<>\\") {
		c.named.Store(&base)
	}
}

// Token returns the licence token, or "" if there is none.
func (c *Client) Token() string { return c.token.current() }

// A Query is a search. Limit is 1 to 50; an empty Pack means all packs.
type Query struct {
	Text       string
	Limit      int
	Pack       string
	Commercial bool // only icons that may be used commercially
}

func (q Query) target() string {
	values := url.Values{"q": {q.Text}, "limit": {strconv.Itoa(q.Limit)}}
	if q.Pack != "" {
		values.Set("pack", q.Pack)
	}
	if q.Commercial {
		values.Set("commercial", "true")
	}
	return "/search?" + values.Encode()
}

// Search returns the API's response to a search.
func (c *Client) Search(ctx context.Context, q Query) (*icon.SearchAnswer, error) {
	a, err := c.search(ctx, q)
	if err != nil {
		return nil, err
	}
	if results := a.answer.Results; len(results) > 0 {
		c.Note(icon.Ref{Pack: results[0].Pack, Name: results[0].Name}, results[0].URL)
	}
	return a.answer, nil
}

func (c *Client) search(ctx context.Context, q Query) (*received[icon.SearchAnswer], error) {
	what := "The icon API"
	if q.Pack != "" {
		what = "Pack " + q.Pack
	}
	return call(ctx, c, q.target(), what, func(a *icon.SearchAnswer) bool { return a.Results != nil })
}

// SearchJSON is Search, and returns the response as it was received.
func (c *Client) SearchJSON(ctx context.Context, q Query) ([]byte, error) {
	a, err := c.search(ctx, q)
	if err != nil {
		return nil, err
	}
	return a.body, nil
}

// A Variant is the requested colour and form of an icon. The zero Variant is the icon as published.
type Variant struct {
	Color icon.Color
	icon.Variant
}

// Sized returns the variant with a colour and a height in pixels; both may be zero.
func Sized(color icon.Color, height int) Variant {
	return Variant{color, icon.Variant{Height: height}}
}

// Query returns the parameters of the variant, as people write them: a height alone is the size.
func (v Variant) Query() url.Values {
	values, err := url.ParseQuery(v.Variant.Query())
	if err != nil {
		panic(err) // Query is well-formed
	}
	if v.Color != "" {
		values.Set("color", string(v.Color))
	}
	if v.Height > 0 && v.Width == 0 {
		values.Set("size", values.Get("height"))
		values.Del("height")
	}
	return values
}

// Picture returns the variant of a PNG: one that is not too large, without a prefix of ids and
// without a colour for dark pages.
func (v Variant) Picture() Variant {
	v.Width, v.Height, v.ID, v.Dark = min(v.Width, icon.MaxPicture), min(v.Height, icon.MaxPicture), "", ""
	return v
}

// Icon returns the API's response for one icon.
func (c *Client) Icon(ctx context.Context, ref icon.Ref, v Variant) (*icon.Answer, error) {
	a, err := call(ctx, c, iconTarget(ref, v.Query()), iconWords(ref), func(a *icon.Answer) bool { return a.SVG != "" && a.License != "" })
	if err != nil {
		return nil, err
	}
	c.Note(ref, a.answer.Metadata.URL)
	return a.answer, nil
}

// Picture returns an icon as PNG, icon.DefaultPicture pixels high unless the variant names a size.
func (c *Client) Picture(ctx context.Context, ref icon.Ref, v Variant) ([]byte, error) {
	q := v.Picture().Query()
	q.Set("format", icon.FormatPNG)
	a, err := load(ctx, c, iconTarget(ref, q), iconWords(ref), form[[]byte]{"image/png", func(body []byte) *[]byte {
		if _, err := png.DecodeConfig(bytes.NewReader(body)); err != nil {
			return nil
		}
		return &body
	}})
	if err != nil {
		return nil, err
	}
	return a.body, nil
}

// iconTarget returns the target of an icon in the API.
func iconTarget(ref icon.Ref, q url.Values) string {
	t := "/icon/" + ref.String()
	if len(q) > 0 {
		t += "?" + q.Encode()
	}
	return t
}

func iconWords(ref icon.Ref) string { return "Icon " + ref.String() }

// Packs returns the API's list of packs.
func (c *Client) Packs(ctx context.Context) (*icon.PacksAnswer, error) {
	a, err := call(ctx, c, "/packs", "The list of packs", func(a *icon.PacksAnswer) bool { return a.Packs != nil })
	return value(a), err
}

// Pack returns the API's response for one pack.
func (c *Client) Pack(ctx context.Context, key string) (*icon.PackAnswer, error) {
	a, err := call(ctx, c, "/packs/"+key, "Pack "+key, func(a *icon.PackAnswer) bool { return a.Pack.Key == key && a.License != "" })
	return value(a), err
}

// A received response is decoded, and as it was sent. Callers change neither.
type received[T any] struct {
	answer *T
	body   []byte
}

func value[T any](a *received[T]) *T {
	if a == nil {
		return nil
	}
	return a.answer
}

// A form is the media type of a response and how it is decoded; nil means that it is not complete.
type form[T any] struct {
	accept string
	decode func(body []byte) *T
}

// call returns the response in JSON for a target. The function whole reports whether a response is
// complete.
func call[T any](ctx context.Context, c *Client, target, what string, whole func(*T) bool) (*received[T], error) {
	return load(ctx, c, target, what, form[T]{"application/json", func(body []byte) *T {
		answer := new(T)
		if json.Unmarshal(body, answer) != nil || !whole(answer) {
			return nil
		}
		return answer
	}})
}

// load returns the response for a target: a fresh one from the cache, else one from the API. Only
// complete responses are cached. A caller that gives up does not cancel the fetch of other callers.
func load[T any](ctx context.Context, c *Client, target, what string, as form[T]) (*received[T], error) {
	if answer := fresh[T](c, target); answer != nil {
		return answer, nil
	}
	answer, err := Collapse(ctx, &c.fetches, target, c.timeout, func(ctx context.Context) (any, error) {
		if answer := fresh[T](c, target); answer != nil {
			return answer, nil // another caller's fetch ended before this one joined it
		}
		return fetch(ctx, c, target, what, as)
	})
	if err != nil {
		return nil, err
	}
	return answer.(*received[T]), nil
}

// fresh returns the fresh response for a target in the cache, or nil.
func fresh[T any](c *Client, target string) *received[T] {
	if e, ok := c.cache.find(target); ok && time.Now().Before(e.freshUntil) {
		return e.answer.(*received[T])
	}
	return nil
}

// Collapse runs one fetch for all concurrent callers with the same key, for at most timeout. After
// a caller has given up, the next one starts a new fetch, because the first may hang.
func Collapse(ctx context.Context, fetches *singleflight.Group, key string, timeout time.Duration,
	fetch func(context.Context) (any, error)) (any, error) {
	done := fetches.DoChan(key, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
		defer cancel()
		return fetch(ctx)
	})
	select {
	case r := <-done:
		return r.Val, r.Err
	case <-ctx.Done():
		fetches.Forget(key)
		return nil, &Error{Sentence: "The icon service did not answer in time; try again.", Err: ctx.Err()}
	}
}

// fetch calls the API. It revalidates a stored response by its ETag.
func fetch[T any](ctx context.Context, c *Client, target, what string, as form[T]) (*received[T], error) {
	if err := c.limits.check(target, time.Now()); err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+target, nil)
	if err != nil {
		return nil, unreachable(err)
	}
	req.Header.Set("Accept", as.accept)
	if token := c.Token(); token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	old, kept := c.cache.find(target)
	if kept && old.etag != "" {
		req.Header.Set("If-None-Match", old.etag)
	}
	resp, body, err := c.do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusNotModified && kept {
		c.refresh(old, resp.Header)
		return old.answer.(*received[T]), nil
	}
	if resp.StatusCode != http.StatusOK {
		err := fault(resp, body, what)
		if c.cfg.Plugin && err.Status == http.StatusTooManyRequests {
			c.limits.reached(target, time.Now(), err.Wait)
		}
		return nil, err
	}
	body = []byte(c.Redact(string(body)))
	answer := as.decode(body)
	if answer == nil {
		return nil, refusef("The icon service returned an invalid response; try again later.")
	}
	got := &received[T]{answer, body}
	c.refresh(entry{target: target, answer: got, size: 2 * len(body), etag: resp.Header.Get("ETag")}, resp.Header)
	return got, nil
}

// refresh stores a response. A plugin reuses every search for searchFor, whatever the response
// says: a person types the same words again.
func (c *Client) refresh(e entry, h http.Header) {
	now := time.Now()
	var storable bool
	e.freshUntil, storable = freshness(h, now)
	if c.cfg.Plugin && storable && strings.HasPrefix(e.target, "/search?") && e.freshUntil.Before(now.Add(searchFor)) {
		e.freshUntil = now.Add(searchFor)
	}
	if storable {
		c.cache.store(e)
	}
}

// do sends a request and reads the whole response.
func (c *Client) do(req *http.Request) (*http.Response, []byte, error) {
	req.Header.Set("User-Agent", c.cfg.Agent)
	if req.Header.Get("Accept") == "" {
		req.Header.Set("Accept", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		c.log.Debug("request failed", "method", req.Method, "path", req.URL.Path, "error", err)
		return nil, nil, unreachable(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse+1))
	if err != nil || len(body) > maxResponse {
		c.log.Debug("incomplete response", "method", req.Method, "path", req.URL.Path, "error", err, "bytes", len(body))
		return nil, nil, refusef("The icon service ended its response early; try again.")
	}
	c.log.Debug("response", "method", req.Method, "path", req.URL.Path, "status", resp.StatusCode, "bytes", len(body))
	return resp, body, nil
}

// Redact removes the licence token from a text, because the service may send it back.
func (c *Client) Redact(s string) string {
	if token := c.Token(); len(token) >= 8 {
		return strings.ReplaceAll(s, token, "…")
	}
	return s
}

// OnCDN reports whether the CDN has an icon. It has no limit, and gets no token.
func (c *Client) OnCDN(ctx context.Context, ref icon.Ref) (bool, error) {
	resp, _, err := c.cdn(ctx, http.MethodHead, "/"+ref.String()+".svg")
	return err == nil && resp.StatusCode == http.StatusOK, err
}

// SVG returns an icon from the CDN. Size is its height in pixels; 0: its own. The caller checks it
// before it shows it.
func (c *Client) SVG(ctx context.Context, ref icon.Ref, size int) (string, error) {
	target := "/" + ref.String() + ".svg"
	if size > 0 {
		target += "?size=" + strconv.Itoa(size)
	}
	resp, body, err := c.cdn(ctx, http.MethodGet, target)
	if err != nil {
		return "", err
	}
	if resp.StatusCode != http.StatusOK {
		return "", fault(resp, body, "Icon "+ref.String())
	}
	return string(body), nil
}

// cdn sends a request to the CDN, without the token.
func (c *Client) cdn(ctx context.Context, method, target string) (*http.Response, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, c.CDN()+target, nil)
	if err != nil {
		return nil, nil, unreachable(err)
	}
	req.Header.Set("Accept", "image/svg+xml")
	return c.do(req)
}
