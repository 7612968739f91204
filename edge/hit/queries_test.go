package hit

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/iconedge/iconedge/config/rules"
	"github.com/iconedge/iconedge/edge/request/requesttest"
)

// sharing returns the key of the response to a request by its No-Vary-Search, and records the rule.
func (p *testPath) sharing(host, target string, rule string) (key string) {
	site, _ := p.set.Find(host)
	q := rules.Request{Method: "GET", Host: host, Target: target, Now: p.now, Client: requesttest.Client, Unanswered: true}
	d := site.Rules.Decide(&q)
	key = site.Rules.Key(&d, &q, "http", host)
	if r := p.Cache.Queries.Site(site.Name).Learn(key, []string{rule}); r != nil {
		return r.Key(key)
	}
	return key
}

// Which requests the hit path answers with a page that their address shares with that of the page.
func TestSharedPages(t *testing.T) {
	const rule, private, public = `params=("utm"), key-order`, "max-age=60", "public, max-age=60"
	for name, row := range map[string]struct {
		control, target string
		fields          []string
		hit             bool
	}{
		"the same query":                      {private, "/page?a=1&b=2&utm=x", nil, true},
		"another order":                       {private, "/page?utm=y&b=2&a=1", nil, true},
		"without an ignored parameter":        {private, "/page?a=1&b=2", nil, true},
		"another spelling":                    {private, "/page?%61=1&b=%32", nil, true},
		"another value":                       {private, "/page?a=1&b=3", nil, false},
		"one parameter more":                  {private, "/page?a=1&b=2&c=3", nil, false},
		"no query":                            {private, "/page", nil, false},
		"another path":                        {private, "/pages?a=1&b=2", nil, false},
		"a cookie":                            {private, "/page?a=1&b=2", []string{"Cookie: user=alice"}, false},
		"credentials":                         {private, "/page?a=1&b=2", []string{"Authorization: Bearer x"}, false},
		"a cookie and a public page":          {public, "/page?a=1&b=2", []string{"Cookie: user=alice"}, true},
		"credentials and a public page":       {public, "/page?a=1&b=2", []string{"Authorization: Bearer x"}, true},
		"the page of the address alone":       {private, "/alone?a=1", nil, true},
		"an address beside it":                {private, "/alone?a=1&utm=x", nil, false},
		"one that is stored for it":           {private, "/both?a=1", nil, true},
		"a cookie, and one stored for itself": {private, "/both?a=1&utm=x", []string{"Cookie: user=alice"}, true},
	} {
		p := newTestPath(t, with())
		page, both := "/page?a=1&b=2&utm=x", "/both?a=1"
		p.store(t, p.Cache.Generation(), p.sharing("shop.test", page, rule), page, "Cache-Control", row.control)
		p.put(t, "shop.test", "/alone?a=1")
		p.store(t, p.Cache.Generation(), p.sharing("shop.test", both, rule), both, "Cache-Control", row.control)
		p.put(t, "shop.test", "/both?a=1&utm=x")
		got := p.answer(requesttest.New(t, "shop.test", row.target, row.fields...))
		if (got != "") != row.hit {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// A stale shared page does not hide a fresh one of the address alone, and no page is used that a
// purge before the rule was known may have meant.
func TestSharedPagesPast(t *testing.T) {
	const rule = "params"
	p := newTestPath(t, with())
	p.store(t, p.Cache.Generation(), p.sharing("shop.test", "/page?a=1", rule), "/page?a=1", "No-Vary-Search", rule)
	p.now = p.now.Add(2 * time.Minute)
	p.put(t, "shop.test", "/page?a=2")
	if got := p.answer(requesttest.New(t, "shop.test", "/page?a=2")); !strings.Contains(got, "\r\nAge: 0\r\n") {
		t.Errorf("got %q, want the page of the address", got)
	}
	began := p.Cache.Generation()
	p.Cache.Invalidate("something")
	p.store(t, began, p.sharing("shop.test", "/old?a=1", rule), "/old?a=1", "No-Vary-Search", rule)
	if got := p.answer(requesttest.New(t, "shop.test", "/old?a=2")); got != "" {
		t.Errorf("got %q, although a purge may have meant it", got)
	}
}

// The price of a hit of a page that addresses share, beside the price of a page with its own key.
func BenchmarkSharedPages(b *testing.B) {
	const rule = `params=("utm_source" "utm_medium" "utm_campaign" "gclid" "fbclid")`
	targets := make([]string, 512)
	for i := range targets {
		targets[i] = fmt.Sprintf("/products/shirts?color=blue&page=2&utm_source=news&utm_medium=mail&gclid=%032d", i)
	}
	for _, shared := range []bool{false, true} {
		b.Run(fmt.Sprint("shared=", shared), func(b *testing.B) {
			p := newTestPath(b, with())
			for _, target := range targets {
				key := p.sharing("shop.test", target, "")
				if shared {
					key = p.sharing("shop.test", target, rule)
				}
				p.store(b, p.Cache.Generation(), key, target, "Cache-Control", "max-age=60", "No-Vary-Search", rule)
			}
			b.ReportAllocs()
			var out []byte
			q := requesttest.New(b, "shop.test", targets[0], "Accept-Encoding: gzip, br")
			for i := 0; b.Loop(); i++ {
				q.SetTarget([]byte(targets[i%len(targets)]))
				ok := false
				if out, ok = p.Answer(out[:0], q); !ok {
					b.Fatal("no hit")
				}
			}
		})
	}
}
