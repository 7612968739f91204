package edge

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

func (e *edgeTest) purge(t *testing.T, body string, fields ...string) (int, string) {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "/purge", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(fields); i += 2 {
		r.Header.Set(fields[i], fields[i+1])
	}
	w := httptest.NewRecorder()
	newAdmin(e.handler, "", func() bool { return true }).Handler.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func TestPurge(t *testing.T) {
	all := []string{"/mdi/home.svg", "/mdi/account.svg", "/mdi/home.svg?size=48", "/fc/apple.svg", "/api/v1/search?q=home", "/page"}
	for _, row := range []struct {
		name, body string
		purged     int
		gone       string
	}{
		{"an address", `{"urls":["/mdi/home.svg"]}`, 1, "/mdi/home.svg"},
		{"an address with its host, as a client might spell it", `{"urls":["https://cdn.test/mdi/home.svg?v=1"]}`, 1, "/mdi/home.svg"},
		{"the address of a search", `{"urls":["/api/v1/search?limit=20&q=%20home"]}`, 1, "/api/v1/search?q=home"},
		{"a forwarded address", `{"urls":["/page","/nothing"]}`, 1, "/page"},
		{"a prefix", `{"prefixes":["/mdi/"]}`, 3, "/mdi/home.svg /mdi/account.svg /mdi/home.svg?size=48"},
		{"a pack", `{"surrogate_keys":["pack/mdi"]}`, 3, "/mdi/home.svg /mdi/account.svg /mdi/home.svg?size=48"},
		{"an icon", `{"surrogate_keys":["icon/mdi/home"]}`, 2, "/mdi/home.svg /mdi/home.svg?size=48"},
		{"each entry once", `{"surrogate_keys":["icon/mdi/home","pack/mdi"],"urls":["/mdi/home.svg"]}`, 3, "/mdi/home.svg /mdi/account.svg /mdi/home.svg?size=48"},
		{"what is not there", `{"surrogate_keys":["pack/none"]}`, 0, ""},
	} {
		for _, soft := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, soft %v", row.name, soft), func(t *testing.T) {
				l := newLibrary()
				e := newEdgeTest(t, l, func(c *Config) { c.ProxyAll = true })
				must(t, e.watch.look())
				for _, target := range append(all, all...) { // twice: else no variant is stored
					e.get(t, target)
				}
				body, status := row.body, "fwd=uri-miss"
				if soft {
					body = strings.TrimSuffix(body, "}") + `,"soft":true}`
					status = "hit; ttl=-1" // sent once more, while it is asked for again
				}
				if code, got := e.purge(t, body); code != 200 || got != fmt.Sprintf("{\"purged\":%d}\n", row.purged) {
					t.Fatalf("%d %s, want %d purged", code, got, row.purged)
				}
				for _, target := range all {
					want := "hit; ttl="
					if gone := strings.Fields(row.gone); slices.Contains(gone, target) && (!soft || target != "/page") {
						want = status
					} else if slices.Contains(gone, target) {
						want = "fwd=stale" // it has no stale-while-revalidate
					}
					if got := e.get(t, target).Header.Get("Cache-Status"); !strings.Contains(got, want) {
						t.Errorf("%s: %s, want %s", target, got, want)
					}
				}
			})
		}
	}
}

func TestWrongPurges(t *testing.T) {
	e := newEdgeTest(t, newLibrary())
	for _, row := range []struct {
		body   string
		fields []string
		code   int
		says   string
	}{
		{`{}`, nil, 400, "nothing is named"},
		{`{"url":["/a"]}`, nil, 400, "JSON"},
		{`[]`, nil, 400, "JSON"},
		{`{"urls":["/a"]} x`, nil, 400, "JSON"},
		{`{"urls":["a"]}`, nil, 400, `"parameter":"urls"`},
		{`{"prefixes":["mdi"]}`, nil, 400, `"parameter":"prefixes"`},
		{`{"surrogate_keys":["a b"]}`, nil, 400, `"parameter":"surrogate_keys"`},
		{`{"urls":["/a"]}`, []string{"Content-Type", "text/plain"}, 415, "application/json"},
		{`{"urls":["/` + strings.Repeat("a", maxPurge) + `"]}`, nil, 413, "1048576"},
	} {
		if code, got := e.purge(t, row.body, row.fields...); code != row.code || !strings.Contains(got, row.says) {
			t.Errorf("%.60s: %d %s, want %d %s", row.body, code, got, row.code, row.says)
		}
	}
}

func TestPurgeWantsToken(t *testing.T) {
	e := newEdgeTest(t, newLibrary())
	admin := newAdmin(e.handler, "secret", func() bool { return true }).Handler
	for _, row := range []struct {
		method, authorization string
		code                  int
	}{
		{"POST", "Bearer secret", 200},
		{"POST", "Bearer Secret", 401},
		{"POST", "Bearer ", 401},
		{"POST", "secret", 401},
		{"POST", "", 401},
		{"GET", "Bearer secret", 405},
	} {
		r := httptest.NewRequest(row.method, "/purge", strings.NewReader(`{"urls":["/a"]}`))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", row.authorization)
		w := httptest.NewRecorder()
		admin.ServeHTTP(w, r)
		if w.Code != row.code || w.Code == 401 && w.Header().Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("%s with %q: %d, want %d", row.method, row.authorization, w.Code, row.code)
		}
	}
}
