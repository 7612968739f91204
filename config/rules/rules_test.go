package rules

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/iconedge/iconedge/config"
)

// compile compiles a file with one site, whose rules are given.
func compile(t testing.TB, rules string) *Site {
	t.Helper()
	table, findings := compileText(t, rules)
	if table == nil {
		t.Fatalf("%v in\n%s", findings, rules)
	}
	return table.Sites[0]
}

func compileText(t testing.TB, rules string) (*Table, config.Findings) {
	t.Helper()
	text := "version: 1\nsites:\n- name: a\n  hosts: [a.test]\n  origins: {app: {urls: [\"http://10.0.0.5\"]}, b: " +
		"{urls: [\"http://10.0.0.6\"]}}\n  origin: app\n  rules:\n" + rules
	f, err := config.Parse("f", []byte(text), config.Options{})
	if err != nil {
		return nil, err.(config.Findings)
	}
	return Compile(f)
}

func get(target string, fields ...string) *Request {
	q := &Request{Method: "GET", Host: "a.test", Target: target, Client: netip.MustParseAddr("192.0.2.1"),
		Header: http.Header{}, Now: time.Unix(1000, 0)}
	for i := 0; i < len(fields); i += 2 {
		q.Header.Add(fields[i], fields[i+1])
	}
	return q
}

// TestMatch: each entry matches as the reference says. A rule that matches answers 299.
func TestMatch(t *testing.T) {
	for _, row := range []struct {
		match string
		q     *Request
		want  bool
	}{
		{`{path: "/two/**"}`, get("/two/"), true},
		{`{path: "/two/**"}`, get("/two"), false},
		{`{query: {a: "1"}}`, get("/?a=0&a=1"), true}, // the origin may take either
		{`{query: {a: "1"}}`, get("/?a=1&a=0"), true},
		{`{query: {"a*": "1"}}`, get("/?ab=0&ac=1"), true},
		{`{cookie: {a: "1"}}`, get("/", "Cookie", "a=0; a=1"), true},
		{`{cookie: {a: "1"}}`, get("/", "Cookie", "a=0,a=1"), true},
		{`'request.query["a"] == "0" && request.cookies["a"] == "2"'`, get("/?a=0&a=1", "Cookie", "a=2; a=3"), true},
		{`{path: "/two/**"}`, get("/two/a/b"), true},
		{`{path: "/a/*"}`, get("/a/b/c"), false},
		{`{path: "/a/*/c"}`, get("/a/b/c"), true},
		{`{path: "**.js"}`, get("/a/b.js"), true},
		{`{path: "/a b"}`, get("/a%20b"), true},
		{`{path: "/a/**"}`, get("/x/../a/%62"), true},
		{`{path: "/admin/**"}`, get("//admin//x"), true},
		{`{path: "/admin/**"}`, get("/%61dmin/x"), true},
		{`{path: "/admin/**"}`, get("/x/%2e%2e/admin/x"), true},
		{`{path: [/a, /b]}`, get("/b"), true},
		{`{path_regex: "/[0-9]+"}`, get("/12"), true},
		{`{path_regex: "/[0-9]+"}`, get("/12a"), false},
		{`{path_regex: "/a|/b"}`, get("/bc"), false},
		{`{host: "*.test"}`, get("/"), true},
		{`{host: "*.a.test"}`, get("/"), false},
		{`{method: [GET, HEAD]}`, get("/"), true},
		{`{method: POST}`, get("/"), false},
		{`{query: a}`, get("/?a"), true},
		{`{query: a}`, get("/?b=a"), false},
		{`{query: {a: "x*"}}`, get("/?a=xy/z"), true},
		{`{query: {a: "/^x$/"}}`, get("/?a=xy"), false},
		{`{query: {a: "/y/"}}`, get("/?a=xyz"), true},
		{`{header: X-Debug}`, get("/", "X-Debug", "1"), true},
		{`{header: {x-debug: [1, 2]}}`, get("/", "X-Debug", "2"), true},
		{`{header: {x-debug: 3}}`, get("/", "X-Debug", "2"), false},
		{`{cookie: session}`, get("/", "Cookie", "a=b; session=1"), true},
		{`{cookie: session}`, get("/", "Cookie", "xsession=1"), false},
		{`{cookie: "wp_*"}`, get("/", "Cookie", "wp_a=1"), true},
		{`{cookie: {v: b}}`, get("/", "Cookie", "v=b"), true},
		{`{client: 192.0.2.0/24}`, get("/"), true},
		{`{client: 10.0.0.0/8}`, get("/"), false},
		{`{not: {path: /a}}`, get("/b"), true},
		{`{method: GET, not: {path: /a}}`, get("/a"), false},
		{`[{path: /a}, {path: /b}]`, get("/b"), true},
		{`'request.path.startsWith("/api/") && request.headers["x-debug"] == "1"'`, get("/api/x", "X-Debug", "1"), true},
		{`'request.headers["x-debug"] == "1"'`, get("/"), false}, // fails at run time: no such key
		{`'"x" in request.query && request.query.x == "1"'`, get("/?x=1"), true},
		{`'request.client == "192.0.2.1" && !request.tls'`, get("/"), true},
		{`'request.cookies["a"] == "b"'`, get("/", "Cookie", "a=b"), true},
		// Its cost exceeds the limit.
		{`'request.path.matches(".*") && [1,2,3,4,5,6,7,8,9,10].all(a, [1,2,3,4,5,6,7,8,9,10].all(b, [1,2,3,4,5,6,7,8,9,10].all(c, [1,2,3,4,5,6,7,8,9,10].all(d, [1,2,3,4,5,6,7,8,9,10].all(e, a + b + c + d + e > 0)))))'`, get("/"), false},
	} {
		s := compile(t, "  - {match: "+row.match+", respond: {status: 299}}\n")
		d := s.Decide(row.q)
		if got := d.Answer != nil && d.Answer.Status == 299; got != row.want {
			_, steps := s.Explain(row.q)
			t.Errorf("%s matches %s: %v (%v)", row.match, row.q.Target, got, steps)
		}
	}
}

// TestRuleFindings: rules that can't be compiled are findings, and rules without effect warnings.
func TestRuleFindings(t *testing.T) {
	for rule, want := range map[string]string{
		`  - {match: 'request.pth == "a"', stop: true}`: "request.pth is unknown; the " +
			"fields of request are method",
		`  - {match: 'request.path', stop: true}`:                           "must be true or false",
		`  - {match: 'request.path ==', stop: true}`:                        "must be an expression of CEL",
		`  - {match: {path: /a/*}, rewrite: /b/$2}`:                         "$2 is undefined, because the match has 1 captures",
		`  - {match: [{path: /a/*}, {method: GET}], redirect: {to: /b/$1}}`: "$1 is undefined",
		`  - {match: {path: "/**"}, redirect: {to: "https://$1/"}}`:         "a capture is the host",
		`  - {redirect: {to: /b/$1}}`:                                       "$1 is undefined",
		`  - {match: {path_regex: "(/a"}, stop: true}`:                      "must be a regular expression",
		`  - {match: {path_regex: "/a)(/b"}, stop: true}`:                   "must be a regular expression",
		`  - {match: {country: DE}, stop: true}`:                            "must have geo.country too",
		`  - {match: {client: [nowhere]}, stop: true}`:                      "must be an address or a network",
		`  - {match: {}, stop: true}`:                                       "must have an entry",
		`  - {match: {path: a}, stop: true}`:                                "must begin with a slash",
		`  - {auth: {basic: /nonexistent}}`:                                 "must be a readable file of htpasswd",
		`  - {auth: {basic: /dev/zero}}`: "is no regular file; must be a " +
			"readable file of htpasswd",
		`  - {respond: {file: /nonexistent}}`: "no such file or directory; must be a readable file",
		`  - {respond: {file: /dev/zero}}`:    "is no regular file; must be a readable file",
		`  - {respond: {file: /}}`:            "is a folder; must be a readable file",
		"  - {respond: {status: 204}}\n  - {match: {path: /a}, cache: never}": "never matches, because the rule " +
			"in line 8 always ends the list",
		`  - {match: {path: /a//b}, cache: never}`: "not in normalised form",
		`  - {match: {host: other.test}, cache: never}`: "never matches, because no host of " +
			"the site is other.test",
		`  - {match: {host: "*.other.test"}, cache: never}`: "never matches, because no host of " +
			"the site is *.other.test",
		`  - {match: {method: get}, cache: never}`: "must be GET",
		`  - {match: 'false', cache: never}`:       "never matches, because the expression is always false",
		`  - {match: {path: /a}}`:                  "has no action",
		`  - {cache: never}`:                       "no rule uses the origin",
		`  - {match: {path: "/*-*-*-*-*-*-*"}, cache: never}`: "has 7 asterisks, so that some " +
			"requests cost the rule much time; should have at most 6",
		`  - {match: {header: {A: "*b*b*b*b*b*b*"}}, cache: never}`:               "has 7 asterisks",
		`  - {match: {query: "*b*b*b*b*b*b*"}, cache: never}`:                     "has 7 asterisks",
		`  - {match: {path: "/*-*-*-*-*-*-*-*-*-*-*-*-*-*-*-*-*"}, cache: never}`: "17 asterisks; must have at most 16",
		`  - {match: {path_regex: "/[a-z]{900}(x|yy){200}"}, cache: never}`:       "so that some requests cost the rule much time",
		`  - {match: 'request.path.matches("(")', cache: never}`:                  "must be a regular expression of RE2",
		`  - {match: 'request.path.matches(1)', cache: never}`:                    "must be an expression of CEL",
	} {
		if _, findings := compileText(t, rule+"\n"); !strings.Contains(findings.Error(), want) {
			t.Errorf("%s: %v; want %q", rule, findings, want)
		}
	}
}

// TestNoWarning: rules that can match have no warning.
func TestNoWarning(t *testing.T) {
	for _, rule := range []string{
		`{match: {host: "*.test"}, origin: b}`,
		`{match: {host: ["*", a.test]}, origin: b}`,
		`{match: {not: {host: other.test}}, origin: b}`,
		`{match: {method: [GET, M-SEARCH]}, origin: b}`,
		`{match: {path: /a/*, path_regex: "/a/.*"}, redirect: {to: /b/$1}}`,
		`{match: 'request.tls', origin: b, stop: true}`,
	} {
		if _, findings := compileText(t, "  - {match: {path: /zz}, origin: b}\n  - "+rule+"\n"); len(findings) > 0 {
			t.Errorf("%s: %v", rule, findings)
		}
	}
}

// TestPathAndRegex: a regular expression without groups leaves the captures to the glob.
func TestPathAndRegex(t *testing.T) {
	s := compile(t, `  - {match: {path: "/a/*", path_regex: "/a/[0-9]+"}, redirect: {to: "/b/$1"}}
  - {match: {path: "/c/x", path_regex: "/c/(.*)"}, redirect: {to: "/d/$1"}}
`)
	for target, want := range map[string]string{"/a/12": "/b/12", "/c/x": "/d/x"} {
		d := s.Decide(get(target))
		if d.Answer == nil || d.Answer.Value != want {
			t.Errorf("%s: %+v; want a redirect to %s", target, d.Answer, want)
		}
	}
}

// TestKeyRulesStop: a rule that ends the list before a rule with a key is one of the key rules.
func TestKeyRulesStop(t *testing.T) {
	key := "  - {match: {path: /a}, key: {query: none}}\n"
	plain := compile(t, key).KeyRules
	for rules, same := range map[string]bool{
		key + "  - {match: {path: /b}, stop: true}\n": true,
		"  - {match: {path: /b}, ttl: 1s}\n" + key:    true,
		"  - {match: {path: /b}, stop: true}\n" + key: false,
	} {
		if got := compile(t, rules).KeyRules == plain; got != same {
			t.Errorf("%s: the key rules are the same: %v, want %v", rules, got, same)
		}
	}
}

// TestActions: later rules win, header operations accumulate, stop ends the list.
func TestActions(t *testing.T) {
	s := compile(t, `  - {ttl: 1m, cache: never, response_headers: {set: {A: b}}}
  - {match: {path: "/s/**"}, origin: b, ttl: 5m, rewrite: "/x/$1", response_headers: {add: {C: d}}, stop: true}
  - {ttl: 9m}
`)
	d := s.Decide(get("/s/a%3Fb?q=1"))
	if ttl, _ := d.TTL.Of(200); ttl != 5*time.Minute || d.Cache != "never" || len(d.ResponseEdits) != 2 || d.Target != "/x/a%3Fb?q=1" {
		t.Errorf("%+v", d)
	}
	d = s.Decide(get("/"))
	if ttl, _ := d.TTL.Of(200); ttl != 9*time.Minute || len(d.ResponseEdits) != 1 || d.Target != "" {
		t.Errorf("%+v", d)
	}
	if len(s.whole.ResponseEdits) != 0 {
		t.Error("a decision changed the site")
	}
}

// TestRedirects: captures can't lead to another site nor end the line.
func TestRedirects(t *testing.T) {
	for _, row := range []struct{ rule, target, want string }{
		{`{match: {path: "/old/**"}, redirect: {to: "/new/$1"}}`, "/old/a/b?x=1", "/new/a/b?x=1"},
		{`{match: {path: "/old/**"}, redirect: {to: "/new/$1?y=2"}}`, "/old/a?x=1", "/new/a?y=2"},
		{`{match: {path: "/old/**"}, redirect: {to: "/new/$1?y=2"}}`, "/old/a", "/new/a?y=2"},
		{`{match: {path: "/old/**"}, redirect: {to: "/new/$1?"}}`, "/old/a?x=1", "/new/a"},
		{`{match: {path: "/old/**"}, redirect: {to: "/new??"}}`, "/old/a?x=1", "/new??"},
		{`{match: {path: "/old/**"}, redirect: {to: "/n?p=$1"}}`, "/old/a&b=c%23", "/n?p=a%26b%3Dc%23"},
		{`{match: {path: "/go**"}, redirect: {to: "$1"}}`, "/go//evil.test/", "/evil.test/"},
		{`{match: {path: "/go**"}, redirect: {to: "/$1"}}`, "/go/evil.test", "/evil.test"},
		{`{match: {path: "/go**"}, redirect: {to: "/$1"}}`, "/go%5Cevil.test", "/%5Cevil.test"},
		{`{match: {path: "/go/**"}, redirect: {to: "/$1"}}`, "/go/a%0d%0aX:b", "/a%0D%0AX:b"},
		{`{match: {path_regex: "(/.*)"}, redirect: {to: "https://a.test$1"}}`, "/x?y", "https://a.test/x?y"},
		{`{match: {path_regex: "/x(.*)"}, redirect: {to: "https://a.test$1"}}`, "/x.evil.test", "https://a.test/.evil.test"},
		{`{match: {path_regex: "/x(.*)"}, redirect: {to: "https://a.test$1"}}`, "/x@evil.test", "https://a.test/@evil.test"},
	} {
		d := compile(t, "  - "+row.rule+"\n").Decide(get(row.target))
		if d.Answer == nil || d.Answer.Value != row.want {
			t.Errorf("%s, %s: %+v; want %s", row.rule, row.target, d.Answer, row.want)
		}
	}
}

// TestSpellings: a rule holds for every spelling of its host and of its client's address.
func TestSpellings(t *testing.T) {
	spelt := func(host, client string) *Request {
		q := get("/")
		q.Host, q.Client = host, netip.MustParseAddr(client)
		return q
	}
	for _, row := range []struct {
		match string
		q     *Request
	}{
		{`{host: a.test}`, spelt("a.test.", "192.0.2.1")},
		{`{host: A.test.}`, spelt("a.test", "192.0.2.1")},
		{`{host: "*.test."}`, spelt("a.test", "192.0.2.1")},
		{`{host: "*.test"}`, spelt("a.test.", "192.0.2.1")},
		{`{header: {Host: a.test}}`, spelt("a.test.", "192.0.2.1")},
		{`'request.host == "a.test"'`, spelt("a.test.", "192.0.2.1")},
		{`{client: 192.0.2.0/24}`, spelt("a.test", "::ffff:192.0.2.1")},
		{`{client: "fe80::/10"}`, spelt("a.test", "fe80::1%eth0")},
		{`'request.client == "fe80::1"'`, spelt("a.test", "fe80::1%eth0")},
	} {
		s := compile(t, "  - {match: "+row.match+", deny: [0.0.0.0/0, \"::/0\"]}\n")
		if d := s.Decide(row.q); d.Answer == nil {
			t.Errorf("%s does not hold for %s from %s", row.match, row.q.Host, row.q.Client)
		}
	}
}

// TestAnswers: addresses, passwords, signatures and limits.
func TestAnswers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "htpasswd")
	hash, err := bcrypt.GenerateFromPassword([]byte("secret"), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, fmt.Appendf(nil, "# users\nann:%s\n", hash), 0o600); err != nil {
		t.Fatal(err)
	}
	s := compile(t, `  - {match: {path: "/deny"}, deny: [192.0.2.0/24]}
  - {match: {path: "/allow"}, allow: [10.0.0.0/8]}
  - {match: {path: "/mine"}, allow: [192.0.2.1]}
  - {match: {path: "/auth"}, auth: {basic: "`+file+`"}}
  - {match: {path: "/signed/**"}, signed: {secret: key, param: sig, expires: exp}}
  - {match: {path: "/limit"}, limit: {rate: 1/1s, key: header X-Key}}
  - {match: {path: "/guess"}, auth: {basic: "`+file+`"}, limit: {rate: 1/1s}}
`)
	limited := get("/limit", "X-Key", "k")
	limited.Allow = func(_ *Limit, key string) (bool, time.Duration) { return key != "k", 1500 * time.Millisecond }
	guess := get("/guess", "Authorization", "Basic YW5uOndyb25n") // wrong passwords count
	guess.Allow = func(*Limit, string) (bool, time.Duration) { return false, time.Second }
	sign := func(path, exp string) string { return path + "?exp=" + exp + "&sig=" + Sign([]byte("key"), path, exp) }
	for _, row := range []struct {
		q      *Request
		status int
	}{
		{get("/deny"), 403}, {get("/allow"), 403}, {get("/mine"), 0},
		{get("/auth"), 401}, {get("/auth", "Authorization", "Basic YW5uOnNlY3JldA=="), 0},
		{get("/auth", "Authorization", "Basic YW5uOnNlY3JldA=="), 0},
		{get("/auth", "Authorization", "Basic YW5uOndyb25n"), 401},
		{get("/auth", "Authorization", "Basic Ym9iOnNlY3JldA=="), 401}, {get("/auth", "Authorization", "Bearer x"), 401},
		{get(sign("/signed/a", "1000")), 0}, {get(sign("/signed/a", "999")), 403}, {get("/signed/a"), 403},
		{get("/signed/a?exp=2000&sig="), 403},
		{get(strings.Replace(sign("/signed/a", "2000"), "/signed/a", "/signed/b", 1)), 403},
		{get(sign("/signed/a", "2000") + "&exp=1"), 403},
		{get(sign("/signed/%61", "2000")), 0}, {limited, 429}, {guess, 429},
	} {
		got := 0
		if d := s.Decide(row.q); d.Answer != nil {
			got = d.Answer.Status
		}
		if got != row.status {
			t.Errorf("%s: %d, want %d", row.q.Target, got, row.status)
		}
	}
}

// TestPasswords: every wrong password of a file costs the same, whether there is such a user and
// whatever the cost of the user's hash, and with or without a caller that limits guesses.
func TestPasswords(t *testing.T) {
	file := filepath.Join(t.TempDir(), "htpasswd")
	var text []byte
	for user, cost := range map[string]int{"ann": 7, "old": 5} {
		hash, err := bcrypt.GenerateFromPassword([]byte("secret"), cost)
		if err != nil {
			t.Fatal(err)
		}
		text = fmt.Appendf(text, "%s:%s\n", user, hash)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := readPasswords(file)
	if err != nil {
		t.Fatal(err)
	}
	work := 0
	p.compare = func(hash, password []byte) error {
		cost, err := bcrypt.Cost(hash)
		if err != nil {
			t.Errorf("%s: %v", hash, err)
		}
		work += 1 << cost
		return bcrypt.CompareHashAndPassword(hash, password)
	}
	accounts, allowed := map[string]string{}, error(nil)
	limited := func(account, password string, compare func() bool) (bool, error) {
		accounts[account] = password
		return allowed == nil && compare(), allowed
	}
	for _, guess := range []func(string, string, func() bool) (bool, error){nil, limited} {
		for _, row := range []struct {
			userinfo string
			right    bool
			work     int
		}{
			{"ann:secret", true, 1 << 7},
			{"old:secret", true, 1 << 5},
			{"ann:wrong", false, 1 << 7},
			{"old:wrong", false, 1 << 7},
			{"bob:secret", false, 1 << 7},
			{"bob:" + strings.Repeat("long", 100), false, 1 << 7},
			{":", false, 1 << 7},
			{"no colon", false, 0},
		} {
			work = 0
			q := get("/", "Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(row.userinfo)))
			q.Guess = guess
			if a := p.check(q); (a == nil) != row.right || a != nil && a.Status != 401 || work != row.work {
				t.Errorf("%s: answer %+v after %d rounds, want right: %v after %d", row.userinfo, a, work, row.right, row.work)
			}
		}
	}
	if len(accounts) != 4 {
		t.Errorf("%d accounts, want those of ann, old, bob and the empty user: %q", len(accounts), accounts)
	}
	allowed, work = errors.New("too many"), 0
	q := get("/", "Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("ann:secret")))
	q.Guess = limited
	if a := p.check(q); a == nil || a.Err != allowed || a.Denied || work != 0 {
		t.Errorf("a guess that the caller refuses: %+v after %d rounds, want its error", a, work)
	}
}

// TestKeys: the key has the parts that the rules name, and no text of a client ends its part.
func TestKeys(t *testing.T) {
	key := func(rule string, q *Request) string {
		s := compile(t, "  - "+rule+"\n")
		d := s.Decide(q)
		k := s.Key(&d, q, "http", "a.test")
		return strings.ReplaceAll(k[:strings.IndexByte(k, 0)]+k[strings.IndexByte(k, 0)+len("\x00a/")+12:], "\x00", " ")
	}
	for _, row := range []struct {
		rule string
		q    *Request
		want string
	}{
		{`{key: {query: none}}`, get("/a?b=c"), "http://a.test/a o=app"},
		{`{key: {query: all}}`, get("/a?b=c"), "http://a.test/a?b=c o=app"},
		{`{key: {query: {include: [b]}}}`, get("/a?x=1&b=c"), "http://a.test/a?b=c o=app"},
		{`{key: {query: {exclude: ["utm_*"]}}}`, get("/a?utm_x=1&b=c"), "http://a.test/a?b=c o=app"},
		{`{key: {host: false}}`, get("/a"), "http://_/a o=app"},
		{`{key: {headers: [x-v]}}`, get("/a", "X-V", "1\x00h=X"), "http://a.test/a o=app h=X-V:1%00h%3DX"},
		{`{key: {cookies: [v]}}`, get("/a", "Cookie", "v=b"), "http://a.test/a o=app c=v:v%3Db"},
		{`{key: {cookies: [v]}}`, get("/a", "Cookie", "vw=1"), "http://a.test/a o=app c=v"},
		{`{key: {headers: [v]}}`, get("/a"), "http://a.test/a o=app h=V"},
		{`{origin: b}`, get("/a"), "http://a.test/a o=b"},
		{`{rewrite: /z}`, get("/a?q"), "http://a.test/z?q o=app"},
	} {
		if got := key(row.rule, row.q); got != row.want {
			t.Errorf("%s: %q, want %q", row.rule, got, row.want)
		}
	}
}

// Only a POST that a rule names has its body in the key, and a later rule may take that back.
func TestKeysContent(t *testing.T) {
	s := compile(t, "  - {match: {path: \"/read/**\"}, key: {body: true}}\n  - {match: {path: /read/not}, key: {body: false}}\n")
	for _, row := range []struct {
		method, target string
		want           bool
	}{{"POST", "/read/a", true}, {"GET", "/read/a", false}, {"PUT", "/read/a", false}, {"POST", "/write", false},
		{"POST", "/read/not", false}} {
		q := get(row.target)
		q.Method = row.method
		if d := s.Decide(q); d.KeysContent(row.method) != row.want {
			t.Errorf("%s %s: %v, want %v", row.method, row.target, !row.want, row.want)
		}
	}
}

// TestCookieKeys: cookies that an origin may tell apart have different keys. Applications differ in
// which of two cookies with one name counts, in whether a comma ends a cookie, and in what quotes
// mean; a client that could send both under one key would choose the response of others.
func TestCookieKeys(t *testing.T) {
	for rule, all := range map[string][]string{
		"[v]":  {"", "v", "v=", "v=a", "v=b", `v="a"`, "v=a,b", "v=a,c", "v=a; v=b", "v=b; v=a", "x=1,v=a", "x=1,v=b", "v=a,v=b"},
		"[v*]": {"v1=a; v2=b", "v1=b; v2=a", "v1=a", "v2=a"},
	} {
		s := compile(t, "  - {key: {cookies: "+rule+"}}\n")
		keys := map[string]string{}
		for _, line := range all {
			q := get("/a", "Cookie", line)
			d := s.Decide(q)
			key := s.Key(&d, q, "http", "a.test")
			if other, known := keys[key]; known {
				t.Errorf("%s: the cookies %q and %q have the same key %q", rule, line, other, key)
			}
			keys[key] = line
		}
	}
	s := compile(t, "  - {key: {cookies: [v]}}\n")
	for _, same := range []string{"v=a", "x=1; v=a", " v=a ;y", "V=b;v=a"} {
		q, plain := get("/a", "Cookie", same), get("/a", "Cookie", "v=a")
		d := s.Decide(q)
		if s.Key(&d, q, "http", "a.test") != s.Key(&d, plain, "http", "a.test") {
			t.Errorf("%q has another key than v=a", same)
		}
	}
}

// TestSplit: weights share requests, and sticky ones stay with their origin.
func TestSplit(t *testing.T) {
	s := compile(t, "  - {match: {path: /w}, origin: {app: 90, b: 10}}\n  - {match: {path: /s}, origin: {app: 50, b: "+
		"50, sticky: cookie id}}\n")
	n := map[string]int{}
	for i := range 1000 {
		q := get("/w")
		q.Random = uint64(i)
		d := s.Decide(q)
		n[d.Choose(q)]++
	}
	if n["app"] != 900 || n["b"] != 100 {
		t.Errorf("%v", n)
	}
	for i := range 50 {
		first := ""
		for range 3 {
			q := get("/s", "Cookie", fmt.Sprintf("id=%d", i))
			q.Random = rand.Uint64()
			d := s.Decide(q)
			if name := d.Choose(q); first != "" && name != first {
				t.Fatalf("cookie %d: %s, then %s", i, first, name)
			} else {
				first = name
			}
		}
	}
}

// TestHosts: exact hosts win over wildcards, and longer wildcards over shorter.
func TestHosts(t *testing.T) {
	text := "version: 1\nsites:\n"
	for name, hosts := range map[string]string{"exact": "a.b.test", "long": `"*.b.test"`, "short": `"*.test"`,
		"last": `"*"`, "dot": `"dot.test."`} {
		text += "- {name: " + name + ", hosts: [" + hosts + "], origins: {a: {urls: [\"http://10.0.0.1\"]}}}\n"
	}
	f, err := config.Parse("f", []byte(text), config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	table, findings := Compile(f)
	if table == nil {
		t.Fatal(findings)
	}
	for host, want := range map[string]string{"a.b.test": "exact", "A.B.test.": "exact", "x.b.test": "long",
		"x.y.b.test": "long", "b.test": "short", "test": "last", "": "last", ".b.test": "short", "dot.test": "dot",
		"DOT.test.": "dot", "[::1]": "last"} {
		if got := table.Find(host); got.Name != want {
			t.Errorf("%q is of %s, want %s", host, got.Name, want)
		}
	}
	table.last = nil
	if table.Find("other") != nil {
		t.Error("an unknown host has a site")
	}
}

// naive returns the regular expression of a glob.
func naive(glob string) *regexp.Regexp {
	expr := regexp.QuoteMeta(glob)
	expr = strings.ReplaceAll(expr, `\*\*`, "\x00")
	expr = strings.ReplaceAll(expr, `\*`, "[^/]*")
	expr = strings.ReplaceAll(expr, "\x00", ".*")
	return regexp.MustCompile("^(?s:" + expr + ")$")
}

// TestIndex: the index and its bitset decide as a naive model that tries every rule in order.
func TestIndex(t *testing.T) {
	words := []string{"a", "b", "ab", "*", "**", "a*", "*b"}
	r := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		var globs []string
		var naively []*regexp.Regexp
		var text strings.Builder
		for i := range 1 + r.IntN(300) {
			glob := ""
			for range 1 + r.IntN(4) {
				glob += "/" + words[r.IntN(len(words))]
			}
			globs, naively = append(globs, glob), append(naively, naive(glob))
			fmt.Fprintf(&text, "  - {match: {path: \"%s\"}, response_headers: {add: {X: \"%d\"}}}\n", glob, i)
		}
		s := compile(t, text.String())
		for range 50 {
			path := ""
			for range r.IntN(5) {
				path += "/" + words[r.IntN(3)]
			}
			if path == "" || r.IntN(4) == 0 {
				path += "/"
			}
			var want, got []string
			for i, expr := range naively {
				if expr.MatchString(path) {
					want = append(want, fmt.Sprint(i))
				}
			}
			d := s.Decide(get(path))
			for _, e := range d.ResponseEdits {
				got = append(got, e.Add["X"])
			}
			explained, _ := s.Explain(get(path))
			if strings.Join(got, " ") != strings.Join(want, " ") || len(explained.ResponseEdits) != len(want) {
				t.Fatalf("%s: rules %v, want %v of %q", path, got, want, globs)
			}
		}
	}
}

// FuzzDecide: no request makes the matcher panic, and a redirect stays on its site and one line.
func FuzzDecide(f *testing.F) {
	s := compile(f, "  - {match: {path: \"/go**\"}, redirect: {to: \"/$1\"}}\n  - {match: {path_regex: \"(/.*)\"}, "+
		"rewrite: \"/x$1\"}\n  - {match: 'request.headers[\"a\"] == request.query[\"b\"]', key: {query: none}}\n")
	f.Add("/go//x?b=1", "1")
	f.Fuzz(func(t *testing.T, target, field string) {
		if !strings.HasPrefix(target, "/") {
			return
		}
		q := get(target, "A", field)
		d := s.Decide(q)
		if d.Answer != nil {
			to := d.Answer.Value
			path, _, _ := strings.Cut(to, "?")
			if strings.HasPrefix(to, "//") || strings.ContainsAny(path, "\r\n\\ ") {
				t.Errorf("%q leads to %q", target, to)
			}
			if u, err := url.Parse(path); err != nil || u.Host != "" {
				t.Errorf("%q leads to %q", target, to)
			}
			return
		}
		s.Key(&d, q, "http", "a.test")
	})
}

func BenchmarkDecide(b *testing.B) {
	var text strings.Builder
	for i := range 200 {
		fmt.Fprintf(&text, "  - {match: {path: \"/section%d/**\"}, ttl: 1m}\n", i)
	}
	s := compile(b, text.String())
	b.ReportAllocs()
	var d Decision
	for b.Loop() {
		q := Request{Method: "GET", Host: "a.test", Target: "/section77/page"}
		s.DecideInto(&d, &q)
	}
}

// An explanation says when the content is in the key, and where the cache groups hold.
func TestExplainKeysAndGroups(t *testing.T) {
	table, findings := compileText(t, `
      - {match: {path: /graphql}, key: {body: true}}
      - {match: {path: "/shared/**"}, key: {host: false}}
      - {match: {path: "/never/**"}, cache: bypass}
`)
	if table == nil {
		t.Fatal(findings)
	}
	const stale = "those of Cache-Groups, for http://a.test; Cache-Group-Invalidation makes them stale"
	for _, row := range []struct {
		method, path string
		content      bool
		groups       string
	}{
		{"GET", "/graphql", false, stale}, {"POST", "/graphql", true, stale}, {"QUERY", "/x", true, stale},
		{"GET", "/shared/x", false, strings.Replace(stale, "http://a.test", "all hosts of the site", 1)},
		{"QUERY", "/never/x", false, ""},
	} {
		u := &url.URL{Scheme: "http", Host: "a.test", Path: row.path}
		e, err := Explain(table, u, Request{Method: row.method, Header: http.Header{}})
		if content := strings.HasSuffix(e.Key, " and the content"); err != nil || content != row.content || e.Groups != row.groups {
			t.Errorf("%s %s: key %q, groups %q, %v", row.method, row.path, e.Key, e.Groups, err)
		}
		if row.groups != "" && !strings.Contains(e.Text(), "\ngroups  "+row.groups) {
			t.Errorf("%s %s: %s", row.method, row.path, e.Text())
		}
	}
}

// Explain says which responses get a lifetime, by the request and the rules.
func TestExplainLifetime(t *testing.T) {
	table, findings := compileText(t, `
      - {match: {path: "/p/**"}, ttl: 1h}
      - {match: {path: "/p/strip/**"}, strip_cookies: [_ga]}
      - {match: {path: "/p/ignore/**"}, cookies: ignore}
      - {match: {path: "/p/ignore/not/**"}, cookies: respect}
      - {match: {path: "/p/key/**"}, key: {cookies: [lang]}}
      - {match: {path: "/p/force/**"}, cache: force}
      - {match: {path: "/d/**"}, default_ttl: 1h}
`)
	if table == nil {
		t.Fatal(findings)
	}
	for _, row := range []struct{ path, field, value, want string }{
		{"/x", "Cookie", "a=1", ""},
		{"/p/x.css", "X-None", "", "every response, because the request has neither"},
		{"/d/x.css", "X-None", "", "responses that name no lifetime, of these every response, because the request has neither"},
		{"/p/x.css", "Cookie", "a=1", "of a type that belongs to the end of the path (text/css), because the request has Cookie"},
		{"/p/x.PNG?y=1.css", "Cookie", "a=1", "(image/*)"},
		{"/p/x.html", "Cookie", "a=1", "no media type belongs"},
		{"/p/x.css", "Authorization", "Basic x", "responses with public, because the request has Authorization"},
		{"/p/strip/x", "Cookie", "_ga=1", "neither Cookie nor"},
		{"/p/strip/x", "Cookie", "_ga=1; a=2", "because the request has Cookie"},
		{"/p/ignore/x", "Cookie", "a=1", "every response, because cookies is ignore"},
		{"/p/ignore/not/x", "Cookie", "a=1", "because the request has Cookie"},
		{"/p/key/x", "Cookie", "lang=de", "every response, because the key has every cookie"},
		{"/p/key/x", "Cookie", "lang=de; a=1", "because the request has Cookie"},
		{"/p/force/x", "Cookie", "a=1", "every response, because cache is force"},
	} {
		u, err := url.Parse("http://a.test" + row.path)
		if err != nil {
			t.Fatal(err)
		}
		e, err := Explain(table, u, Request{Method: "GET", Header: http.Header{row.field: {row.value}}})
		if err != nil || (row.want == "") != (e.TTLFor == "") || !strings.Contains(e.TTLFor, row.want) {
			t.Errorf("%+v: %q %v", row, e.TTLFor, err)
		}
		if row.want != "" && !strings.Contains(e.Text(), "\nfor     "+e.TTLFor) {
			t.Errorf("%+v: %s", row, e.Text())
		}
	}
}

// The key that Explain shows has the cookies that are left after strip_cookies.
func TestExplainStripsCookies(t *testing.T) {
	table, findings := compileText(t, `
      - {match: {cookie: {none: x}}, compress: false}
      - {match: {path: "/**"}, strip_cookies: [_ga], key: {cookies: [lang, _ga]}}
`)
	if table == nil {
		t.Fatal(findings)
	}
	u, err := url.Parse("http://a.test/x")
	if err != nil {
		t.Fatal(err)
	}
	e, err := Explain(table, u, Request{Method: "GET", Header: http.Header{"Cookie": {"_ga=1; lang=de"}}})
	if err != nil || strings.Contains(e.Key, "_ga:") || !strings.Contains(e.Key, "lang:") {
		t.Errorf("the key is %q, %v", e.Key, err)
	}
}
