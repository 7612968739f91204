package rules

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/iconedge/iconedge/config"
)

// toOrigin is the action origin.
type toOrigin struct{ *config.Split }

func chooseOrigin(_ *Compiler, _ string, s *config.Split) Action { return toOrigin{s} }

func (a toOrigin) Apply(d *Decision, _ *Request, _ []string) *Answer {
	d.Origin = a.Split
	return nil
}

func rewrite(c *Compiler, at, to string) Action {
	t, n := newTemplate(to)
	if n > c.captured {
		c.undefined(at, n)
	}
	return t
}

// Apply is that of the action rewrite.
func (t template) Apply(d *Decision, q *Request, captures []string) *Answer {
	d.Target = t.fill(captures, q.rawQuery)
	q.Pay((hashSteps + len(captures)) * len(d.Target))
	return nil
}

// caching is the action cache.
type caching string

func setCache(_ *Compiler, _, mode string) Action { return caching(mode) }

func (a caching) Apply(d *Decision, _ *Request, _ []string) *Answer {
	d.Cache = string(a)
	return nil
}

// mirrored is the action mirror.
type mirrored struct{ *config.Mirror }

func mirrorTo(_ *Compiler, _ string, m *config.Mirror) Action { return mirrored{m} }

// Apply draws by bits of the random number that do not choose among origins.
func (a mirrored) Apply(d *Decision, q *Request, _ []string) *Answer {
	if a.Share == nil || float64(q.Random>>11)/(1<<53) < *a.Share {
		d.Mirror = a.To
	}
	return nil
}

// anyUser is the action cookies.
type anyUser bool

func setCookies(_ *Compiler, _, cookies string) Action { return anyUser(cookies == "ignore") }

func (a anyUser) Apply(d *Decision, _ *Request, _ []string) *Answer {
	d.AnyUser = bool(a)
	return nil
}

// access is the action allow, or deny.
type access struct {
	networks
	allow bool
}

func (a access) refuses(q *Request) bool {
	q.Pay(len(a.networks))
	return a.has(q.Client) != a.allow
}

func (a access) Apply(_ *Decision, q *Request, _ []string) *Answer {
	if !a.refuses(q) {
		return nil
	}
	return &Answer{Status: http.StatusForbidden, Text: "requests from this address are denied", Denied: true}
}

// signature is the action signed.
type signature struct{ *config.Signed }

func requireSignature(_ *Compiler, _ string, s *config.Signed) Action { return signature{s} }

func (a signature) Apply(_ *Decision, q *Request, _ []string) *Answer {
	if a.valid(q) {
		return nil
	}
	return &Answer{Status: http.StatusForbidden, Text: "the address is not signed, or its time is over", Denied: true}
}

// valid reports whether an address has a valid signature whose time is not over.
func (a signature) valid(q *Request) bool {
	q.Pay(hashSteps * len(q.rawPath))
	params, err := q.strictParameters()
	sig, exp := params[a.Param], params[a.Expires]
	if err != nil || len(sig) != 1 || len(exp) != 1 {
		return false
	}
	until, err := strconv.ParseInt(exp[0], 10, 64)
	if err != nil || q.Now.Unix() > until {
		return false
	}
	return hmac.Equal([]byte(Sign([]byte(a.Secret), q.rawPath, exp[0])), []byte(sig[0]))
}

// Sign returns the signature of a path until a time in Unix seconds: the lower-case hex of
// HMAC-SHA256 over path, a line feed and the time.
func Sign(secret []byte, path, expires string) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(path + "\n" + expires))
	return hex.EncodeToString(mac.Sum(nil))
}

// A Limit bounds the requests that match a rule: the action limit. State belongs to the caller.
type Limit struct {
	Rate     string // as in a file
	Name     string // unique in the site; a reload keeps it if the rule counts the same requests
	ByClient bool   // it counts by the address of the client, and not by the key
	State    any
	by       string // as in a file: client, path or header NAME
}

func limitRequests(_ *Compiler, _ string, l *config.RequestLimit) Action {
	return &Limit{Rate: string(l.Rate), ByClient: l.Key == "client", by: l.Key}
}

// Apply counts a request. Limits come before passwords, so that they bound guesses.
func (l *Limit) Apply(_ *Decision, q *Request, _ []string) *Answer {
	if q.Allow == nil {
		return nil
	}
	key := l.Key(q)
	q.Pay(hashSteps * len(key))
	if ok, wait := q.Allow(l, key); !ok {
		return Over(wait)
	}
	return nil
}

// Over returns the answer to a request over a limit, whose client has to wait.
func Over(wait time.Duration) *Answer {
	seconds := strconv.FormatInt(max(1, int64((wait+time.Second-1)/time.Second)), 10)
	text := "over the limit of requests; try again in " + seconds + " s"
	return &Answer{Status: http.StatusTooManyRequests, Text: text, Over: true, Name: "Retry-After", Value: seconds}
}

// Key returns the text whose requests the limit counts together, if it does not count by client.
func (l *Limit) Key(q *Request) string {
	field, isField := strings.CutPrefix(l.by, "header ")
	switch {
	case isField:
		lines := q.Lines(canonical(field))
		q.unsure = q.unsure || len(lines) > 1 // the pipeline may join them otherwise
		return strings.Join(lines, ", ")
	case l.by == "path":
		return q.path
	}
	return ""
}

// redirect is the action redirect.
type redirect struct {
	to     template
	status int
}

func redirectTo(c *Compiler, at string, r *config.Redirect) Action {
	t, n := newTemplate(r.To)
	if n > c.captured {
		c.undefined(at+".to", n)
	}
	if strings.Contains(r.To, "://$") {
		c.Wrong(at+".to", "a capture is the host, so that a client could choose it; must be https://HOST/ before the first $N")
	}
	return redirect{t, r.Status}
}

func (a redirect) Apply(_ *Decision, q *Request, captures []string) *Answer {
	return &Answer{Status: a.status, Name: "Location", Value: a.to.fill(captures, q.rawQuery)}
}

func respondWith(c *Compiler, at string, r *config.Respond) Action {
	a, err := newRespond(r)
	if err != nil {
		c.Wrong(at+".file", "%v; must be a readable file", err)
		return nil
	}
	return a
}

// Apply is that of the action respond.
func (a *Answer) Apply(*Decision, *Request, []string) *Answer { return a }

// maxRespond is the length of the longest file of respond, in bytes.
const maxRespond = 1 << 20

// newRespond returns the answer of respond.
func newRespond(r *config.Respond) (*Answer, error) {
	a := &Answer{Status: r.Status, Type: r.Type, Body: []byte(r.Body)}
	if r.File != "" {
		var err error
		if a.Body, err = config.ReadFile(r.File, maxRespond); err != nil {
			return nil, err
		}
	}
	if a.Type == "" {
		a.Type = "text/plain; charset=utf-8"
		if len(a.Body) > 0 {
			a.Type = http.DetectContentType(a.Body)
		}
	}
	return a, nil
}
