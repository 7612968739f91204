package config

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/iconedge/iconedge/internal/hostport"
)

// defaultAuthTimeout is how long a service of sign-on has for its response.
const defaultAuthTimeout = Duration(5 * time.Second)

// maxAuthCache is the longest time for which a passed request needs no question.
const maxAuthCache = Duration(time.Hour)

// auth checks the action auth, and fills its defaults.
func (d *decoder) auth(path string, a *Auth) {
	ways := 0
	for _, given := range []bool{a.Basic != "", a.Forward != nil, a.JWT != nil} {
		if given {
			ways++
		}
	}
	if ways != 1 {
		d.wrong(path, fmt.Sprintf("has %d ways to sign on; must have one of basic, forward and jwt", ways))
	}
	if f := a.Forward; f != nil {
		d.forwardAuth(path+".forward", f)
	}
	if t := a.JWT; t != nil {
		d.jwt(path+".jwt", t)
	}
}

func (d *decoder) forwardAuth(path string, f *ForwardAuth) {
	if _, _, err := f.Split(); err != nil {
		d.wrong(path+".url", fmt.Sprintf("%q is no URL of a service; must be one such as http://127.0.0.1:4180/", clip(hideUser(f.URL))))
	}
	for i, name := range f.Headers {
		d.identity(fmt.Sprintf("%s.headers[%d]", path, i), name)
	}
	if f.Cache != nil && *f.Cache > maxAuthCache {
		d.wrong(path+".cache", "too long, because somebody who signs off stays signed on for it; must be at most 1h")
	}
	if f.Timeout == nil {
		f.Timeout = new(defaultAuthTimeout)
	}
	if *f.Timeout == 0 {
		d.wrong(path+".timeout", "0 would refuse every request; must be a time such as 5s")
	}
}

// Split returns the base of the service's URL, and the target below it.
func (f *ForwardAuth) Split() (base, target string, err error) { return splitURL(f.URL) }

// splitURL cuts a URL into its scheme with host, and its path with query.
func splitURL(s string) (base, target string, err error) {
	u, err := url.Parse(s)
	if err != nil {
		return "", "", err
	}
	base = u.Scheme + "://" + u.Host
	if target = u.EscapedPath(); target == "" {
		target = "/"
	}
	if u.RawQuery != "" {
		target += "?" + u.RawQuery
	}
	if u.User != nil || u.Fragment != "" || !isPath(target) {
		return "", "", fmt.Errorf("%q has a user, a fragment or spaces", clip(hideUser(s)))
	}
	_, err = hostport.ParseURL(base)
	return base, target, err
}

// reserved are fields that the edge writes itself, or that have a meaning of their own, so that
// they can't tell an origin who somebody is.
var reserved = []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Method",
	"X-Forwarded-Uri", "Via", "Cdn-Loop", "Cookie", "Range", "If-Match", "If-None-Match", "If-Range", "If-Modified-Since",
	"If-Unmodified-Since", "Cache-Control", "Expect", "Proxy", "Proxy-Authorization", "Http2-Settings", "Accept-Encoding",
	"Content-Type", "Content-Encoding", "Surrogate-Capability", "Traceparent", "Tracestate"}

// identity checks the name of a field by which an origin learns who somebody is.
func (d *decoder) identity(path, name string) {
	d.fieldName(path, name)
	if slices.Contains(reserved, http.CanonicalHeaderKey(name)) {
		d.wrong(path, fmt.Sprintf("%s has a meaning of its own; must be another field, such as X-Auth-Request-User", name))
	}
}

// KeysURL cuts the URL of keys into its base and target. It is not ok if keys are in a file.
func (t *JWT) KeysURL() (base, target string, ok bool) {
	if !strings.HasPrefix(t.Keys, "https://") && !strings.HasPrefix(t.Keys, "http://") {
		return "", "", false
	}
	base, target, err := splitURL(t.Keys)
	return base, target, err == nil
}

// Source returns the name of the field, or of the cookie, that has the token.
func (t *JWT) Source() (name string, cookie bool) {
	if name, ok := strings.CutPrefix(t.From, "cookie "); ok {
		return name, true
	}
	return http.CanonicalHeaderKey(strings.TrimPrefix(t.From, "header ")), false
}

func (d *decoder) jwt(path string, t *JWT) {
	isURL := strings.Contains(t.Keys, "://")
	switch _, _, ok := t.KeysURL(); {
	case t.Keys == "":
		d.wrong(path+".keys", "missing; must be a file with keys, or the URL of a JSON Web Key Set")
	case isURL && !ok:
		d.wrong(path+".keys", fmt.Sprintf("%q is no URL; must be one such as https://login.example.org/jwks", clip(hideUser(t.Keys))))
	}
	if t.From == "" {
		t.From = "header Authorization"
	}
	kind, name, _ := strings.Cut(t.From, " ")
	if kind != "header" && kind != "cookie" || !IsToken(name) {
		d.wrong(path+".from", fmt.Sprintf("%q is unknown; must be header NAME or cookie NAME", clip(t.From)))
	}
	for _, claim := range slices.Sorted(maps.Keys(t.Claims)) {
		if at := path + ".claims." + claim; len(t.Claims[claim]) == 0 {
			d.wrong(at, "names no value; must have one that the claim must have")
		}
	}
	for _, claim := range slices.Sorted(maps.Keys(t.Headers)) {
		at, field := path+".headers."+claim, t.Headers[claim]
		if d.identity(at, field); kind == "header" && strings.EqualFold(field, name) {
			d.wrong(at, fmt.Sprintf("%s has the token; must be another field, such as X-User", field))
		}
	}
}

// Identity returns the fields by which an origin learns who somebody is, in canonical spelling.
func (a *Auth) Identity() (names []string) {
	if a == nil {
		return nil
	}
	if a.Forward != nil {
		for _, name := range a.Forward.Headers {
			names = append(names, http.CanonicalHeaderKey(name))
		}
	}
	if a.JWT != nil {
		for _, name := range a.JWT.Headers {
			names = append(names, http.CanonicalHeaderKey(name))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
