package cachepolicy

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/dunglas/httpsfv"
)

// SurrogateCapability is the value of Surrogate-Capability with which an edge announces itself (W3C
// Note "Edge Architecture", section 2.1).
const SurrogateCapability = surrogate + `="Surrogate/1.0"`

const surrogate = "iconedge" // the device token by which Surrogate-Control targets this cache

// OurField is the targeted field of this cache alone (RFC 9213, section 2).
const OurField = "Iconedge-Cache-Control"

// targets is the target list of this cache (RFC 9213, section 2.2). Only the first field that is
// present and valid applies.
var targets = [...]string{OurField, "Cdn-Cache-Control"}

// ResponseDirectives returns the directives of a response that apply to this cache: those of
// Iconedge-Cache-Control, else of CDN-Cache-Control (RFC 9213), else of Surrogate-Control, else of
// Cache-Control. If targeted is true, Cache-Control (with its no-store) and Expires do not apply.
func ResponseDirectives(h http.Header) (d Directives, targeted bool) {
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

// dictionary parses a targeted field, which is a Dictionary. ok is false if the field is missing,
// empty or malformed; the whole field is then ignored (RFC 9213, section 2.1).
func dictionary(lines []string) (d Directives, ok bool) {
	members, err := httpsfv.UnmarshalDictionary(lines)
	if err != nil {
		return Directives{}, false
	}
	for _, name := range members.Names() {
		member, _ := members.Get(name)
		if arg, has, present := memberArgument(name, member); present {
			d.set(name, arg, has)
		}
	}
	return d, len(members.Names()) > 0
}

// memberArgument returns the argument that a member would have as a directive of Cache-Control.
// present is false if the value of the member is false. The argument is unreadable if the value
// does not have the type of the directive (RFC 9213, section 2.1). Parameters are ignored.
func memberArgument(name string, member httpsfv.Member) (arg string, has, present bool) {
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

// surrogateControl parses the two directives of Surrogate-Control that concern storing, no-store
// and max-age=N[+M]. M, the time in which the response may be served stale, is not used (W3C Note
// "Edge Architecture", section 2.2). Directives for other caches are ignored, and a max-age for
// this cache overrides one for all. ok is false if no directive applies to this cache.
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

// surrogateDirective splits a directive from the device token that may follow it after a semicolon.
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
		freshFor, _, _ := strings.Cut(arg, "+")
		setShorter(&d.MaxAge, &d.HasMaxAge, freshFor)
	}
}
