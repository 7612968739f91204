package upstream

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/iconedge/iconedge/internal/tier"
)

const (
	failed502 = "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 6\r\n\r\nfailed"
	refuses   = "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n" + tier.FieldWanted + ": ?1\r\n\r\nno"
)

// statusOf responds to every request with a status and a short body.
func statusOf(line string) responder {
	return responds("HTTP/1.1 " + line + "\r\nContent-Length: 2\r\n\r\nxx")
}

// TestRoute checks to which origins a request is sent.
func TestRoute(t *testing.T) {
	for _, row := range []struct {
		name, origins string
		answers       map[string]responder
		request       Request
		status        int // 0: an error
		asked         string
		after         time.Duration
	}{
		{"no connection to a whole group", "a b|c", map[string]responder{"c": responds(ok)}, get("/way"), 200, "c", 0},
		{"lost by a whole group", "a b|c", map[string]responder{"a": drops, "b": drops, "c": responds(ok)}, get("/way"), 200, "a b c", 0},
		{"no third try in a group that loses requests", "a b d|c",
			map[string]responder{"a": drops, "b": drops, "d": drops, "c": responds(ok)}, get("/way"), 200, "2 of a b d, c", 0},
		{"late", "a|c", map[string]responder{"a": hangs, "c": responds(ok)}, get("/way"), 200, "a c", 5 * time.Second},
		{"late twice", "a|c", map[string]responder{"a": hangs, "c": hangs}, get("/way"), 0, "a c", 10 * time.Second},
		{"late, a single origin", "a", map[string]responder{"a": hangs}, get("/way"), 0, "a", 10 * time.Second},
		{"a late POST has the whole time", "a|c", map[string]responder{"a": hangs, "c": responds(ok)},
			Request{Method: "POST", Target: "/way"}, 0, "a", 10 * time.Second},
		{"failing, onward", "a b|c", map[string]responder{"a": responds(failed502), "b": responds(failed502),
			"c": responds(ok)}, onward("GET"), 200, "1 of a b, c", 0},
		{"503, onward", "a|c", map[string]responder{"a": statusOf("503 x"), "c": responds(ok)}, onward("GET"), 200, "a c", 0},
		{"504, onward", "a|c", map[string]responder{"a": statusOf("504 x"), "c": responds(ok)}, onward("HEAD"), 200, "a c", 0},
		{"failing, not onward", "a|c", map[string]responder{"a": responds(failed502), "c": responds(ok)}, get("/way"), 502, "a", 0},
		{"a failing POST stops", "a|c", map[string]responder{"a": responds(failed502), "c": responds(ok)}, onward("POST"), 502, "a", 0},
		{"a 500 is the origin's own failure", "a|c", map[string]responder{"a": statusOf("500 x"), "c": responds(ok)},
			onward("GET"), 500, "a", 0},
		{"onward only once", "a|b|c", map[string]responder{"a": responds(failed502), "b": statusOf("503 x"),
			"c": responds(ok)}, onward("GET"), 503, "a b", 0},
		{"failing, no connection to the next", "a|c", map[string]responder{"a": responds(failed502)}, onward("GET"), 502, "a", 0},
		{"failing, lost by the next", "a|c", map[string]responder{"a": responds(failed502), "c": drops}, onward("GET"), 502, "a c", 0},
		{"failing, no connection to the next, then the third", "a|b|c",
			map[string]responder{"a": responds(failed502), "c": responds(ok)}, onward("GET"), 200, "a c", 0},
		{"failing in the last group", "a|c", map[string]responder{"c": responds(failed502)}, onward("GET"), 502, "c", 0},
		{"tier secret refused", "a|c", map[string]responder{"a": responds(refuses), "c": responds(ok)}, onward("GET"), 200, "a c", 0},
		{"tier secret refused by all", "a|c", map[string]responder{"a": responds(refuses), "c": responds(refuses)},
			onward("GET"), 0, "a c", 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := network{}
				for host, answer := range row.answers {
					n[host] = &server{answer: answer}
				}
				c := n.client(Config{}, row.origins)
				defer c.Close()
				began := time.Now()
				a, err := c.Do(t.Context(), row.request)
				if (err != nil) != (row.status == 0) || err == nil && a.Status != row.status {
					t.Fatalf("%+v, %v; want %d", a, err, row.status)
				}
				if took := time.Since(began); took != row.after {
					t.Errorf("took %v, want %v", took, row.after)
				}
				if err == nil {
					if body, err := a.Whole(100); err != nil || row.request.Method != "HEAD" && len(body) == 0 {
						t.Errorf("body %q, %v", body, err)
					}
				}
				checkAsked(t, n, row.asked)
			})
		})
	}
}

func onward(method string) Request {
	return Request{Method: method, Target: "/way", TryNextGroup: true}
}

// checkAsked compares the origins that got the request, once each, with a list such as "a c", or "1
// of a b, c".
func checkAsked(t *testing.T, n network, want string) {
	t.Helper()
	var asked []string
	for _, host := range []string{"a", "b", "d", "c"} {
		if s := n[host]; s != nil && len(s.requests()) > 0 {
			if asked = append(asked, host); len(s.requests()) > 1 {
				t.Errorf("%s got %d requests, want one at most", host, len(s.requests()))
			}
		}
	}
	some, rest, ok := strings.Cut(want, ", ")
	if !ok {
		if got := strings.Join(asked, " "); got != want {
			t.Errorf("%s got the request, want %s", got, want)
		}
		return
	}
	of := len(asked) - 1
	if of < 0 || asked[of] != rest || of != int(some[0]-'0') {
		t.Errorf("%v got the request, want %s", asked, want)
	}
}

// The error of an edge that its origin refuses names the tier secret for the log; clients learn
// only that the origin failed.
func TestRefused(t *testing.T) {
	o := serve(t, responds(refuses))
	_, err := o.client(t, Config{}).Do(t.Context(), get("/"))
	wantProblem(t, err, 502, ErrRefused)
	if !strings.Contains(err.Error(), "tier secret") {
		t.Errorf("the error does not name the tier secret: %v", err)
	}
}

// Each request with SendTierSecret carries the current tier secret to the origin, and a health
// check does not. A field of that name from a client is dropped, and so is one that an origin
// echoes.
func TestSecret(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		echo := responds("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n" + tier.Field + ": new-secret-0123456789\r\n\r\nok")
		n := network{"a": {answer: echo}, "b": {answer: drops}}
		secret := "old-secret-0123456789"
		c := n.client(Config{Secret: func() string { return secret }}, "b|a")
		defer c.Close()
		fetch(t.Context(), c, Request{Method: "GET", Target: "/", SendTierSecret: true})
		secret = "new-secret-0123456789"
		forged := http.Header{"Iconedge-Tier-Secret": {"forged-1", "forged-2"}, "Iconedge_tier_secret": {"forged-3"},
			"iconedge-tier-secret": {"forged-4"},
			"Connection":           {tier.Field}}
		a, err := fetch(t.Context(), c, Request{Method: "GET", Target: "/", Header: forged, SendTierSecret: true})
		if err != nil || len(a.Header[tier.Field]) != 0 {
			t.Fatalf("%+v, %v", a, err)
		}
		c.probe(t.Context(), c.set.all()[0])
		fetch(t.Context(), c, get("/strange"))
		for _, host := range []string{"a", "b"} {
			for i, head := range n[host].requests() {
				want := "\r\n" + tier.Field + ": new-secret-0123456789\r\n"
				if i == 0 {
					want = "\r\n" + tier.Field + ": old-secret-0123456789\r\n"
				}
				if !strings.HasPrefix(head, "GET / ") {
					if strings.Contains(strings.ToLower(head), "secret") {
						t.Errorf("%s was sent %q", host, head)
					}
					continue
				}
				if !strings.Contains(head, want) || strings.Count(strings.ToLower(head), "secret") != 2 ||
					strings.Contains(head, "forged") {
					t.Errorf("%s was sent %q", host, head)
				}
			}
		}
		if got := len(n["b"].requests()); got != 4 {
			t.Errorf("b got %d requests, want three and a health check", got)
		}
	})
}

// Without a secret the field is not sent, even if a client sends it.
func TestNoSecret(t *testing.T) {
	o := serve(t, responds(ok))
	fetch(t.Context(), o.client(t, Config{}), Request{Method: "POST", Target: "/",
		Header: http.Header{tier.Field: {"a-clients-own-secret"}}})
	if head := o.requests()[0]; strings.Contains(strings.ToLower(head), "secret") {
		t.Errorf("the origin got %q", head)
	}
}
