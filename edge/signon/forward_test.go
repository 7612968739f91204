package signon

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/iconedge/iconedge/config"
	"github.com/iconedge/iconedge/config/rules"
	"github.com/iconedge/iconedge/edge/upstream"
)

// counted counts verdicts by their result.
type counted struct {
	mu sync.Mutex
	of map[string]int
}

func (c *counted) SignedOn(_, result string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = map[string]int{}
	}
	c.of[result]++
}

// A service is a service of sign-on with its gate.
type service struct {
	*forward
	asked atomic.Int64
	seen  chan *http.Request // the last questions
	counted
}

// newService starts a service that answers by do.
func newService(t *testing.T, a config.ForwardAuth, do http.HandlerFunc) *service {
	t.Helper()
	s := &service{seen: make(chan *http.Request, 10_000)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked.Add(1)
		body, _ := io.ReadAll(r.Body)
		if len(body) > 0 {
			t.Errorf("the service got a body: %q", body)
		}
		s.seen <- r
		do(w, r)
	}))
	t.Cleanup(server.Close)
	a.URL = server.URL + a.URL
	s.forward = s.gate(t, a, server.URL)
	return s
}

func (s *service) gate(t *testing.T, a config.ForwardAuth, base string) *forward {
	t.Helper()
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	if a.Timeout == nil {
		a.Timeout = new(config.Duration(time.Minute))
	}
	client := upstream.New(upstream.Config{Origins: [][]*url.URL{{u}}})
	t.Cleanup(client.Close)
	on := &rules.SignOn{Auth: &config.Auth{Forward: &a}}
	return newForward(Options{Life: t.Context(), SignOn: on, Client: client, Observer: s})
}

// settled returns when so many requests wait.
func (s *service) settled(waiting int64) {
	for s.waiting.Load() < waiting {
		time.Sleep(time.Millisecond)
	}
}

// t0 is the time of requests.
var t0 = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

// from returns a request with fields, in pairs.
func from(fields ...string) *Request {
	q := &Request{Method: http.MethodGet, Target: "/a?b=c", Header: http.Header{}, Client: netip.MustParseAddr("192.0.2.1"), Now: t0}
	q.Forwarded = upstream.Forwarded{Peer: q.Client, Scheme: "https", Host: "app.test"}
	for i := 0; i < len(fields); i += 2 {
		q.Header.Add(fields[i], fields[i+1])
	}
	return q
}

// cookies lets the cookie session=NAME pass.
func cookies(w http.ResponseWriter, r *http.Request) {
	c, err := r.Cookie("session")
	if err != nil {
		http.Redirect(w, r, "/login?to="+url.QueryEscape(r.Header.Get("X-Forwarded-Uri")), http.StatusFound)
		return
	}
	w.Header().Set("X-User", c.Value)
	w.Header().Set("X-Other", "1")
	w.WriteHeader(http.StatusAccepted)
}

// say describes a verdict.
func say(v rules.Verdict) string {
	switch a := v.Refusal; {
	case a == nil:
		return "passes as " + strings.Join(v.Identity["X-User"], ",")
	case a.Err != nil:
		return "fails"
	default:
		return fmt.Sprint(a.Status, " ", a.Fields.Get("Location"))
	}
}

// Only a 2xx lets a request pass, with the fields that the operator names; any other response goes
// to the client as it is.
func TestForward(t *testing.T) {
	t.Parallel()
	s := newService(t, config.ForwardAuth{URL: "/check?x=1", Headers: config.Strings{"X-User"}}, cookies)
	if got := say(s.Check(from("Cookie", "session=ann"))); got != "passes as ann" {
		t.Error(got)
	}
	v := s.Check(from("Cookie", "session=ann"))
	if len(v.Identity) != 1 {
		t.Errorf("more fields than those named: %v", v.Identity)
	}
	if got := say(s.Check(from())); got != "302 /login?to=%2Fa%3Fb%3Dc" {
		t.Error(got)
	}
	for _, status := range []int{300, 301, 400, 401, 403, 404, 429, 500, 503, 999} {
		s := newService(t, config.ForwardAuth{}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Add("Set-Cookie", "a=1")
			w.Header().Add("Set-Cookie", "b=2")
			w.Header().Set("Www-Authenticate", "Basic")
			w.WriteHeader(status)
			io.WriteString(w, "who are you?")
		})
		a := s.Check(from("Authorization", "Basic x")).Refusal
		if a == nil {
			t.Fatalf("%d passes", status)
		}
		got := fmt.Sprintf("%d %s %q %s %s %q", a.Status, a.Body, a.Fields["Set-Cookie"], a.Fields.Get("Www-Authenticate"),
			a.Fields.Get("Cache-Control"), a.Fields.Get("Content-Length"))
		if want := fmt.Sprintf("%d who are you? [\"a=1\" \"b=2\"] Basic no-store \"\"", status); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// The service gets a GET without a body, with the client's fields, and with the address that is
// asked for, whatever the client says about it.
func TestQuestion(t *testing.T) {
	t.Parallel()
	s := newService(t, config.ForwardAuth{URL: "/check?x=1"}, cookies)
	q := from("Cookie", "session=ann", "X-Key", "1", "X-Forwarded-Uri", "/public", "X_Forwarded_Uri", "/public",
		"X-Forwarded-Method", "GET", "X-Forwarded-For", "10.0.0.1", "X-Real-Ip", "10.0.0.1", "X-Original-Url", "/public",
		"X-Forwarded-Host", "evil.test", "Forwarded", "for=10.0.0.1", "Content-Length", "5", "Content-Type", "text/plain",
		"Transfer-Encoding", "chunked", "Expect", "100-continue", "Upgrade", "websocket", "Connection", "X-Secret, upgrade",
		"X-Secret", "1", "Te", "trailers", "Range", "bytes=0-1", "If-None-Match", "*", "Keep-Alive", "1", "Host", "evil.test",
		"X-Http-Method-Override", "DELETE")
	q.Method = http.MethodPost
	s.Check(q)
	r := <-s.seen
	for name, want := range map[string]string{"Cookie": "session=ann", "X-Key": "1", "X-Forwarded-Uri": "/a?b=c",
		"X-Forwarded-Method": "POST", "X-Forwarded-For": "192.0.2.1", "X-Forwarded-Host": "app.test", "X-Forwarded-Proto": "https",
		"X_forwarded_uri": "", "X_Forwarded_Uri": "", "X-Real-Ip": "", "X-Original-Url": "", "Content-Type": "", "Expect": "",
		"Upgrade": "", "Connection": "", "X-Secret": "", "Te": "", "Range": "", "If-None-Match": "", "Keep-Alive": "",
		"Content-Length": "", "X-Http-Method-Override": "", "Forwarded": "for=192.0.2.1;host=app.test;proto=https"} {
		if got := strings.Join(r.Header[name], "|"); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	got := fmt.Sprint(r.Method, " ", r.URL, " ", r.ContentLength, r.TransferEncoding)
	if got != "GET /check?x=1 0 []" || r.Host == "evil.test" {
		t.Errorf("%s for %s", got, r.Host)
	}
}

// A decision counts for the requests that the service could not tell from the first one, and for no
// longer than the operator says.
func TestRecalled(t *testing.T) {
	t.Parallel()
	ann := []string{"Cookie", "session=ann", "User-Agent", "curl"}
	for name, row := range map[string]struct {
		anyAddress bool
		change     func(q *Request)
		asks       bool // the service
	}{
		"the same":              {change: func(*Request) {}},
		"another form":          {change: func(q *Request) { q.Header.Set("Accept", "text/html") }},
		"another target":        {change: func(q *Request) { q.Target = "/admin" }, asks: true},
		"another method":        {change: func(q *Request) { q.Method = "DELETE" }, asks: true},
		"any target":            {anyAddress: true, change: func(q *Request) { q.Target, q.Method = "/admin", "DELETE" }},
		"another host":          {anyAddress: true, change: func(q *Request) { q.Forwarded.Host = "b.test" }, asks: true},
		"another scheme":        {anyAddress: true, change: func(q *Request) { q.Forwarded.Scheme = "http" }, asks: true},
		"another client":        {anyAddress: true, change: func(q *Request) { q.Client = netip.MustParseAddr("192.0.2.2") }, asks: true},
		"another cookie":        {anyAddress: true, change: func(q *Request) { q.Header.Set("Cookie", "session=bob") }, asks: true},
		"a second cookie":       {anyAddress: true, change: func(q *Request) { q.Header.Add("Cookie", "session=bob") }, asks: true},
		"credentials elsewhere": {anyAddress: true, change: func(q *Request) { q.Header.Set("X-Api-Key", "1") }, asks: true},
		"no credentials":        {anyAddress: true, change: func(q *Request) { q.Header.Del("Cookie") }, asks: true},
		"a hidden cookie":       {anyAddress: true, change: func(q *Request) { q.Header.Set("Connection", "cookie") }, asks: true},
		"just in time":          {anyAddress: true, change: func(q *Request) { q.Now = t0.Add(30*time.Second - 1) }},
		"too late":              {anyAddress: true, change: func(q *Request) { q.Now = t0.Add(30 * time.Second) }, asks: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newService(t, config.ForwardAuth{Headers: config.Strings{"X-User"}, AnyAddress: row.anyAddress,
				Cache: new(config.Duration(30 * time.Second))}, cookies)
			s.Check(from(ann...))
			q := from(ann...)
			row.change(q)
			v := s.Check(q)
			if asks := s.asked.Load() == 2; asks != row.asks {
				t.Errorf("asks: %v", asks)
			}
			c, err := http.ParseCookie(q.Header.Get("Cookie"))
			if err == nil && v.Refusal == nil && v.Identity.Get("X-User") != c[0].Value {
				t.Errorf("%s is %s", c[0].Value, v.Identity.Get("X-User"))
			}
		})
	}
}

// A refusal is not recalled, and nobody gets the refusal of another client, which may have a cookie
// for that one alone.
func TestRefusalsAreOnesOwn(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	both := make(chan struct{})
	s := newService(t, config.ForwardAuth{Cache: new(config.Duration(time.Hour))}, func(w http.ResponseWriter, _ *http.Request) {
		i := n.Add(1)
		if i == 1 {
			<-both // the second client waits for the same question
		}
		w.Header().Set("Set-Cookie", fmt.Sprint("state=", i))
		w.WriteHeader(http.StatusUnauthorized)
	})
	got := make(chan string)
	for range 2 {
		go func() { got <- s.Check(from("Cookie", "lang=en")).Refusal.Fields.Get("Set-Cookie") }()
	}
	s.settled(2)
	close(both)
	if a, b := <-got, <-got; a == b {
		t.Errorf("both got %s", a)
	}
	if s.Check(from("Cookie", "lang=en")); n.Load() != 3 {
		t.Errorf("%d questions", n.Load())
	}
}

// A thousand requests of one person at once are one question.
func TestHerd(t *testing.T) {
	t.Parallel()
	const many = 1000
	arrived := make(chan struct{})
	s := newService(t, config.ForwardAuth{Headers: config.Strings{"X-User"}}, func(w http.ResponseWriter, r *http.Request) {
		<-arrived
		cookies(w, r)
	})
	var all sync.WaitGroup
	for range many {
		all.Go(func() {
			if got := say(s.Check(from("Cookie", "session=ann"))); got != "passes as ann" {
				t.Error(got)
			}
		})
	}
	s.settled(many)
	close(arrived)
	all.Wait()
	// A request may have been counted as waiting, and have joined only after the answer.
	if n := s.asked.Load(); n > many/10 {
		t.Errorf("%d questions", n)
	}
	if s.of[Passed]+s.of[Recalled] != many || s.waiting.Load() != 0 {
		t.Errorf("%v, %d wait", s.of, s.waiting.Load())
	}
}

// The request is refused where the service gives no answer: it is not there, hangs, breaks off, or
// says too much, also while it passes.
func TestOutage(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]http.HandlerFunc{
		"closes": func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) },
		"breaks off": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "10")
			io.WriteString(w, "short")
		},
		"too long": func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, strings.Repeat("x", maxRefusal+1)) },
	} {
		s := newService(t, config.ForwardAuth{}, do)
		if got := say(s.Check(from("Cookie", "session=ann"))); got != "fails" || s.of[Failed] != 1 {
			t.Errorf("%s: %s, %v", name, got, s.of)
		}
	}
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	s := &service{}
	gone := s.gate(t, config.ForwardAuth{URL: "/"}, "http://"+closed.Addr().String())
	if got := say(gone.Check(from("Cookie", "session=ann"))); got != "fails" {
		t.Error(got)
	}
}

// A service that hangs costs each request its timeout, and no more requests than a bound wait.
func TestSlowService(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0") // accepts, and never answers
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	s := &service{}
	g := s.gate(t, config.ForwardAuth{URL: "/", Timeout: new(config.Duration(50 * time.Millisecond))}, "http://"+ln.Addr().String())
	if got := say(g.Check(from("Cookie", "session=ann"))); got != "fails" {
		t.Error(got)
	}
	g.waiting.Store(maxWaiting)
	if got := say(g.Check(from("Cookie", "session=ann"))); got != "fails" || g.waiting.Load() != maxWaiting {
		t.Errorf("%s, %d wait", got, g.waiting.Load())
	}
}

// A decision with much about somebody is not kept.
func TestBoundedMemory(t *testing.T) {
	t.Parallel()
	for length, asks := range map[int]int64{maxIdentity: 1, maxIdentity + 1: 2} {
		s := newService(t, config.ForwardAuth{Headers: config.Strings{"X-User"}, Cache: new(config.Duration(time.Hour))},
			func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-User", strings.Repeat("x", length)) })
		s.Check(from("Cookie", "session=ann"))
		s.Check(from("Cookie", "session=ann"))
		if s.asked.Load() != asks {
			t.Errorf("%d bytes: %d questions", length, s.asked.Load())
		}
	}
}
