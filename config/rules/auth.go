package rules

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/iconedge/iconedge/config"
	"github.com/iconedge/iconedge/internal/jwt"
)

// maxKeysFile is the length of the longest file with keys, in bytes.
const maxKeysFile = 1 << 20

// requireSignOn compiles the action auth.
func requireSignOn(c *Compiler, at string, a *config.Auth) Action {
	if a.Basic != "" {
		p, err := readPasswords(a.Basic)
		if err != nil {
			c.Wrong(at+".basic", "%v", err)
			return nil
		}
		return p
	}
	s := &SignOn{Auth: a, identity: newIdentity(a.Identity())}
	if t := a.JWT; t != nil {
		if _, _, isURL := t.KeysURL(); isURL {
			if t.Audience == nil && t.Claims == nil {
				c.Warn(at+".jwt", "tokens for other applications of the issuer pass too; should have an audience")
			}
			return s
		}
		text, err := config.ReadFile(t.Keys, maxKeysFile)
		if err == nil {
			s.Keys, err = jwt.ParseKeys(text, true)
		}
		if err != nil {
			c.Wrong(at+".jwt.keys", "%v; must be a readable file with public keys, in PEM or as a JSON Web Key Set", err)
			return nil
		}
	}
	return s
}

// Apply is that of the action auth with a password.
func (p *passwords) Apply(d *Decision, q *Request, _ []string) *Answer {
	for _, line := range q.Lines("Authorization") {
		q.Pay(hashSteps * len(line))
	}
	if refusal := p.check(q); refusal != nil {
		return refusal
	}
	d.Authorized = true
	return nil
}

// A SignOn is the action auth with a service or a token. State belongs to the caller, as that of a
// Limit does.
type SignOn struct {
	*config.Auth
	Keys     *jwt.Keys // of a file; nil: none are
	State    any
	identity identity
}

// A Verdict says whether the sender of a request has signed on.
type Verdict struct {
	Refusal  *Answer     // nil: the request passes
	Identity http.Header // the fields of the configuration about the person
}

// Apply asks whether the sender of a request has signed on. From then on the request has the fields
// with the name of that person, for later rules, the key and the origin, and none of these fields
// from the client.
func (s *SignOn) Apply(d *Decision, q *Request, _ []string) *Answer {
	if q.SignOn == nil {
		d.SignOns = append(d.SignOns, s)
		return nil
	}
	v := q.SignOn(s)
	if v.Refusal != nil {
		return v.Refusal
	}
	if s.identity == nil {
		return nil
	}
	if d.Identity == nil {
		d.Identity = http.Header{}
	}
	s.identity.Strip(q.Header)
	for _, name := range s.identity {
		if d.Identity[name] = v.Identity[name]; len(d.Identity[name]) > 0 {
			q.Header[name] = d.Identity[name]
		}
	}
	q.SetHeader(q.Header) // forgets all that is made of it
	return nil
}

// Text describes the action for people.
func (s *SignOn) Text() string {
	if s.Forward != nil {
		return "by the service at " + s.Forward.URL
	}
	return "by a token in " + s.JWT.From + ", with the keys in " + s.JWT.Keys
}

// collectSignOns collects the sign-ons of a site's rules, and the fields that no client may send to
// it. Authorization may be one of them, but also has credentials of other requests: it is replaced
// in those that a rule has checked, and passes in others.
func (s *Site) collectSignOns() {
	var names []string
	for _, r := range s.rules {
		for _, a := range r.answers {
			if one, ok := a.(*SignOn); ok {
				s.signOns = append(s.signOns, one)
				names = append(names, one.identity...)
			}
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == "Authorization" })
	s.identity = newIdentity(names)
}

// CookiesNamed returns the values of the cookies with a name.
func (q *Request) CookiesNamed(name string) (values []string) {
	for _, p := range q.cookiePairs() {
		if p.name == name {
			values = append(values, p.value)
		}
	}
	return values
}

// SignOns returns the sign-ons of a site's rules.
func (s *Site) SignOns() []*SignOn { return s.signOns }

// Clean removes the fields from a request that clients can't send to the site, because the origin
// learns from them the name of a person (GHSA-7r4p-vjf4-gxv4).
func (s *Site) Clean(h http.Header) {
	if len(s.identity) > 0 {
		s.identity.Strip(h)
	}
}

// IsIdentity reports whether clients can't send a field to the site.
func (s *Site) IsIdentity(name string) bool { return s.identity.has(name) }

// An identity is the fields by which origins learn the name of a person, sorted, in canonical
// spelling.
type identity []string

func newIdentity(names []string) identity {
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// has reports whether a name is one of them for an origin behind CGI, to which every character
// other than a letter or a digit is an underscore.
func (n identity) has(name string) bool {
	return len(n) > 0 && slices.ContainsFunc(n, func(one string) bool { return sameField(one, name) })
}

// Strip removes all spellings of the names.
func (n identity) Strip(h http.Header) {
	for name := range h {
		if n.has(name) {
			delete(h, name)
		}
	}
}

// sameField reports whether two names are the same for an origin behind CGI.
func sameField(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if folded(a[i]) != folded(b[i]) {
			return false
		}
	}
	return true
}

func folded(c byte) byte {
	switch {
	case 'A' <= c && c <= 'Z':
		return c + 'a' - 'A'
	case 'a' <= c && c <= 'z' || '0' <= c && c <= '9':
		return c
	}
	return '-'
}

// Unclear reports whether a path has a segment "." or "..", in any spelling that some origin reads
// so: percent-encoded, also twice, beside a backslash, or with parameters. Browsers resolve such
// segments, so they come from somebody who wants rules and origin to see two paths.
func Unclear(target string) bool {
	path, _, _ := strings.Cut(target, "?")
	if !strings.ContainsAny(path, ".%") {
		return false
	}
	for segment := range strings.FieldsFuncSeq(decode(decode(path)), func(c rune) bool { return c == '/' || c == '\\' }) {
		segment, _, _ = strings.Cut(segment, ";")
		if segment = strings.Trim(segment, " \x00"); segment == "." || segment == ".." {
			return true
		}
	}
	return false
}

// unclear is the answer to such a request, if the site has a sign-on.
func (s *Site) unclear(q *Request) *Answer {
	if len(s.signOns) == 0 || q.Unanswered || !Unclear(q.rawPath) {
		return nil
	}
	return &Answer{Status: http.StatusBadRequest, Denied: true, Text: fmt.Sprintf(
		"the path has a segment %q or %q; must be given without it", ".", "..")}
}
