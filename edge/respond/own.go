package respond

import (
	"cmp"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/config/rules"
	"github.com/iconedge/iconedge/edge/access"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/internal/problem"
)

// A Refusal is a problem as the response to a request.
type Refusal struct {
	*problem.Problem
	Icons   bool                    // the site has icons: its problems have EveryAnswer
	Page    bool                    // it answers a request for a page of the site
	Accept  string                  // of a request for a page
	Vary    string                  // of a page; empty: Accept
	Words   string                  // in the search of the page
	Private bool                    // no cache may store it, whatever the problem says
	Count   *access.Count           // the limit that counted the request
	Status  cachepolicy.CacheStatus // of a request that used the cache
	Date    []byte
	Node    string // the name of this edge in Proxy-Status; empty: iconedge
	Details bool   // Proxy-Status has the cause, because the operator trusts the client
}

// Fill makes the fields of a response those of a refusal, and returns its body: a page for a
// browser that asked for a page of the site, and JSON for all others.
func (f *Refusal) Fill(r *exchange.Response) (body []byte) {
	if f.Page && problem.WantsPage(f.Accept) {
		r.Add(fasthttp.HeaderContentType, "text/html; charset=utf-8")
		r.Add(fasthttp.HeaderContentSecurityPolicy, problem.PagePolicy)
		body = f.Problem.Page(f.Words)
	} else {
		r.Add(fasthttp.HeaderContentType, problem.ContentType)
		body = f.JSON()
	}
	if f.Page || f.Vary != "" {
		r.Add(fasthttp.HeaderVary, cmp.Or(f.Vary, fasthttp.HeaderAccept))
	}
	if f.Icons {
		AddFields(r, EveryAnswer)
	}
	SetLimit(r, f.Count)
	r.Add("Proxy-Status", f.ProxyStatus(cmp.Or(f.Node, "iconedge"), f.Details))
	if f.Status.Hit || f.Status.Forward != "" {
		var buf [96]byte
		r.Add("Cache-Status", string(cachepolicy.AppendCacheStatus(buf[:0], f.Status)))
	}
	r.Add(fasthttp.HeaderDate, string(f.Date))
	r.Add(fasthttp.HeaderCacheControl, f.CacheControl())
	if f.Private {
		r.Set(fasthttp.HeaderCacheControl, "no-store")
	}
	for name, lines := range f.Header {
		for _, value := range lines {
			r.Set(name, value)
		}
	}
	return body
}

// RuledProblem returns the problem that is the answer of a rule; nil: it is a response of the
// operator.
func RuledProblem(a *rules.Answer) *problem.Problem {
	if a.Text == "" {
		return nil
	}
	p := problem.New(a.Status, a.Text).With(fasthttp.HeaderCacheControl, "no-store")
	if a.Name != "" {
		p = p.With(a.Name, a.Value)
	}
	return p
}

// Ruled makes the fields of a response those of a rule's answer that is no problem. Its status
// decides whether it has a body.
func Ruled(r *exchange.Response, a *rules.Answer, date []byte) (bodyless bool) {
	bodyless = a.Status == http.StatusNoContent || a.Status == http.StatusNotModified
	if a.Type != "" && !bodyless {
		r.Add(fasthttp.HeaderContentType, a.Type)
	}
	if a.Name != "" {
		r.Add(a.Name, a.Value)
	}
	for name, lines := range a.Fields {
		for _, value := range lines {
			r.Add(name, value)
		}
	}
	r.Lines = append(append(append(r.Lines, "Date: "...), date...), "\r\n"...)
	return bodyless
}

// Dates returns times as Date fields, each formatted once a second.
type Dates struct{ last atomic.Pointer[tick] }

type tick struct {
	second int64
	date   []byte
}

// Of returns a time as a Date.
func (c *Dates) Of(now time.Time) []byte {
	if t := c.last.Load(); t != nil && t.second == now.Unix() {
		return t.date
	}
	t := &tick{now.Unix(), fasthttp.AppendHTTPDate(nil, now)}
	c.last.Store(t)
	return t.date
}
