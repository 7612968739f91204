// Package pipeline has the record of a request in the pipeline, and writes its response: a stored
// response or a new one in the form for this client (finish.go), a stream, or a problem. Package
// represent chooses the form, and package respond writes the head, as on the hit path.
package pipeline

import (
	"bytes"
	"net/http"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/config"
	"github.com/iconedge/iconedge/config/rules"
	"github.com/iconedge/iconedge/edge/access"
	"github.com/iconedge/iconedge/edge/dictionaries"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/respond"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/edge/vhosts"
	"github.com/iconedge/iconedge/internal/hostport"
	"github.com/iconedge/iconedge/internal/problem"
	"github.com/iconedge/iconedge/internal/trace"
)

// A Request is the record of one request in the pipeline: the exchange that its adapter made, and
// the results of each step.
type Request struct {
	*exchange.Request
	Ctx    *fasthttp.RequestCtx // the router's context, which also holds the response
	Site   *vhosts.Site
	Ruled  *Ruled // the decision of the site's rules; nil: none yet, or no rules
	Route  routes.Route
	Unread bool // the request could not be parsed
	// Now is the time for every decision about the request: when it arrived, or when its wait for a
	// collapsed fetch ended.
	Now    time.Time
	Target routes.Target
	Status cachepolicy.CacheStatus // for the field Cache-Status

	Pattern   string              // address pattern of its endpoint; empty: no endpoint
	Known     string              // for an edge behind this one: the known release on arrival
	Forwarded bool                // its path is not one of the edge's own routes
	Forward   cachepolicy.Forward // why the origin was asked
	Stream    *countedStream      // streamed response body; nil: not streamed
	Tell      *func(bytes int)    // reports the response when its tunnel has ended; nil: no tunnel

	Count access.Count // the limit that counted the request

	Dictionary *dictionaries.Dictionary // that the client has; nil: none

	// Public describes the request to the origin of a forwarded path. Its scheme and Host are those
	// of the client's request, as a trusted proxy or an edge behind this one names them.
	Public upstream.Forwarded

	Traced *Traced // its trace; nil: it is not traced
	ID     string  // for the origin, the log and the response; empty: requests have none

	fetching time.Duration // see Fetching

	Closed *rules.Page // the response while its site is closed; nil: it is open

	Mounted bool // its host is the mount of Iconify's API
	// ForeignPort: the port of Public.Host is none of the edge's, so that no request is forwarded.
	ForeignPort bool
}

// MayBeLost reports whether a person's browser gets a page of the site where the request finds
// nothing. The addresses of Iconify's API have answers of their own.
func (r *Request) MayBeLost() bool {
	own := r.Site.Icons && r.Site.Pages && !r.Forwarded && !r.Mounted
	if !own || r.Route == routes.Page || r.Route.OfIconify() {
		return false
	}
	return r.Ctx.IsGet() || r.Ctx.IsHead()
}

// Navigates reports whether a person opens the address of the request in a browser.
func (r *Request) Navigates() bool {
	return problem.Navigates(Field(r.Ctx, fasthttp.HeaderAccept), Field(r.Ctx, "Sec-Fetch-Dest"))
}

// HostName returns the name in a Host, in canonical form.
func HostName(host string) string {
	name, _ := hostport.SplitHost(host)
	return hostport.CanonicalName(name)
}

// IsHealthCheck reports whether the path of a request is that of the public health check.
func (r *Request) IsHealthCheck() bool {
	return r.Site.IsHealthPath(string(r.Ctx.URI().PathOriginal()))
}

// A recordMark is the key of a request's record among the user values of its context.
type recordMark struct{}

// Attach makes r the record of the request with this context.
func Attach(ctx *fasthttp.RequestCtx, r *Request) { ctx.SetUserValue(recordMark{}, r) }

// Of returns the record of a request. ServeRequest makes it and each step fills it, so that
// the log line has every known detail, whichever step ends the request.
func Of(ctx *fasthttp.RequestCtx) *Request { return ctx.UserValue(recordMark{}).(*Request) }

// A Traced holds the trace that a request is part of. nil means that neither this edge nor the
// sender traces the request.
type Traced struct {
	Parent trace.Parent // the trace context to pass on if this edge does not trace the request
	Here   *trace.Span  // the span of the request; nil: this edge does not trace it
}

// Span returns the span of the request at this edge; nil: the request is not traced here.
func (f *Traced) Span() *trace.Span {
	if f == nil {
		return nil
	}
	return f.Here
}

// Outgoing returns the trace context that a request to the origin carries if it is made for this
// request and not traced itself.
func (f *Traced) Outgoing() trace.Parent {
	if f == nil {
		return trace.Parent{}
	}
	return f.Parent
}

// A Ruled request is one about which the rules of its site have decided.
type Ruled struct {
	rules.Decision
	Request rules.Request
	Site    *rules.Site
	From    *vhosts.Upstream
}

// Decided returns the decision of the rules; nil: there are none.
func (d *Ruled) Decided() *rules.Decision {
	if d == nil {
		return nil
	}
	return &d.Decision
}

// FieldsOf returns the fields of a request, in canonical spelling.
func FieldsOf(r *Request) http.Header {
	head := make(http.Header, 16)
	for name, value := range r.Fields {
		key := http.CanonicalHeaderKey(string(name))
		head[key] = append(head[key], string(value))
	}
	return head
}

// Fetching returns how long the request has waited for the origin.
func (r *Request) Fetching() time.Duration { return r.fetching }

// AddFetching records that the request has waited for the origin since start.
func (r *Request) AddFetching(start time.Time) { r.fetching += time.Since(start) }

// EditResponse edits the fields of the response as the site and its rules say. A response that was
// decided before the rules has the edits of the site.
func (r *Request) EditResponse() {
	var edits []*config.ResponseEdits
	switch {
	case r.Ruled != nil:
		edits = r.Ruled.ResponseEdits
	default:
		edits = r.Site.ResponseEdits()
	}
	respond.Edit(&r.Response, r.Ctx.Response.StatusCode(), edits)
}

// compresses returns which responses the client may get in content codings.
func (r *Request) compresses() config.Compress {
	return r.Site.Compresses(r.Ruled.Decided())
}

// RawTarget returns the path and query of a request as the client sent them, also if its target is
// a whole URL (RFC 9112, section 3.2.2).
func RawTarget(ctx *fasthttp.RequestCtx) string {
	raw := string(ctx.RequestURI())
	if strings.HasPrefix(raw, "/") {
		return raw
	}
	_, rest, _ := strings.Cut(raw, "://")
	switch at := strings.IndexAny(rest, "/?"); {
	case at < 0:
		return string(ctx.URI().PathOriginal()) // "/", or the asterisk of OPTIONS
	case rest[at] == '?':
		return "/" + rest[at:]
	default:
		return rest[at:]
	}
}

// LinesOf returns fields as lines of HTTP/1.1.
func LinesOf(h http.Header) []byte {
	var out exchange.Response
	for name, lines := range h {
		for _, value := range lines {
			out.Add(name, value)
		}
	}
	return out.Lines
}

// MethodOf returns the method of a request to the origin. An extended CONNECT of HTTP/2 or HTTP/3
// is a GET with Upgrade in HTTP/1.1.
func MethodOf(r *Request) string {
	if r.Upgrade != "" && r.Protocol != exchange.H1 {
		return http.MethodGet
	}
	return string(r.Ctx.Method())
}

// PassInterim sends an interim response of the origin to the client whose request it answers. The
// clients that wait for the same fetch get none, and no cache stores it.
func (r *Request) PassInterim(i upstream.Interim) {
	r.Interims.Add(exchange.Interim{Status: i.Status, Lines: LinesOf(i.Header)})
}

// CountSite counts a request against a limit of its site: that of a class, or of all requests. It
// returns the 429 if the client is over it, which has the RateLimit fields.
func (r *Request) CountSite(a *access.Admission, class routes.Class, l vhosts.Limit) error {
	if l.Own == nil || a.Exempt(r.Request) {
		return nil
	}
	c := a.Take(access.OfSite(class, l.Own, l.Window), r.Client, r.Now)
	if c.Decision.OK {
		return nil
	}
	r.Count = c
	return access.TooMany(c.Decision)
}

// MethodPurge is the method that removes the stored responses of an address (--purge-method).
const MethodPurge = "PURGE"

// Field returns the value of a field, with several lines joined (RFC 9110, section 5.3).
func Field(ctx *fasthttp.RequestCtx, name string) string {
	lines := ctx.Request.Header.PeekAll(name)
	switch len(lines) {
	case 0:
		return ""
	case 1:
		return string(lines[0])
	}
	return string(bytes.Join(lines, []byte(", ")))
}
