package cachepolicy

import (
	"reflect"
	"testing"
	"time"
)

func TestParseRequest(t *testing.T) {
	for _, c := range []struct {
		name                 string
		cacheControl, pragma []string
		want                 Directives
	}{
		{"no fields", nil, nil, Directives{}},
		{"Cache-Control", []string{"max-age=0", "no-store"}, nil, Directives{HasMaxAge: true, NoStore: true}},
		{"max-stale of any length", []string{"max-stale"}, nil, Directives{HasMaxStale: true, MaxStale: MaxDelta}},
		{"min-fresh", []string{"min-fresh=5"}, nil, Directives{HasMinFresh: true, MinFresh: 5 * time.Second}},
		{"fields of no-cache are ignored", []string{`no-cache="x"`}, nil, Directives{NoCache: true}},
		{"Pragma, section 5.4", nil, []string{"x, No-Cache"}, Directives{NoCache: true}},
		{"an argument of no-cache is ignored", nil, []string{"no-cache=x"}, Directives{NoCache: true}},
		{"another Pragma", nil, []string{"no-store, max-age=5"}, Directives{}},
		{"Cache-Control wins over Pragma", []string{"nothing-to-see-here"}, []string{"no-cache"}, Directives{}},
		{"an empty Cache-Control wins too", []string{""}, []string{"no-cache"}, Directives{}},
	} {
		if got := ParseRequest(c.cacheControl, c.pragma); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: ParseRequest(%q, %q) = %+v, want %+v", c.name, c.cacheControl, c.pragma, got, c.want)
		}
	}
}
