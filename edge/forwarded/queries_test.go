package forwarded

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/fetch/fetchtest"
)

// A page is a response of a catalogue, as the test knows it.
type page struct {
	number   int
	path     string
	query    string
	rule     string // No-Vary-Search
	language string // by which the responses for the path vary
	at       time.Time
	user     bool // the request had credentials
	public   bool
	// purged: no request may get the response any more. removed: none has to.
	purged, removed bool
}

// A catalogue is an application whose responses have the rule and the fields that the test sets.
// Its bodies are the numbers of the responses.
type catalogue struct {
	mu     sync.Mutex
	now    func() time.Time
	next   page // fields of the next response
	varies map[string]bool
	all    []*page
}

func (c *catalogue) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w.Header().Set("Date", c.now().UTC().Format(http.TimeFormat))
	if r.Method == http.MethodPost {
		return
	}
	p := c.next
	p.number, p.path, p.query, p.at = len(c.all), r.URL.Path, r.URL.RawQuery, c.now()
	p.user = r.Header.Get("Cookie") != ""
	c.all = append(c.all, &p)
	control := "max-age=60"
	if p.public {
		control = "public, max-age=60"
	}
	w.Header().Set("Cache-Control", control)
	if p.rule != "" {
		w.Header().Set("No-Vary-Search", p.rule)
	}
	if c.varies[p.path] {
		w.Header().Set("Vary", "X-Language")
		p.language = r.Header.Get("X-Language")
	}
	fmt.Fprint(w, p.number)
}

// queryRules are rules with the naive meaning that the model gives to them.
var queryRules = map[string]struct {
	anyOrder bool
	counts   func(name string) bool
}{
	"":                                     {false, func(string) bool { return true }},
	"key-order":                            {true, func(string) bool { return true }},
	"params":                               {false, func(string) bool { return false }},
	`params=("a")`:                         {false, func(name string) bool { return name != "a" }},
	`params=("a" "c d"), key-order`:        {true, func(name string) bool { return name != "a" && name != "c d" }},
	`params, except=("id")`:                {false, func(name string) bool { return name == "id" }},
	`key-order, params, except=("b" "id")`: {true, func(name string) bool { return name == "b" || name == "id" }},
}

// sameQuery reports whether two queries are equivalent by a rule, naively.
func sameQuery(rule, one, other string) bool {
	of := queryRules[rule]
	read := func(query string) (list [][2]string) {
		for part := range strings.SplitSeq(query, "&") {
			name, value, _ := strings.Cut(part, "=")
			name, _ = url.QueryUnescape(name)
			value, _ = url.QueryUnescape(value)
			if part != "" && of.counts(name) {
				list = append(list, [2]string{name, value})
			}
		}
		if of.anyOrder {
			slices.SortStableFunc(list, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
		}
		return list
	}
	return slices.Equal(read(one), read(other))
}

// isFor reports whether a response is for a query, by the rule: one without a rule, or for a user
// and not public, is for no other query than its own.
func (p *page) isFor(query string) bool {
	if p.rule == "" || p.user && !p.public {
		return p.query == query
	}
	return sameQuery(p.rule, p.query, query)
}

// answers reports whether a request may get a response.
func (p *page) answers(path, query, language string, user bool, now time.Time) bool {
	if p.purged || p.path != path || p.language != language || now.Sub(p.at) >= time.Minute {
		return false
	}
	return p.isFor(query) && (!user || p.public || p.query == query)
}

// A randomQuery has few parameters, so that many queries are equivalent.
func randomQuery(random *rand.Rand) string {
	parts := []string{"a=1", "a=2", "%61=1", "b=1", "b=2", "id=1", "id=2", "c+d=1", "c%20d=1", "", "id"}
	random.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	return strings.Join(parts[:random.IntN(4)], "&")
}

// Random rules, queries, purges, users and languages beside a naive model of them. No request gets
// a response that is not for it, or that was purged, and none is sent to the origin if a response
// that is for it is stored, as long as a path has few rules.
func TestQueriesModel(t *testing.T) {
	seeds := uint64(30)
	if testing.Short() {
		seeds = 6
	}
	for seed := range seeds {
		random := rand.New(rand.NewPCG(seed, 43))
		var rules []string
		for rule := range queryRules {
			rules = append(rules, rule)
		}
		slices.Sort(rules)
		random.Shuffle(len(rules), func(i, j int) { rules[i], rules[j] = rules[j], rules[i] })
		rules = rules[:3] // of all paths
		app := &catalogue{varies: map[string]bool{"/vary": true}}
		e := newTestOf(t, fetchtest.New(t, app))
		app.now = e.Now
		paths, hits := []string{"/page", "/vary", "/page/deeper"}, 0
		for range 600 {
			path, query := paths[random.IntN(len(paths))], randomQuery(random)
			target := path
			if query != "" {
				target += "?" + query
			}
			switch random.IntN(20) {
			case 0:
				e.Move(time.Duration(random.IntN(40)) * time.Second)
				continue
			case 1:
				e.purgeTarget(t, app, random, target)
				continue
			}
			var fields []string
			language, user := "", random.IntN(6) == 0
			if path == "/vary" {
				language = []string{"de", "fr"}[random.IntN(2)]
				fields = append(fields, "X-Language", language)
			}
			if user {
				fields = append(fields, "Cookie", "user=alice")
			}
			app.next = page{rule: rules[random.IntN(len(rules))], public: random.IntN(3) == 0}
			asked := len(app.all)
			must := slices.ContainsFunc(app.all, func(p *page) bool {
				return !p.removed && p.answers(path, query, language, user, e.Now())
			})
			if must && random.IntN(4) == 0 {
				e.do(t, http.MethodHead, target, fields...)
			}
			got := e.get(t, target, fields...)
			if len(app.all) > asked {
				if must {
					t.Fatalf("seed %d: %s %v was sent to the origin, although a response is stored", seed, target, fields)
				}
				app.replace(app.all[asked])
				continue
			}
			hits++
			number := 0
			fmt.Sscan(got.Body, &number)
			if p := app.all[number]; !p.answers(path, query, language, user, e.Now()) {
				t.Fatalf("seed %d: %s %v got the response to %s?%s (rule %q, language %q, user %v, purged %v)",
					seed, target, fields, p.path, p.query, p.rule, p.language, p.user, p.purged)
			}
		}
		if hits < 100 {
			t.Errorf("seed %d: only %d of 600 requests were hits", seed, hits)
		}
	}
}

// replace records that a response took the places of older ones for the same address.
func (c *catalogue) replace(p *page) {
	for _, old := range c.all[:p.number] {
		if old.path == p.path && old.language == p.language && (old.query == p.query || p.isFor(old.query)) {
			old.removed = true
		}
	}
}

// purgeTarget purges a target in one of the ways in which a purge may name it.
func (e *test) purgeTarget(t *testing.T, app *catalogue, random *rand.Rand, target string) {
	path, query, _ := strings.Cut(target, "?")
	var p cache.Purge
	switch way := random.IntN(4); way {
	case 0:
		p.Keys = []string{"http://edge.test" + target, "https://edge.test" + target}
	case 1:
		p.Tags = []string{cache.TargetTag(target)} // on all hosts
	case 2:
		p.Prefixes = []string{[]string{"", "http://edge.test"}[random.IntN(2)] + target}
	case 3:
		e.do(t, http.MethodPost, target) // by which the edge purges the target itself
	}
	p.Soft = random.IntN(3) == 0
	e.Cache.Purge(p, e.Now())
	for _, old := range app.all {
		whole := old.path
		if old.query != "" {
			whole += "?" + old.query
		}
		prefix := len(p.Prefixes) > 0
		if prefix && strings.HasPrefix(whole, target) || !prefix && old.path == path && old.isFor(query) {
			old.purged = true
		}
		old.removed = old.removed || prefix && old.path == path
	}
}

// Requests for equivalent addresses that arrive at once collapse into one fetch, once the rule is
// known. If its response has another rule, each address is asked for by itself.
func TestQueriesCollapse(t *testing.T) {
	const clients = 20
	for name, row := range map[string]struct {
		rule  string // of the response to the crowd
		asked int64
	}{
		"the same rule": {"params", 1},
		"another rule":  {`params=("m")`, clients},
		"none":          {"", clients},
	} {
		for _, streams := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, streams %v", name, streams), func(t *testing.T) {
				t.Parallel()
				app := &fetchtest.Application{Shared: true, Streams: streams,
					Fields: []string{"Cache-Control", "max-age=60", "No-Vary-Search", "params"}}
				e := newTestOf(t, fetchtest.New(t, app))
				e.get(t, "/?n=first")
				fetchtest.Settled(t, "the rule is known", func() bool { return e.Cache.Callers() == 0 && e.Cache.Stats().Entries == 1 })
				e.Cache.Purge(cache.Purge{Prefixes: []string{"/"}}, e.Now())
				app.Asked.Store(0)
				app.Change(func() {
					app.Fields = []string{"Cache-Control", "max-age=6000"}
					if row.rule != "" {
						app.Fields = append(app.Fields, "No-Vary-Search", row.rule)
					}
					app.Each = fetchtest.AllWaiting(t, e.Cache.Callers, clients, clients-1)
				})
				var all sync.WaitGroup
				for i := range clients {
					all.Go(func() {
						if a := e.get(t, fmt.Sprint("/?n=", i)); a.Body != fetchtest.BodyFor(fetchtest.Everybody) {
							t.Errorf("client %d got %q", i, a.Body)
						}
					})
				}
				all.Wait()
				if n := app.Asked.Load(); n != row.asked {
					t.Errorf("the origin was asked %d times, want %d", n, row.asked)
				}
			})
		}
	}
}

// A response in flight while an address is purged that it is also for answers no later request for
// that address, whether its rule was known at that time or comes with it.
func TestQueriesPurgedInFlight(t *testing.T) {
	for name, known := range map[string]bool{"a known rule": true, "a new rule": false} {
		app := &fetchtest.Application{Shared: true, Fields: []string{"Cache-Control", "max-age=60", "No-Vary-Search", "params"}}
		e := newTestOf(t, fetchtest.New(t, app))
		if known {
			e.get(t, "/?n=1")
			e.Cache.Purge(cache.Purge{Prefixes: []string{"/"}}, e.Now())
		}
		app.Change(func() {
			app.Each = func(int64, *http.Request) {
				e.Cache.Purge(cache.Purge{Keys: []string{"http://edge.test/?n=3"}}, e.Now())
			}
		})
		e.get(t, "/?n=2")
		app.Change(func() { app.Each = nil })
		app.Asked.Store(0)
		e.get(t, "/?n=3")
		if app.Asked.Load() == 0 {
			t.Errorf("%s: the purged address got the response that was in flight", name)
		}
		if e.get(t, "/?n=4"); app.Asked.Load() != 1 {
			t.Errorf("%s: the new response is not for other addresses", name)
		}
	}
}
