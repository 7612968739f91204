package rules

import (
	"net/http"
	"reflect"
	"slices"

	"github.com/iconedge/iconedge/config"
)

// A MatchRow is an entry of matches: its name and its form in a file, and the function that
// compiles its value. MatchOf makes one.
type MatchRow struct {
	config.Term
	compile func(c *Compiler, at string, v any) Matcher
}

// MatchOf returns a row whose values in a file have the form of the type V: a type of package
// config, such as Strings, a basic type of Go, or a struct with tags of JSON. compile gets a value
// and its place in the file, and reports its errors to c.
func MatchOf[V any](name, help string, compile func(c *Compiler, at string, v V) Matcher) MatchRow {
	return MatchRow{termOf[V](name, help), func(c *Compiler, at string, v any) Matcher { return compile(c, at, v.(V)) }}
}

// An ActionRow is an action of rules: its name and its form in a file, and the function that
// compiles its value. ActionOf makes one.
type ActionRow struct {
	config.Term
	compile func(c *Compiler, at string, v any) Action // nil: Decision.merge applies it
	fixed   bool
	answers bool
}

// An Action is the compiled form of an action. It never changes, because requests use it at the
// same time.
type Action interface {
	// Apply changes the decision about a request that matches the rule. captures are those of the
	// match. It returns nil, or the answer to the request if the row is Answering.
	Apply(d *Decision, q *Request, captures []string) *Answer
}

// ActionOf returns a row whose values in a file have the form of the type V; see MatchOf. Each
// request that matches a rule with the action leaves the hit path, so that Apply can decide about
// it, unless the row is Fixed.
func ActionOf[V any](name, help string, compile func(c *Compiler, at string, v V) Action) ActionRow {
	return ActionRow{Term: termOf[V](name, help), compile: func(c *Compiler, at string, v any) Action { return compile(c, at, v.(V)) }}
}

// Fixed makes a row that of an action which does the same for every request that matches, so that
// the hit path can answer requests by decisions that it remembers.
func Fixed(r ActionRow) ActionRow {
	r.fixed = true
	return r
}

// Answering makes a row that of an action which may answer requests. It is applied after all
// actions of its rule that do not.
func Answering(r ActionRow) ActionRow {
	r.answers = true
	return r
}

func termOf[V any](name, help string) config.Term {
	return config.Term{Name: name, Help: help, Type: reflect.TypeFor[V]()}
}

// setting returns the row of an action that sites have too, which Decision.merge applies.
func setting[V any](name, help string) ActionRow {
	return ActionRow{Term: termOf[V](name, help), fixed: true}
}

// matches are the entries of matches in the order in which they are compared: those of the path,
// which the index of rules has looked at already, and then those that cost the least.
var matches = []MatchRow{
	MatchOf("path",
		"the whole path, decoded and normalised, matches a glob: `*` inside a segment, `**` across. Each asterisk "+
			"is a capture: `$1`, `$2` …; it takes as little as it can, from left to right", matchPath),
	MatchOf("path_regex",
		"the whole path matches a regular expression (RE2); its groups are captures, in place of those of a "+
			"`path` beside it", matchPathRegex),
	MatchOf("host", "the host is one of the values, also by wildcard", matchHost),
	MatchOf("method", "the method is one of the values", matchMethod),
	MatchOf("country", "the country of the client is one of the values", matchCountry),
	MatchOf("client", "the address of the client is in a network", matchClient),
	MatchOf("query",
		"a parameter is present (by name, also with `*`), or each name of a map has one of its values: whole, as "+
			"a glob, or anywhere by `/regex/`; of several with the name, any", matchQuery),
	MatchOf("header", "a field is present, or has one of the values, as in `query`", matchHeader),
	MatchOf("cookie", "a cookie is present, or has one of the values, as in `query`", matchCookie),
}

// actions are the actions of rules. Those of one rule are applied in this order, the settings
// first and those that answer last.
var actions = []ActionRow{
	Fixed(ActionOf("origin",
		"a name, or weights such as `{stable: 90, canary: 10, sticky: client}`; sticky may be `cookie NAME`. "+
			"Where a site has several origins, responses are stored for each origin apart", chooseOrigin)),
	ActionOf("rewrite",
		"path and query towards the origin; the key has the result. A target without `?` keeps the client's "+
			"query, one with `?` replaces it", rewrite),
	setting[*config.Edits]("request_headers", "`{set, add, remove}`: edits of the request towards the origin, which also gets "+
		"fields that the edge drops if clients send them, such as `X-Forwarded-Prefix`. The edge writes `Forwarded` and "+
		"`X-Forwarded-For`, `-Host` and `-Proto` itself"),
	setting[*config.ResponseEdits]("response_headers",
		"`{set, add, remove, status}`: edits of every response, cached or not, or, with `status: [2xx, 404]`, of those "+
			"with these statuses; a 304 counts as a 200. A long lifetime needs `status: 2xx`, because browsers would "+
			"store errors for as long"),
	setting[*config.Key]("key",
		"`{query, headers, cookies, host, body}`: what the cache key has besides host and path: `query` is `all`, "+
			"`none`, `{include: […]}` or `{exclude: […]}`; `host: false` leaves the host out. Of cookies the key has "+
			"each one with the name, as it was sent. `body: true` caches a POST that only reads, such as a query of "+
			"GraphQL, [as a QUERY is cached](caching.md#query)"),
	setting[*config.TTL]("ttl",
		"a time, or a map of `200` or `2xx` to times, in place of the lifetime that the response names. It begins "+
			"when the response arrives; 0 revalidates each time. A response with private or no-store is not stored "+
			"all the same, and of the responses to requests with Cookie only [some](#cookies-and-lifetimes) are"),
	setting[*config.TTL]("default_ttl",
		"as `ttl`, only for responses that name no lifetime themselves, by `max-age`, `s-maxage`, `Expires` or `no-cache`"),
	setting[*config.Duration]("grace",
		"how long a response may be served stale while it is revalidated. In `defaults` and in a site it yields "+
			"to the fields of the response, in a rule it does not"),
	setting[*config.Duration]("stale_if_error", "how long a response may be served stale while its origin fails"),
	Fixed(ActionOf("cache",
		"`on`; `bypass`: neither looked up nor stored; `never`: not stored; `force`: stored although private, "+
			"no-store, Authorization or Set-Cookie forbid it. Set-Cookie is dropped. Without a lifetime give a `ttl` "+
			"too", setCache)),
	Fixed(ActionOf("cookies",
		"`ignore`: a `ttl` counts for the responses to requests with Cookie too; `respect` takes that back for "+
			"requests of a later rule. The origin gets the cookies all the same, so every response must be the same "+
			"for all users", setCookies)),
	setting[*config.Cookies]("strip_cookies",
		"`true` or names, also by `*`: dropped from the request before key and origin, and Set-Cookie from the "+
			"response"),
	ActionOf("mirror",
		"`{to, share}`: a copy of each GET, or of a share such as 0.1, goes to another origin, whether stored or not. "+
			"Nobody waits for its response, which is dropped. At most 64 copies are in flight; others are left out", mirrorTo),
	setting[*config.Compress]("compress",
		"which responses clients get in [content codings](#content-codings): `all` (or `true`); `stored`, from the "+
			"second client on; `off` (or `false`)"),
	setting[*config.Dictionaries]("dictionaries",
		"which responses browsers may keep as dictionaries, so that they download the "+
			"[difference to a later version](caching.md#differences-between-versions): `origin`, those that the origin "+
			"declares; `auto`, also static files with a hash or a version in their address; `off` (or `false`)"),
	setting[config.Strings]("early_hints", "values of Link in a 103"),
	setting[config.Strings]("tags", "surrogate keys of the response"),
	setting[*config.Size]("max_body", "the longest body of a request"),
	setting[*config.Duration]("timeout", "until a response begins"),
	setting[*config.ErrorPages]("errors",
		"`{\"404\": {file: …}, \"502,503,504\": {file: …, status: 503, retry_after: 30s}}`: "+
			"[files in the place of errors](#error-pages) of the edge, and with `origin: true` of the origin too"),
	setting[*config.Log]("log",
		"`{sample, skip}`: the fraction of the responses that have a line in the access log, in place of that of "+
			"`access_log_sample`, and a match of requests that have none; 5xx always have one"),
	setting[*bool]("server_timing",
		"`true`: responses have a `Server-Timing` with the [times of the edge](caching.md#times-of-a-response)"),
	Answering(ActionOf("deny",
		"networks whose requests get 403",
		func(_ *Compiler, _ string, all config.Strings) Action { return access{prefixes(all), false} })),
	Answering(ActionOf("allow",
		"networks; requests from others get 403",
		func(_ *Compiler, _ string, all config.Strings) Action { return access{prefixes(all), true} })),
	Answering(ActionOf("signed",
		"`{secret, param, expires}`: 403 unless `sig` is the lower-case hex of HMAC-SHA256 over the path as sent, "+
			"a line feed and `exp`, in Unix seconds, which is not past", requireSignature)),
	Answering(ActionOf("limit",
		"`{rate, key}`: an exact sliding window of the rule, by `client`, `path` or `header NAME`; 429. Beside "+
			"`auth`, wrong passwords count. Each edge counts for itself", limitRequests)),
	Answering(ActionOf("auth",
		"`{basic: FILE}`: users of htpasswd with bcrypt; credentials go no further. A reload reads the file "+
			"again. [Guesses](security.md#guesses-of-passwords-and-tokens) wait for their turn. `{forward: …}` and "+
			"`{jwt: …}`: [sign-on](#sign-on) by a service or a token", requireSignOn)),
	Answering(ActionOf("redirect", "`{to, status}`: 302 by default; a target as in `rewrite`, or a URL", redirectTo)),
	Answering(ActionOf("respond",
		"`{status, body, file, type}`: a text or a file of at most 1 MiB, which is read when the configuration is", respondWith)),
}

// AddMatch adds an entry of matches. A program calls it before it reads a configuration file, such
// as in an init function. It panics if the name is taken.
func AddMatch(r MatchRow) {
	if slices.ContainsFunc(matches, func(one MatchRow) bool { return one.Name == r.Name }) || r.Name == "not" {
		panic("rules: two entries of matches have the name " + r.Name)
	}
	matches = append(slices.Clip(matches), r)
}

// AddAction adds an action of rules; see AddMatch.
func AddAction(r ActionRow) {
	if slices.ContainsFunc(actions, func(one ActionRow) bool { return one.Name == r.Name }) || r.Name == "match" || r.Name == "stop" {
		panic("rules: two actions have the name " + r.Name)
	}
	actions = append(slices.Clip(actions), r)
}

// Matches returns the entries of matches in the form in which a file is read.
func Matches() (all []config.Term) {
	for _, r := range matches {
		all = append(all, r.Term)
	}
	return all
}

// Actions returns the actions of rules in the form in which a file is read.
func Actions() (all []config.Term) {
	for _, r := range actions {
		all = append(all, r.Term)
	}
	return all
}

// actions compiles the actions of a rule, whose match has so many captures.
func (c *Compiler) actions(out *rule, captures int) {
	given := out.Given()
	c.captured = captures
	for _, row := range actions {
		v, ok := given[row.Name]
		if !ok {
			continue
		}
		out.names = append(out.names, row.Name)
		if row.compile == nil {
			continue
		}
		a := row.compile(c, out.At+"."+row.Name, v)
		if a == nil { // it is wrong
			continue
		}
		if row.answers {
			out.answers = append(out.answers, a)
		} else {
			out.changes = append(out.changes, a)
		}
		switch a := a.(type) {
		case access:
			out.access = append(out.access, a)
		case template:
			out.rewrite = &a
		case *Limit:
			out.limit = a
		case redirect:
			out.redirect = &a
		case *Answer:
			out.respond = a
		default:
			out.dynamic = out.dynamic || !row.fixed || row.answers
		}
		out.protects = out.protects || row.answers && protects(a)
	}
}

// protects reports whether an action that answers may keep requests from the origin, and not only
// answer in its place.
func protects(a Action) bool {
	switch a := a.(type) {
	case redirect:
		return false
	case *Answer:
		return a.Status >= http.StatusBadRequest
	}
	return true
}
