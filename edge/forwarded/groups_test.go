package forwarded

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/fetch/fetchtest"
	"github.com/iconedge/iconedge/edge/pipeline/pipelinetest"
	"github.com/iconedge/iconedge/edge/vhosts"
)

// A shop is an application that puts its pages into the groups of their queries, and invalidates
// those in the X-Invalidate of other methods than GET. It counts the requests for its pages.
type shop struct {
	mu    sync.Mutex
	asked map[string]int // by the address
}

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		w.Header().Set("Cache-Group-Invalidation", r.Header.Get("X-Invalidate"))
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked[r.Host+r.URL.String()]++
	w.Header().Set("Cache-Control", "max-age=600")
	if groups := r.URL.Query().Get("groups"); groups != "" {
		w.Header().Set("Cache-Groups", groups)
	}
	fmt.Fprint(w, "a page")
}

// newShop returns an Answerer in front of a shop.
func newShop(t *testing.T, grouping vhosts.Grouping) (*test, *shop) {
	t.Helper()
	app := &shop{asked: map[string]int{}}
	e := newTestOf(t, fetchtest.New(t, app), func(s *vhosts.Settings, _ *cachepolicy.Policy) { s.CacheGroups = grouping })
	e.Group = func(origin string, names []string, hard bool) {
		for _, name := range names {
			e.Cache.Drop(&cache.Purge{Tags: []string{cache.GroupTag(origin, name)}, Soft: !hard}, e.Room.Now())
		}
	}
	return e, app
}

// at sends a request for a whole URL, and returns the use of the cache.
func (e *test) at(t *testing.T, method, url string, fields ...string) exchange.Outcome {
	t.Helper()
	pipelinetest.Read(e.answerURL(t, pipelinetest.Message{Method: method, URL: url, Fields: fields}))
	return e.outcome
}

// A model of two origins and their groups, beside the edge, for random requests: no origin
// invalidates a response of another, and each group has its own (RFC 9875).
func TestCacheGroupsModel(t *testing.T) {
	for _, grouping := range []vhosts.Grouping{vhosts.Soft, vhosts.Hard} {
		e, app := newShop(t, grouping)
		random, names := rand.New(rand.NewPCG(1, 2)), []string{"a", "b", "with space", `q"uoted`}
		some := func() (list []string, field string) {
			for _, name := range names {
				if random.IntN(3) == 0 {
					list = append(list, fmt.Sprintf("%q", name))
				}
			}
			return list, strings.Join(list, ", ")
		}
		fresh := map[string][]string{} // the groups of the pages that are fresh, by address
		for range 600 {
			host := []string{"a.test", "b.test", "a.test:8080"}[random.IntN(3)]
			list, field := some()
			if random.IntN(3) == 0 {
				e.at(t, http.MethodPost, "http://"+host+"/basket", "X-Invalidate", field)
				for address, groups := range fresh {
					if strings.HasPrefix(address, host+"/") && overlaps(groups, list) {
						delete(fresh, address)
					}
				}
				continue
			}
			address := fmt.Sprintf("%s/page%d?groups=%s", host, random.IntN(3), strings.NewReplacer(" ", "%20", `"`, "%22").Replace(field))
			before := app.asked[address]
			e.at(t, http.MethodGet, "http://"+address)
			_, want := fresh[address]
			if stored := app.asked[address] == before; stored != want {
				t.Fatalf("%s: %s is fresh: %v, want %v", grouping, address, stored, want)
			}
			fresh[address] = list
		}
	}
}

func overlaps(a, b []string) bool {
	return slices.ContainsFunc(a, func(name string) bool { return slices.Contains(b, name) })
}

// What leaves the pages of a group fresh, and what each setting does to them.
func TestCacheGroups(t *testing.T) {
	page := "http://a.test/page?groups=%22home%22"
	for name, row := range map[string]struct {
		grouping          vhosts.Grouping
		method, url, sent string
		outcome           exchange.Outcome
	}{
		"soft: stale until the origin confirms it": {vhosts.Soft, "POST", "http://a.test/basket", `"home"`, exchange.Miss},
		"hard: removed":         {vhosts.Hard, "DELETE", "http://a.test/basket", `"home"`, exchange.Miss},
		"off":                   {vhosts.NoGroups, "POST", "http://a.test/basket", `"home"`, exchange.Hit},
		"another group":         {vhosts.Soft, "POST", "http://a.test/basket", `"homes", "hom"`, exchange.Hit},
		"another host":          {vhosts.Soft, "POST", "http://b.test/basket", `"home"`, exchange.Hit},
		"a safe method":         {vhosts.Soft, "OPTIONS", "http://a.test/basket", `"home"`, exchange.Hit},
		"a malformed field":     {vhosts.Soft, "POST", "http://a.test/basket", `"home`, exchange.Hit},
		"a token":               {vhosts.Soft, "POST", "http://a.test/basket", `home`, exchange.Hit},
		"a name of another tag": {vhosts.Soft, "POST", "http://a.test/basket", `"a.test home", " home"`, exchange.Hit},
	} {
		e, _ := newShop(t, row.grouping)
		e.at(t, http.MethodGet, page)
		e.at(t, row.method, row.url, "X-Invalidate", row.sent)
		if got := e.at(t, http.MethodGet, page); got != row.outcome {
			t.Errorf("%s: %s, want %s", name, exchange.OutcomeNames[got], exchange.OutcomeNames[row.outcome])
		}
	}
}
