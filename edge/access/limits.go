package access

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/iconedge/iconedge/edge/ratelimit"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/icon"
)

// Limits maps classes of calls, and "plan:class" for the tokens of a plan, to their limits.
type Limits map[string]ratelimit.Limit

// Of returns the limit of a class.
func (l Limits) Of(c routes.Class) ratelimit.Limit {
	if limit, ok := l[c.String()]; ok {
		return limit
	}
	return defaultLimits[c]
}

var defaultLimits = [routes.Classes]ratelimit.Limit{
	routes.ClassSearch:  {N: 60, Window: time.Minute},
	routes.ClassSuggest: {N: 300, Window: time.Minute}, // several for each search
	routes.ClassIcon:    {N: 120, Window: time.Minute},
	routes.ClassPacks:   {N: 60, Window: time.Minute},
	routes.ClassVerify:  {N: 30, Window: time.Minute},
	routes.ClassPages:   {N: 300, Window: time.Minute}, // one for each key while typing
	routes.ClassRaster:  {N: 300, Window: time.Minute},
}

// String returns all limits in force, as help shows them.
func (l *Limits) String() string {
	var limits Limits
	if l != nil {
		limits = *l
	}
	var b strings.Builder
	for c := routes.ClassSearch; c < routes.Classes; c++ {
		fmt.Fprintf(&b, " %s=%s", c, limits.Of(c))
	}
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		if strings.Contains(name, ":") {
			fmt.Fprintf(&b, " %s=%s", name, limits[name])
		}
	}
	return b.String()[1:]
}

// Given returns the limits that were set, without the defaults.
func (l *Limits) Given() (all []string) {
	for _, name := range slices.Sorted(maps.Keys(*l)) {
		all = append(all, name+"="+(*l)[name].String())
	}
	return all
}

// Set parses CLASS=LIMIT or PLAN:CLASS=LIMIT.
func (l *Limits) Set(s string) error {
	name, value, _ := strings.Cut(s, "=")
	plan, ofPlan, given := strings.Cut(name, ":")
	switch {
	case !given && routes.ClassNamed(name) == routes.ClassNone:
		return errors.New("the class must be search, suggest, icon, packs, verify, cdn, pages, raster or forwarded")
	case given && !icon.ValidPlan(plan):
		return errors.New("a plan's name must be lower-case letters, digits and single hyphens, at most 64 bytes")
	case given && !routes.ClassNamed(ofPlan).Licensed():
		return errors.New("a plan's class must be search, suggest, icon or packs: only these accept tokens")
	}
	limit, err := ratelimit.ParseLimit(value)
	if err != nil {
		return err
	}
	if *l == nil {
		*l = Limits{}
	}
	(*l)[name] = limit
	return nil
}

// Repeatable reports that several values in the environment are separated by spaces.
func (l *Limits) Repeatable() bool { return true }

// A planClass identifies the limit for one class of calls by the tokens of one plan.
type planClass struct {
	plan  string
	class routes.Class
}

// A Window counts calls: in this edge's memory, or in the memory that edges share.
type Window interface {
	Allow(client netip.Addr, now time.Time) ratelimit.Decision
	AllowKey(key [16]byte, now time.Time) ratelimit.Decision
}

// A limit counts calls against a limit. If it is off, own is nil.
type limit struct {
	own    *ratelimit.Limiter
	window Window // own, or a window that edges share
}

// newLimit returns a limit. share, if it is not nil, returns the window that edges share under a
// name.
func newLimit(of ratelimit.Limit, name string, share func(name string, own *ratelimit.Limiter) Window) limit {
	if of.Off() {
		return limit{}
	}
	own := ratelimit.New(of, ratelimit.Options{})
	if share == nil {
		return limit{own, own}
	}
	return limit{own, share(name, own)}
}

// A Toll is a limit of a site or of a rule that counts a request, besides the limit of its class,
// which Admission has itself.
type Toll struct {
	name   string       // for the RateLimit fields
	class  routes.Class // counted for metrics; ClassNone: none
	own    *ratelimit.Limiter
	window siteWindow // own, or the window that edges share
	text   [16]byte   // hash of the text whose requests count together; zero: by client
}

// A siteWindow counts requests by client.
type siteWindow interface {
	Allow(client netip.Addr, now time.Time) ratelimit.Decision
}

// OfSite returns the toll of a site's limit: of all requests (ClassNone), or of those of a class.
func OfSite(class routes.Class, own *ratelimit.Limiter, window siteWindow) Toll {
	t := Toll{name: "client", class: class, own: own, window: window}
	if class != routes.ClassNone {
		t.name = class.String()
	}
	return t
}

// OfRule returns the toll of a rule's limit, which counts by client.
func OfRule(own *ratelimit.Limiter) Toll { return Toll{own: own, window: own} }

// OfText returns the toll of a rule's limit, which counts the requests with a text together.
func OfText(own *ratelimit.Limiter, text string) Toll {
	sum := sha256.Sum256([]byte(text))
	return Toll{own: own, window: own, text: [16]byte(sum[:16])}
}

// IsRule reports whether the limit is a rule's.
func (t Toll) IsRule() bool { return t.name == "" }

// Class returns the class whose requests the limit of a site counts; ClassNone: all.
func (t Toll) Class() routes.Class { return t.class }

// shared reports whether edges share the window.
func (t Toll) shared() bool { return t.window != siteWindow(t.own) }
