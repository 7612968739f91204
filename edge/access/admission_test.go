package access

import (
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/edge/routes"
)

// Only the text after the scheme is taken for the token.
func FuzzBearer(f *testing.F) {
	for _, s := range []string{"Bearer " + wordToken("good"), "bearer  x", "Bearer", "Basic x", "", "Bearer x y"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var ctx fasthttp.RequestCtx
		ctx.Request.Header.Set("Authorization", s)
		field := string(ctx.Request.Header.Peek("Authorization"))
		token, given := bearer(ctx.Request.Header.PeekAll("Authorization"))
		if given != (len(field) >= 6 && strings.EqualFold(field[:6], "Bearer") && (len(field) == 6 || field[6] == ' ')) {
			t.Fatalf("%q: given %v", field, given)
		}
		if given && token != strings.Trim(field[6:], " ") || !given && token != "" {
			t.Fatalf("%q: %q", field, token)
		}
	})
}

// Each plan has its own limits, or none where they are off.
func TestPlans(t *testing.T) {
	var l Limits
	for _, s := range []string{"lifetime:search=600/1m", "team-2:icon=off"} {
		if err := l.Set(s); err != nil {
			t.Fatal(err)
		}
	}
	p := NewAdmission(Options{Rules: Rules{Limits: l}}).rates.Load().plans
	if of := p[planClass{"lifetime", routes.ClassSearch}].own; len(p) != 2 || of == nil || of.Limit().N != 600 ||
		p[planClass{"team-2", routes.ClassIcon}].own != nil {
		t.Errorf("the limits of plans are %v", p)
	}
}
