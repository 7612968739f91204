package edge

import (
	"cmp"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/iconedge/iconedge/edge/own/owntest"
)

// A described address is a path of docs/reference/openapi.yaml with the statuses that it documents.
type described struct {
	pattern  string
	path     *regexp.Regexp
	statuses map[int]bool
}

var parameters = regexp.MustCompile(`\\\{[a-z]+\\\}`)

// openAPI reads the API description once. Paths with fewer parameters come first, because the first
// match counts and a literal path takes precedence.
var openAPI = sync.OnceValues(func() ([]described, error) {
	var d struct {
		Paths map[string]map[string]struct{ Responses map[string]any }
	}
	b, err := os.ReadFile("../docs/reference/openapi.yaml")
	if err == nil {
		err = yaml.Unmarshal(b, &d)
	}
	var all []described
	for pattern, operations := range d.Paths {
		p := described{pattern, regexp.MustCompile("^" +
			parameters.ReplaceAllString(regexp.QuoteMeta(pattern), "[^/]+") + "$"), map[int]bool{}}
		for _, o := range operations {
			for status := range o.Responses {
				n, _ := strconv.Atoi(status)
				p.statuses[n] = true
			}
		}
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b described) int {
		return cmp.Compare(strings.Count(a.pattern, "{"), strings.Count(b.pattern, "{"))
	})
	return all, err
})

// describes checks that docs/reference/openapi.yaml documents the status of a response. It skips
// preflights, which browsers send by themselves, and the statuses 308, which depends on the
// operator's configuration, and 505 and 508, which concern no path.
func (e *edgeTest) describes(t testing.TB, method, path string, status int) {
	if e.cfg.ProxyAll || method == http.MethodOptions || slices.Contains([]int{308, 505, 508}, status) {
		return
	}
	all, err := openAPI()
	if err != nil {
		t.Error(err)
	}
	path, _, _ = strings.Cut(path, "?")
	for _, p := range all {
		if p.path.MatchString(path) {
			if !p.statuses[status] {
				t.Errorf("%s %s: %d, which docs/reference/openapi.yaml does not document for %s", method, path, status, p.pattern)
			}
			return
		}
	}
}

// pathOfURL returns the path that the request is sent with.
func pathOfURL(u *url.URL) string {
	if rest, ok := strings.CutPrefix(u.Opaque, "//"); ok { // after the host
		_, path, _ := strings.Cut(rest, "/")
		return "/" + path
	}
	return cmp.Or(u.EscapedPath(), "/")
}

// The comparison finds each path in the description and reports an undocumented status.
func TestOpenAPIIsCompared(t *testing.T) {
	e := newEdgeTest(t, owntest.NewOrigin())
	for _, row := range []struct {
		path string
		code int
		want bool
	}{
		{"/mdi/home.svg?size=9", 206, true}, {"/mdi/home.svg", 418, false}, {"/", 200, true}, {"/", 502, true},
		{"/", 404, false}, {"/healthz", 304, false},
		{"/api/v1/packs/mdi", 404, true}, {"/api/v1/packs", 404, false}, {"/nothing", 404, true},
	} {
		fake := &complaints{TB: t}
		if e.describes(fake, "GET", row.path, row.code); (fake.n == 0) != row.want {
			t.Errorf("%s %d: %d complaints; documented: %v", row.path, row.code, fake.n, row.want)
		}
	}
}

// complaints counts the calls of Errorf, instead of failing the test.
type complaints struct {
	testing.TB
	n int
}

func (c *complaints) Errorf(string, ...any) { c.n++ }
