package upstream

import (
	"net/http"
	"strings"
	"testing"
)

func TestLooped(t *testing.T) {
	c, other := New(Config{}), New(Config{})
	for name, row := range map[string]struct {
		lines []string
		want  bool
	}{
		"no field":              {nil, false},
		"others alone":          {[]string{"a; id=1, b.example:80", "c"}, false},
		"this process":          {[]string{"a, " + c.member() + ", b"}, true},
		"on another line":       {[]string{"a", c.member()}, true},
		"another process":       {[]string{other.member()}, false},
		"another name, our id":  {[]string{"elsewhere; id=" + c.id}, false},
		"any case, odd spaces":  {[]string{"\tIconEdge ;x=y;id=" + c.id}, true},
		"an open quote before":  {[]string{`a; b=", ` + c.member()}, true},
		"eight edges":           {[]string{strings.Repeat("iconedge; id=1, ", 8)}, false},
		"nine edges":            {[]string{strings.Repeat("iconedge; id=1, ", 5), strings.Repeat("iconedge,", 4)}, true},
		"nine of somebody else": {[]string{strings.Repeat("iconedger,", 9)}, false},
		"no members":            {[]string{",;,; ,", ""}, false},
	} {
		if got := c.Looped(row.lines); got != row.want {
			t.Errorf("%s: Looped(%q) = %v", name, row.lines, got)
		}
	}
}

// Whatever came before, a request that c sent is known to it.
func FuzzLooped(f *testing.F) {
	for _, s := range []string{"", "a; b=c", `a; b="`, "iconedge; id=1", ",,", `\`} {
		f.Add(s)
	}
	c := New(Config{})
	f.Fuzz(func(t *testing.T, s string) {
		r := Request{Method: "GET", Target: "/", Header: http.Header{"Cdn-Loop": {s}}}
		if h := c.requestHeader(r); !c.Looped(h["Cdn-Loop"]) {
			t.Fatalf("%q is not known", h["Cdn-Loop"])
		}
		if strings.Count(s, ",") < mostEdges && !strings.Contains(s, c.id) && c.Looped([]string{s}) {
			t.Fatalf("%q is taken for a loop", s)
		}
	})
}
