package cachepolicy

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/dunglas/httpsfv"
)

// SurrogateCapability is what an edge says of itself in Surrogate-Capability (W3C Note "Edge Architecture", section 2.1).
const SurrogateCapability = surrogate + `="Surrogate/1.0"`

const surrogate = "iconedge" // the name by which Surrogate-Control can target us

// targets is our target list (RFC 9213, section 2.2): the first field that can be read counts, and no other.
var targets = [...]string{"Iconedge-Cache-Control", "Cdn-Cache-Control"}

// AnswerDirectives are those of an answer that count for this cache: of Iconedge-Cache-Control, else CDN-Cache-Control
// (RFC 9213), else Surrogate-Control, else Cache-Control. Where targeted is true, Cache-Control (its no-store included) and
// Expires have no say.
func AnswerDirectives(h http.Header) (d Directives, targeted bool) {
	for _, name := range targets {
		if d, ok := dictionary(h[name]); ok {
			return d, true
		}
	}
	if d, ok := surrogateControl(h["Surrogate-Control"]); ok {
		return d, true
	}
	return ParseCacheControl(h["Cache-Control"]...), false
}

// dictionary reads a targeted field, a Dictionary; ok is false where it is missing, empty or can't be read, and then it is
// to be ignored as a whole (RFC 9213, section 2.1).
func dictionary(lines []string) (d Directives, ok bool) {
	members, err := httpsfv.UnmarshalDictionary(lines)
	if err != nil {
		return Directives{}, false
	}
	for _, name := range members.Names() {
		member, _ := members.Get(name)
		if arg, has, said := memberArgument(name, member); said {
			d.set(name, arg, has)
		}
	}
	return d, len(members.Names()) > 0
}

// memberArgument is the argument that a directive would have in Cache-Control; said is false where the member is false. A value
// of another type than the directive has (RFC 9213, section 2.1) can't be read; parameters are ignored.
func memberArgument(name string, member httpsfv.Member) (arg string, has, said bool) {
	item, _ := member.(httpsfv.Item) // an inner list leaves no value
	fields := name == "no-cache" || name == "private"
	switch value := item.Value.(type) {
	case bool:
		return "", false, value
	case int64:
		return strconv.FormatInt(value, 10), true, true
	case string:
		if fields {
			return value, true, true
		}
	case httpsfv.Token:
		if fields {
			return string(value), true, true
		}
	}
	return unreadable, true, true
}

// surrogateControl reads the two directives of Surrogate-Control that are about storing, no-store and max-age=N[+M]; M, how
// long it may be served stale, is not used (W3C Note "Edge Architecture", section 2.2). What is targeted at others is ignored,
// and a max-age targeted at us comes before one for all. Where neither is for us, ok is false.
func surrogateControl(lines []string) (d Directives, ok bool) {
	var own Directives
	for _, rest := range lines {
		for rest != "" {
			var name, arg string
			var closed bool
			name, arg, _, rest, closed = nextDirective(rest)
			d.NoStore = d.NoStore || !closed
			switch name, arg, target := surrogateDirective(name, arg); target {
			case "":
				d.setSurrogate(name, arg)
			case surrogate:
				own.setSurrogate(name, arg)
			}
		}
	}
	d.NoStore = d.NoStore || own.NoStore
	if own.HasMaxAge {
		d.MaxAge, d.HasMaxAge = own.MaxAge, true
	}
	return d, d.NoStore || d.HasMaxAge
}

// surrogateDirective parts a directive from the device token that may stand behind it and a semicolon.
func surrogateDirective(name, arg string) (string, string, string) {
	if name, target, ok := strings.Cut(name, ";"); ok {
		return lower(trim(name)), unreadable, trim(target)
	}
	arg, target, _ := strings.Cut(arg, ";")
	return lower(name), trim(arg), trim(target)
}

func (d *Directives) setSurrogate(name, arg string) {
	switch name {
	case "no-store":
		d.NoStore = true
	case "max-age":
		life, _, _ := strings.Cut(arg, "+")
		shorter(&d.MaxAge, &d.HasMaxAge, life)
	}
}
