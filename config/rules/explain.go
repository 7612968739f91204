package rules

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/config"
	"github.com/iconedge/iconedge/edge/coding"
	"github.com/iconedge/iconedge/edge/upstream/balance"
	"github.com/iconedge/iconedge/internal/hostport"
)

// An Explanation says what happens with one request and why.
type Explanation struct {
	Site   string `json:"site"`
	Rules  []Step `json:"rules"`
	Origin string `json:"origin"` // empty: the edge answers itself
	URL    string `json:"url"`    // towards the origin
	Key    string `json:"key"`
	TTL    string `json:"ttl"`               // of a 200; empty: the response's own
	TTLFor string `json:"ttl_for,omitempty"` // which responses get it, and why
	Status int    `json:"status,omitempty"`
	To     string `json:"location,omitempty"`
	Cache  string `json:"cache,omitempty"`
	// SignOns are the ways to sign on that the edge asks for first. The rest is explained as if the
	// request passed.
	SignOns []string `json:"sign_on,omitempty"`
	// Groups says where the cache groups of a response hold, and the effect of
	// Cache-Group-Invalidation; empty: the edge ignores both.
	Groups string `json:"groups,omitempty"`
	// Policy is the balancing policy of an origin with several URLs, of which URL has the first.
	Policy string `json:"policy,omitempty"`
	// Codings are those that the client accepts, if the request says so, in the order in which it
	// gets one that was made of a stored response.
	Codings []string `json:"codings,omitempty"`
}

// Explain explains the decision about the request for a URL. It counts against no limit.
func Explain(t *Table, u *url.URL, q Request) (Explanation, error) {
	authority := hostport.CanonicalHost(u.Host, u.Scheme)
	host, _ := hostport.SplitHost(authority)
	s := t.Find(host)
	if s == nil {
		return Explanation{}, fmt.Errorf("no site has the host %s; the edge answers 421", host)
	}
	q.Host, q.TLS, q.Target = host, u.Scheme == "https", cmp.Or(u.EscapedPath(), "/")
	if u.RawQuery != "" {
		q.Target += "?" + u.RawQuery
	}
	d, steps := s.Explain(&q)
	e := Explanation{Site: s.Name, Rules: steps, Cache: d.Cache}
	if e.Rules == nil {
		e.Rules = []Step{}
	}
	for _, one := range d.SignOns {
		e.SignOns = append(e.SignOns, one.Text())
	}
	if d.Answer != nil {
		if e.Status = d.Answer.Status; d.Answer.Name == "Location" {
			e.To = d.Answer.Value
		}
		return e, nil
	}
	e.Origin = d.Choose(&q)
	target := cmp.Or(d.Target, q.Target)
	if o := s.Origins[e.Origin]; len(o.URLs)+len(o.Backups) > 1 {
		if row, ok := balance.Find(o.Policy); ok {
			e.Policy = row.Name + ": " + row.Help
		}
	}
	compresses := config.CompressAll
	if d.Compress != nil {
		compresses = *d.Compress
	}
	if compresses == config.CompressAll || compresses == config.CompressStored && d.Cache != "bypass" {
		e.Codings = accepted(strings.Join(q.Header["Accept-Encoding"], ","))
	}
	if dir := s.Origins[e.Origin].Dir; dir != "" {
		path, _, _ := strings.Cut(target, "?")
		e.URL = "file://" + (&url.URL{Path: dir}).EscapedPath() + Normalise(path)
	} else if urls := s.Origins[e.Origin].URLs; len(urls) > 0 {
		e.URL = strings.TrimSuffix(urls[0], "/") + target
	}
	head := q.Header.Clone()
	d.StripRequest(head)
	if lines := head["Accept-Encoding"]; len(lines) > 0 && cmp.Or(s.ClientEncoding, s.Defaults.ClientEncoding) != "as-sent" {
		head["Accept-Encoding"] = []string{cachepolicy.NormalEncoding(lines, len(head[cachepolicy.AvailableDictionary]) > 0)}
	}
	q.SetHeader(head)
	if d.Cache != "bypass" {
		e.Key = strings.ReplaceAll(s.Key(&d, &q, u.Scheme, authority), "\x00", " ")
		if d.KeysContent(q.Method) {
			e.Key += " and the content"
		}
	}
	e.Groups = groupsText(cmp.Or(s.CacheGroups, s.Defaults.CacheGroups, "soft"), &d, u.Scheme+"://"+authority)
	if ttl, ok := d.TTL.Of(200); ok {
		e.TTL, e.TTLFor = durationText(ttl), d.ttlFor(&q)
	} else if ttl, ok := d.DefaultTTL.Of(200); ok {
		e.TTL, e.TTLFor = durationText(ttl), "responses that name no lifetime"
		if who := d.ttlFor(&q); who != "" {
			e.TTLFor += ", of these " + who
		}
	}
	return e, nil
}

// groupsText explains the cache groups of the responses of a URI origin.
func groupsText(mode string, d *Decision, origin string) string {
	if mode == "off" || d.Cache == "bypass" {
		return ""
	}
	if d.SharedByHosts() {
		origin = "all hosts of the site"
	}
	done := map[string]string{"soft": "makes them stale", "hard": "removes them"}[mode]
	return fmt.Sprintf("those of Cache-Groups, for %s; Cache-Group-Invalidation %s", origin, done)
}

// accepted returns the content codings that an Accept-Encoding permits, in the order in which the
// client gets one of them.
func accepted(field string) (all []string) {
	var left []string
	for _, c := range coding.All() {
		left = append(left, c.String())
	}
	for {
		best := cachepolicy.Encoding(field, left...)
		if best == cachepolicy.Identity {
			return all
		}
		all = append(all, best)
		left = slices.DeleteFunc(left, func(name string) bool { return name == best })
	}
}

// ttlFor says which responses get the ttl of a decision, and why. cachepolicy.Request decides so
// about the responses themselves.
func (d *Decision) ttlFor(q *Request) string {
	const all, some = "every response, because ", "responses with public, a lifetime of their own or Vary: Cookie"
	path, _, _ := strings.Cut(q.Target, "?")
	types := cachepolicy.StaticTypes(path)
	switch {
	case d.Cache == "force":
		return all + "cache is force"
	case len(q.Header["Authorization"]) > 0 && !d.Authorized:
		return "responses with public, because the request has Authorization"
	case !d.leavesCookies(q):
		return all + "the request has neither Cookie nor Authorization"
	case d.AnyUser:
		return all + "cookies is ignore"
	case d.KeysCookies(q):
		return all + "the key has every cookie of the request"
	case types == nil:
		return some + ", because the request has Cookie, and no media type belongs to the end of its path"
	}
	return some + ", or of a type that belongs to the end of the path (" + strings.Join(types, ", ") + "), because the request has Cookie"
}

// leavesCookies reports whether the request has a cookie that the decision does not strip.
func (d *Decision) leavesCookies(q *Request) bool {
	for _, line := range q.Header["Cookie"] {
		for pair := range strings.SplitSeq(line, ";") {
			if strings.Trim(pair, " \t") != "" && !d.Strips(pair) {
				return true
			}
		}
	}
	return false
}

// Text returns the explanation for people.
func (e Explanation) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "site    %s\n", e.Site)
	for _, r := range e.Rules {
		mark := " "
		if r.Matched {
			mark = "x"
		}
		actions := ""
		if len(r.Actions) > 0 {
			actions = " → " + strings.Join(r.Actions, ", ")
		}
		fmt.Fprintf(&b, "rule    [%s] line %d: %s%s\n", mark, r.Line, r.Why, actions)
	}
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-7s %s\n", name, value)
		}
	}
	for _, one := range e.SignOns {
		line("sign-on", one+", which must let the request pass")
	}
	if e.Status != 0 {
		line("status", fmt.Sprint(e.Status))
		line("to", e.To)
		return b.String()
	}
	line("origin", e.Origin)
	line("url", e.URL)
	line("policy", e.Policy)
	line("cache", e.Cache)
	line("key", e.Key)
	line("ttl", cmp.Or(e.TTL, "as the response says"))
	line("for", e.TTLFor)
	line("groups", e.Groups)
	line("codings", strings.Join(e.Codings, ", "))
	return b.String()
}

// SharedByHosts reports whether all hosts of the site share the response: its key has no host.
func (d *Decision) SharedByHosts() bool { return d.Key.Host != nil && !*d.Key.Host }

// Key returns the cache key of a request: scheme, host and the target in the cache, and behind NUL
// the site with its key rules and everything else that the rules put into keys.
func (s *Site) Key(d *Decision, q *Request, scheme, host string) string {
	return string(s.AppendKey(make([]byte, 0, len(scheme)+len(host)+len(q.Target)+64), d, q, scheme, host))
}

// AppendKey appends Key.
func (s *Site) AppendKey(dst []byte, d *Decision, q *Request, scheme, host string) []byte {
	if d.SharedByHosts() {
		host = "_" // routes.AnyHost
	}
	dst = append(append(append(dst, scheme...), "://"...), host...)
	dst = s.appendCacheTarget(dst, d, q)
	dst = append(append(append(append(dst, 0), s.Name...), '/'), s.KeyRules...)
	// Also the name of the only origin: entries stay when a second one comes.
	dst = append(append(dst, "\x00o="...), d.Choose(q)...)
	for _, name := range d.Key.Headers {
		if name = canonical(name); name == "Host" {
			dst = appendKeyPart(dst, "\x00h=", name, ", ", q.Host)
			continue
		}
		dst = appendKeyPart(dst, "\x00h=", name, ", ", q.Lines(name)...)
	}
	for _, name := range d.Key.Cookies {
		dst = appendKeyPart(dst, "\x00c=", name, "; ", q.sentCookies(name)...)
	}
	return dst
}

// appendKeyPart appends the values of a field or a cookie to a key. Absent is not empty.
func appendKeyPart(dst []byte, kind, name, between string, values ...string) []byte {
	dst = append(append(dst, kind...), name...)
	if len(values) == 0 {
		return dst
	}
	return append(append(dst, ':'), url.QueryEscape(strings.Join(values, between))...)
}

// CacheTarget returns the path and query by which a response is stored.
func (s *Site) CacheTarget(d *Decision, q *Request) string {
	return string(s.appendCacheTarget(nil, d, q))
}

func (s *Site) appendCacheTarget(dst []byte, d *Decision, q *Request) []byte {
	target := cmp.Or(d.Target, q.Target)
	path, query, has := strings.Cut(target, "?")
	k := d.Key.Query
	switch {
	case !has || k == nil || !k.None && k.Include == nil && k.Exclude == nil:
		return append(dst, target...)
	case k.None:
		return append(dst, path...)
	}
	names := s.queries[k]
	dst = append(dst, path...)
	separator := byte('?')
	for part := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(part, "=")
		name = unescape(name)
		// Some applications find a second parameter behind a semicolon.
		hidden := strings.Contains(part, ";")
		included := k.Include != nil && (hidden || names.include.Match(name))
		if included || k.Exclude != nil && (hidden || !names.exclude.Match(name)) {
			dst = append(append(dst, separator), part...)
			separator = '&'
		}
	}
	return dst
}

// sentCookies returns the cookies whose name matches a pattern, as the client sent them: the origin
// may take the second of two with one name, or see a cookie behind a comma.
func (q *Request) sentCookies(pattern string) (pairs []string) {
	for _, line := range q.Lines("Cookie") {
		for pair := range strings.SplitSeq(line, ";") {
			if mayName(pair, []string{pattern}) {
				pairs = append(pairs, strings.Trim(pair, " \t"))
			}
		}
	}
	return pairs
}

// KeysContent reports whether the content of a request with this method is in the key: that of a
// QUERY (RFC 10008), and that of a POST if the rules say so. d is nil where there are no rules.
func (d *Decision) KeysContent(method string) bool {
	byRule := d != nil && d.Key.Body != nil && *d.Key.Body
	return method == cachepolicy.MethodQuery || method == http.MethodPost && byRule
}

// KeysHeader reports whether a field is in the key.
func (d *Decision) KeysHeader(name string) bool {
	return slices.ContainsFunc(d.Key.Headers, func(key string) bool { return canonical(key) == name })
}

// KeysCookies reports whether all cookies of a request are in its key.
func (d *Decision) KeysCookies(q *Request) bool {
	if d.KeysHeader("Cookie") {
		return true
	}
	for _, line := range q.Header["Cookie"] {
		for pair := range strings.SplitSeq(line, ";") {
			if !mayName(pair, d.Key.Cookies) {
				return false
			}
		}
	}
	return true
}

// mayName reports whether a cookie has one of the names, or has one behind a comma, which some
// applications read as the end of a cookie.
func mayName(pair string, patterns []string) bool {
	for part := range strings.SplitSeq(pair, ",") {
		name, _, _ := strings.Cut(part, "=")
		if matchesName(patterns, strings.Trim(name, " \t")) {
			return true
		}
	}
	return false
}

// Strips reports whether the decision strips a cookie of a request, NAME=VALUE.
func (d *Decision) Strips(pair string) bool { return d.StripAll || mayName(pair, d.StripCookies) }

// StripsSet reports whether the decision strips a line of Set-Cookie: that of a stripped cookie,
// and any if storing is forced.
func (d *Decision) StripsSet(line string) bool {
	name, _, _ := strings.Cut(line, "=")
	return d.StripAll || d.Cache == "force" || matchesName(d.StripCookies, strings.Trim(name, " \t"))
}

// matchesName reports whether a name is one of patterns, which may end in an asterisk.
func matchesName(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		stem, wild := strings.CutSuffix(p, "*")
		return name == p || wild && strings.HasPrefix(name, stem)
	})
}

// durationText returns a duration as a file has it: 30d, 1h30m or 10s.
func durationText(d time.Duration) string {
	const day = 24 * time.Hour
	if d > 0 && d%day == 0 {
		return fmt.Sprintf("%dd", d/day)
	}
	s := d.String()
	s = strings.TrimSuffix(s, "0s")
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return cmp.Or(s, "0")
}
