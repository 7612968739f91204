package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/iconedge/iconedge/edge/ratelimit"
	"github.com/iconedge/iconedge/internal/units"
)

// Strings is a list; a file may give one value without brackets.
type Strings []string

// Values are the texts of a flag, in order.
type Values []string

// A Duration is a length of time, such as 30d, 1h30m or 10s.
type Duration time.Duration

// A Size is a number of bytes, such as 512MB (10^6) or 512MiB (2^20).
type Size int64

// A Compress says which responses of other applications clients get in content codings. It is empty
// if it is not set.
type Compress string

// The values of a Compress.
const (
	CompressOff    Compress = "off"
	CompressStored Compress = "stored" // from the second client on
	CompressAll    Compress = "all"
)

// A Dictionaries says which responses of other applications clients may use as dictionaries for
// later versions of them (RFC 9842). It is empty if it is not set.
type Dictionaries string

// The values of a Dictionaries.
const (
	DictionariesOff    Dictionaries = "off"
	DictionariesOrigin Dictionaries = "origin" // those that the origin declares
	DictionariesAuto   Dictionaries = "auto"   // and versions of static files
)

// A Limit is a number of requests in a window, such as 10/1s, or off, as ratelimit.ParseLimit reads
// it.
type Limit string

// TTL is a freshness lifetime: of every status, or by status or class of statuses.
type TTL struct {
	All      *Duration
	ByStatus map[string]Duration // "404" or "4xx"
}

// Of returns the freshness lifetime of responses with a status. It is not ok if there is none.
func (t *TTL) Of(status int) (d time.Duration, ok bool) {
	if t == nil {
		return 0, false
	}
	if t.All != nil {
		return time.Duration(*t.All), true
	}
	if d, ok := t.ByStatus[strconv.Itoa(status)]; ok {
		return time.Duration(d), true
	}
	of, ok := t.ByStatus[strconv.Itoa(status/100)+"xx"]
	return time.Duration(of), ok
}

// Cookies are the cookies that strip_cookies names.
type Cookies struct {
	All   bool
	Names Strings // a name may end in *
}

// Query says which parameters are in the cache key.
type Query struct {
	None    bool
	Include Strings // only these; nil: all
	Exclude Strings // all but these
}

// A Split names the origins of requests, and how they share them.
type Split struct {
	Weights map[string]int // by name
	Sticky  string         // "client", "cookie NAME" or empty
}

// Names returns the names of the origins in order.
func (s *Split) Names() []string {
	if s == nil {
		return nil
	}
	return s.AppendNames(make([]string, 0, len(s.Weights)))
}

// AppendNames appends the names in order to dst, which is empty.
func (s *Split) AppendNames(dst []string) []string {
	for name := range s.Weights {
		dst = append(dst, name)
	}
	slices.Sort(dst)
	return dst
}

// A Match decides about requests: by an expression, by entries that must all hold, or by elements
// of which any must.
type Match struct {
	Expression string
	Any        []*Match
	Not        *Match
	Entries    Entries
	More       map[string]any `json:",omitempty"` // other entries, of Options.Matches
	At         string         // its path in the file
}

// Entries are the entries of a match, which must all hold.
type Entries struct {
	Host      Strings    `json:"host,omitempty"`
	Method    Strings    `json:"method,omitempty"`
	Country   Strings    `json:"country,omitempty"`
	Path      Strings    `json:"path,omitempty"`
	PathRegex Strings    `json:"path_regex,omitempty"`
	Query     Conditions `json:"query,omitempty"`
	Header    Conditions `json:"header,omitempty"`
	Cookie    Conditions `json:"cookie,omitempty"`
	Client    Strings    `json:"client,omitempty"`
}

// Conditions map names to the values that they must have: whole, as a glob, or a /regex/. An
// empty list means that the name must be present.
type Conditions map[string]Strings

// ParseDuration reads a Duration. The error names the form.
func ParseDuration(s string) (Duration, error) {
	if s == "0" {
		return 0, nil
	}
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		return 0, fmt.Errorf("%s has no unit; must be a time such as %ss, %sm, %sh or %sd", s, s, s, s, s)
	}
	wrong := fmt.Errorf("%q is no time; must be a number with s, m, h or d, such as 10s, 1h30m or 30d", clip(s))
	if s == "" {
		return 0, wrong
	}
	rest, days := s, int64(0)
	if number, after, ok := strings.Cut(s, "d"); ok {
		n, err := strconv.ParseInt(number, 10, 32)
		if err != nil || n < 0 {
			return 0, wrong
		}
		days, rest = n, after
	}
	var d time.Duration
	if rest != "" {
		var err error
		if d, err = time.ParseDuration(rest); err != nil || d < 0 || rest[0] == '+' || rest[0] == '-' {
			return 0, wrong
		}
	}
	const day = 24 * time.Hour
	if days > int64(math.MaxInt64/day)-1 || d > math.MaxInt64-time.Duration(days)*day {
		return 0, fmt.Errorf("%q is too long; must be at most %dd", clip(s), math.MaxInt64/day-1)
	}
	return Duration(time.Duration(days)*day + d), nil
}

// ParseSize reads a Size. The error names the form.
func ParseSize(s string) (Size, error) {
	if s == "0" {
		return 0, nil
	}
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		return 0, fmt.Errorf("%s has no unit; must be a size such as %sMB, %sMiB or %sGB", s, s, s, s)
	}
	n, err := units.ParseSize(s)
	return Size(n), err
}

// clip shortens a text for a finding.
func clip(s string) string {
	if len(s) > 80 {
		return strings.ToValidUTF8(s[:80], "") + "…"
	}
	return s
}

func (s *Strings) decode(d *decoder, path string, n *yaml.Node) {
	*s = Strings{}
	if n.Kind == yaml.ScalarNode {
		if text, ok := d.text(path, n); ok {
			*s = Strings{text}
		}
		return
	}
	d.list(path, n, "a value or a list of values", func(path string, n *yaml.Node) {
		if text, ok := d.text(path, n); ok {
			*s = append(*s, text)
		}
	})
}

// decodeWith decodes a scalar with a function.
func decodeWith[T any](d *decoder, path string, n *yaml.Node, to *T, parse func(string) (T, error)) {
	text, ok := d.text(path, n)
	if !ok {
		return
	}
	v, err := parse(text)
	if err != nil {
		d.find(path, n, err.Error())
		return
	}
	*to = v
}

func (v *Duration) decode(d *decoder, path string, n *yaml.Node) {
	decodeWith(d, path, n, v, ParseDuration)
}

func (v *Compress) decode(d *decoder, path string, n *yaml.Node) {
	decodeWith(d, path, n, v, func(s string) (c Compress, err error) { return c, c.Set(s) })
}

// String returns the value.
func (v *Compress) String() string { return string(*v) }

// Set parses a value. true and on are all, false is off.
func (v *Compress) Set(s string) error {
	switch s {
	case "true", "on", string(CompressAll):
		*v = CompressAll
	case "false", string(CompressOff):
		*v = CompressOff
	case string(CompressStored):
		*v = CompressStored
	default:
		return fmt.Errorf("%q is unknown; must be all, stored or off", clip(s))
	}
	return nil
}

func (v *Dictionaries) decode(d *decoder, path string, n *yaml.Node) {
	decodeWith(d, path, n, v, func(s string) (c Dictionaries, err error) { return c, c.Set(s) })
}

// String returns the value.
func (v *Dictionaries) String() string { return string(*v) }

// Set parses a value. false is off.
func (v *Dictionaries) Set(s string) error {
	switch s {
	case string(DictionariesAuto), string(DictionariesOrigin), string(DictionariesOff):
		*v = Dictionaries(s)
	case "false":
		*v = DictionariesOff
	default:
		return fmt.Errorf("%q is unknown; must be auto, origin or off", clip(s))
	}
	return nil
}

func (v *Size) decode(d *decoder, path string, n *yaml.Node) { decodeWith(d, path, n, v, ParseSize) }

func (v *Limit) decode(d *decoder, path string, n *yaml.Node) {
	decodeWith(d, path, n, v, func(s string) (Limit, error) {
		l, err := ratelimit.ParseLimit(s)
		if err != nil {
			return "", fmt.Errorf("%q is no limit; %w", clip(s), err)
		}
		return Limit(l.String()), nil
	})
}

func (t *TTL) decode(d *decoder, path string, n *yaml.Node) {
	if n.Kind == yaml.ScalarNode {
		t.All = new(Duration)
		t.All.decode(d, path, n)
		return
	}
	t.ByStatus = map[string]Duration{}
	d.mapping(path, n, "a time, or a map of statuses to times, such as {\"200\": 30d, 4xx: 1m}", func(name, path string, _, n *yaml.Node) {
		if !isStatus(name) {
			d.find(path, n, fmt.Sprintf("%q is no status; must be three digits such as 404, or a class such as 4xx", clip(name)))
			return
		}
		var v Duration
		v.decode(d, path, n)
		t.ByStatus[name] = v
	})
}

// isStatus reports whether s is a status or a class of statuses.
func isStatus(s string) bool {
	return len(s) == 3 && '1' <= s[0] && s[0] <= '5' && (s[1:] == "xx" || isDigit(s[1]) && isDigit(s[2]))
}

// HasStatus reports whether a text, such as 404 or 4xx, names a status.
func HasStatus(text string, status int) bool {
	return isStatus(text) && status/100 == int(text[0]-'0') &&
		(text[1:] == "xx" || status%100 == int(text[1]-'0')*10+int(text[2]-'0'))
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func (c *Cookies) decode(d *decoder, path string, n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!bool" {
		d.value(path, n, &c.All)
		return
	}
	c.Names.decode(d, path, n)
}

func (q *Query) decode(d *decoder, path string, n *yaml.Node) {
	if n.Kind == yaml.ScalarNode {
		switch text, _ := d.text(path, n); text {
		case "all":
		case "none":
			q.None = true
		default:
			d.find(path, n, fmt.Sprintf("%q is unknown; must be all, none, {include: […]} or {exclude: […]}", clip(text)))
		}
		return
	}
	var lists struct {
		Include Strings `json:"include,omitempty"`
		Exclude Strings `json:"exclude,omitempty"`
	}
	d.value(path, n, &lists)
	if (lists.Include == nil) == (lists.Exclude == nil) {
		d.find(path, n, "names both or neither of include and exclude; must be one of them")
	}
	q.Include, q.Exclude = lists.Include, lists.Exclude
}

func (s *Split) decode(d *decoder, path string, n *yaml.Node) {
	s.Weights = map[string]int{}
	if n.Kind == yaml.ScalarNode {
		if name, ok := d.text(path, n); ok {
			s.Weights[name] = 1
		}
		return
	}
	d.mapping(path, n, "the name of an origin, or a map of names to weights", func(name, path string, _, n *yaml.Node) {
		if name == "sticky" {
			s.Sticky, _ = d.text(path, n)
			cookie, isCookie := strings.CutPrefix(s.Sticky, "cookie ")
			if s.Sticky != "client" && (!isCookie || !IsToken(cookie)) {
				d.find(path, n, fmt.Sprintf("%q is unknown; must be client, or cookie NAME", clip(s.Sticky)))
			}
			return
		}
		weight := 0
		d.value(path, n, &weight)
		if weight < 0 || weight > maxWeight {
			d.find(path, n, fmt.Sprintf("%d is no weight; must be from 0 to %d", weight, maxWeight))
		}
		s.Weights[name] = weight
	})
	total := 0
	for _, weight := range s.Weights {
		total += weight
	}
	if total <= 0 && n.Kind == yaml.MappingNode {
		d.find(path, n, "no origin has a weight above 0; at least one must have")
	}
}

const maxWeight = 1_000_000

func (m *Match) decode(d *decoder, path string, n *yaml.Node) {
	m.At = path
	switch n.Kind {
	case yaml.ScalarNode:
		if m.Expression, _ = d.text(path, n); strings.TrimSpace(m.Expression) == "" {
			d.find(path, n, "empty; must be a map of entries, a list, {not: …} or an expression")
		}
	case yaml.SequenceNode:
		m.Any = []*Match{}
		d.list(path, n, "", func(path string, n *yaml.Node) {
			one := new(Match)
			one.decode(d, path, n)
			m.Any = append(m.Any, one)
		})
		if len(n.Content) == 0 {
			d.find(path, n, "an empty list matches nothing; must have an element")
		}
	default:
		var with entriesOfFile
		d.value(path, n, &with)
		m.Entries, m.Not, m.More = with.Entries, with.Not, with.more
	}
}

func (c *Conditions) decode(d *decoder, path string, n *yaml.Node) {
	*c = Conditions{}
	if n.Kind != yaml.MappingNode {
		var names Strings
		names.decode(d, path, n)
		if len(names) == 1 {
			(*c)[names[0]] = nil
		} else if len(names) > 1 {
			d.find(path, n, "a list of names is ambiguous; must be one name, a map of names to values, or a list of matches")
		}
		return
	}
	d.mapping(path, n, "", func(name, path string, _, n *yaml.Node) {
		var values Strings
		values.decode(d, path, n)
		(*c)[name] = values
	})
}

// IsToken reports whether s is a token, such as the name of a header field (RFC 9110, section
// 5.6.2).
func IsToken(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return s != ""
}
