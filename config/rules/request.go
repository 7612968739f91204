package rules

import (
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/iconedge/iconedge/internal/glob"
)

// A Request is a request as rules match it. The caller fills the exported fields; a Request is used
// for one decision, by one goroutine.
type Request struct {
	Method string
	Host   string // in lower case, without a port
	Target string // path and query, as sent
	TLS    bool
	Client netip.Addr
	Header http.Header // in canonical spelling; nil: Fields has the fields
	Fields Fields
	Now    time.Time
	Random uint64 // chooses among weighted origins
	// Unanswered leaves out the answers of rules, so that all their other actions count.
	Unanswered bool
	// Allow counts a request against a limit; nil: no limit is reached.
	Allow func(l *Limit, key string) (ok bool, retryAfter time.Duration)
	// Guess reports whether a password is that of an account, which compare finds out slowly. It
	// may remember that, because an account whose hash changes is another one. Its error is the
	// answer to a password that is not compared. nil: every password is compared at once.
	Guess func(account, password string, compare func() bool) (right bool, err error)
	// SignOn decides whether the sender of the request has signed on; nil: everybody has.
	SignOn func(*SignOn) Verdict

	path, rawQuery, rawPath string
	query, cookies          []pair
	queryRead, cookiesRead  bool
	lines                   []string // of the field that was read last
	fieldMap                fieldMap
	identity                identity // fields that clients can't send
	unsure                  bool     // Fields can't tell what a rule needs
	// The first value of each name, for expressions; nil: not made yet.
	firstParameters, firstCookies, headers map[string]string
	strict                                 url.Values // of strictParameters
	malformed                              error
	text                                   string              // the path for expressions
	joined                                 map[string][]string // fields of several lines
	country                                *string
	geo                                    *Countries

	captures []string // memory of the captures of paths
	filled   []byte   // memory of the address that a rule makes of captures
	kept     []byte   // memory of the cookies that are not stripped
	own      *ownDecision

	left     glob.Budget       // for the rules that are not decided yet
	runes    runes             // of the regular expression that is being matched
	patterns map[string]*regex // of the expression that is being evaluated
}

// An ownDecision is the memory of a decision that no other request shares, and of its answer.
type ownDecision struct {
	Decision
	answer Answer
}

// Fields gives access to the fields of a request as they came, without a copy of them.
type Fields interface {
	// Line returns the value of the nth line of a field, counted from 0, or nil if there are not so
	// many. The name may be in either case.
	Line(name string, nth int) []byte
}

// Reset makes q a new request, which reuses the memory of the last one.
func (q *Request) Reset() {
	*q = Request{query: q.query[:0], cookies: q.cookies[:0], lines: q.lines[:0], captures: q.captures[:0],
		filled: q.filled[:0], kept: q.kept[:0], own: q.own}
}

// Lines returns the lines of a field, whose name is in canonical spelling. They are valid until
// the next call.
func (q *Request) Lines(name string) []string {
	if q.Header != nil || q.Fields == nil {
		return q.Header[name]
	}
	q.unsure = q.unsure || q.identity.has(name)
	q.lines = q.lines[:0]
	for i := 0; ; i++ {
		line := q.Fields.Line(name, i)
		if line == nil {
			return q.lines
		}
		q.lines = append(q.lines, unsafe.String(unsafe.SliceData(line), len(line)))
	}
}

// SetHeader replaces the fields of the request, for its key.
func (q *Request) SetHeader(h http.Header) {
	q.Header, q.headers, q.cookiesRead, q.firstCookies, q.joined = h, nil, false, nil, nil
}

// prepare cuts the target, and normalises the path. Every spelling of a host and of an address is
// one, so that no client evades a rule by another.
func (q *Request) prepare(s *Site) {
	q.Host = strings.TrimSuffix(q.Host, ".") // as Table.Find
	q.Client = q.Client.Unmap().WithZone("")
	q.rawPath, q.rawQuery, _ = strings.Cut(q.Target, "?")
	q.path = Normalise(q.rawPath)
	q.geo, q.identity = s.countries, s.identity
	q.left = stepsPerRequest - glob.Budget(len(q.Target))
}

// Normalise returns a path in the form that rules match: percent-decoded once, without empty
// segments, and without "." and "..". It keeps a slash at the end.
func Normalise(raw string) string {
	s := raw
	if strings.IndexByte(s, '%') >= 0 {
		s = decode(s)
	}
	if !strings.Contains(s, "//") && !strings.Contains(s, "/.") && strings.HasPrefix(s, "/") {
		return s
	}
	var kept []string
	parts := strings.Split(s, "/")
	for _, part := range parts {
		switch part {
		case "", ".":
		case "..":
			if len(kept) > 0 {
				kept = kept[:len(kept)-1]
			}
		default:
			kept = append(kept, part)
		}
	}
	path := "/" + strings.Join(kept, "/")
	switch last := parts[len(parts)-1]; {
	case len(kept) > 0 && (last == "" || last == "." || last == ".."):
		path += "/"
	}
	return path
}

// decode replaces percent-encoded bytes. It leaves malformed ones as they are.
func decode(s string) string {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if hi, lo := unhex(s[i+1]), unhex(s[i+2]); hi < 16 && lo < 16 {
				b = append(b, hi<<4|lo)
				i += 2
				continue
			}
		}
		b = append(b, s[i])
	}
	return string(b)
}

func unhex(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10
	}
	return 16
}

// A pair is a parameter or a cookie.
type pair struct{ name, value string }

// firsts returns the first value of each name, which it keeps in made.
func (q *Request) firsts(pairs []pair, made *map[string]string) map[string]string {
	if *made == nil {
		q.Pay(madeSteps * len(pairs))
		*made = map[string]string{} // many may have one name, and CEL would look at all the room
		for _, p := range slices.Backward(pairs) {
			(*made)[p.name] = p.value
		}
	}
	return *made
}

// joinedLines returns the lines of a field joined, and each line.
func (q *Request) joinedLines(name string) []string {
	if q.joined[name] == nil {
		if q.joined == nil {
			q.joined = map[string][]string{}
		}
		lines := q.Lines(name)
		whole := strings.Join(lines, ", ")
		q.Pay(len(whole))
		q.joined[name] = append([]string{whole}, lines...)
	}
	return q.joined[name]
}

// parameters returns the parameters of the query.
func (q *Request) parameters() []pair {
	if !q.queryRead {
		q.queryRead, q.query = true, slices.Grow(q.query[:0], 1+strings.Count(q.rawQuery, "&"))
		for part := range strings.SplitSeq(q.rawQuery, "&") {
			if part == "" {
				continue
			}
			name, value, _ := strings.Cut(part, "=")
			q.query = append(q.query, pair{unescape(name), unescape(value)})
		}
		q.Pay(madeSteps*len(q.query) + hashSteps*len(q.rawQuery))
	}
	return q.query
}

// strictParameters returns the parameters if the whole query is well-formed.
func (q *Request) strictParameters() (url.Values, error) {
	if q.strict == nil {
		q.strict, q.malformed = url.ParseQuery(q.rawQuery)
		q.Pay(madeSteps*(1+strings.Count(q.rawQuery, "&")) + hashSteps*len(q.rawQuery))
	}
	return q.strict, q.malformed
}

func unescape(s string) string {
	if plain, err := url.QueryUnescape(s); err == nil {
		return plain
	}
	return s
}

// headerMap returns the lines of each field, joined, by its name in lower case.
func (q *Request) headerMap() map[string]string {
	if q.headers == nil {
		q.unsure = q.unsure || q.Header == nil
		q.headers = make(map[string]string, len(q.Header))
		for name, lines := range q.Header {
			value := strings.Join(lines, ", ")
			q.Pay(madeSteps + len(value))
			q.headers[strings.ToLower(name)] = value
		}
	}
	return q.headers
}

// cookiePairs returns the cookies. Some applications separate cookies by commas too, so it does as
// well.
func (q *Request) cookiePairs() []pair {
	if !q.cookiesRead {
		q.cookiesRead, q.cookies = true, q.cookies[:0]
		for _, line := range q.Lines("Cookie") {
			q.Pay(hashSteps * len(line))
			q.cookies = slices.Grow(q.cookies, 1+strings.Count(line, ";"))
			for more := true; more; {
				part, rest := line, ""
				at := strings.IndexAny(line, ";,")
				if more = at >= 0; more {
					part, rest = line[:at], line[at+1:]
				}
				line = rest
				name, value, _ := strings.Cut(part, "=")
				if name = strings.Trim(name, " \t"); name != "" {
					q.cookies = append(q.cookies, pair{name, strings.Trim(value, " \t\"")})
				}
			}
		}
		q.Pay(madeSteps * len(q.cookies))
	}
	return q.cookies
}

// countryOf returns the two letters of the client's country in upper case; empty: unknown.
func (q *Request) countryOf() string {
	if q.country == nil {
		c := q.geo.Of(q.Client)
		q.country = &c
	}
	return *q.country
}

// ResolveName gives CEL the fields of the request. It makes maps only for expressions that use
// them.
func (q *Request) ResolveName(name string) (any, bool) {
	switch name {
	case "request.method":
		return q.Method, true
	case "request.host":
		return q.Host, true
	case "request.path":
		if q.text == "" { // once, because an expression may need it in a loop
			q.text = strings.ToValidUTF8(q.path, "\uFFFD")
		}
		return q.text, true
	case "request.query":
		return q.firsts(q.parameters(), &q.firstParameters), true
	case "request.headers":
		q.fieldMap.q = q
		return &q.fieldMap, true
	case "request.cookies":
		return q.firsts(q.cookiePairs(), &q.firstCookies), true
	case "request.client":
		return q.Client.String(), true
	case "request.country":
		return q.countryOf(), true
	case "request.tls":
		return q.TLS, true
	case budgetName:
		return &payer{q, q.patterns}, true
	}
	return nil, false
}
