package convert

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A translation makes the rules of one server for a site.
type translation struct {
	*converter
	site      *site
	server    *server
	locations []*location
	// flags are the conditions under which variables of set are neither empty nor 0; a name without
	// any is that of a variable whose value nobody knows.
	flags map[string][]any
}

// A refusal is why a location can't be translated.
type refusal struct {
	of  *directive
	why string
}

// refused returns the rule of requests that the edge must not pass on.
func (t *translation) refused(match any, r refusal) rule {
	t.refuse(r.of, "%s", r.why)
	return refusedRule(match, r.of)
}

func refusedRule(match any, d *directive) rule {
	return rule{comment: at(d) + " is NOT translated", match: match, actions: object{{"respond", object{
		{"status", 503}, {"body", "not translated: " + at(d) + "\n"}, {"type", "text/plain"}}}}}
}

// rules returns the rules of the server, of which the last one matches every request.
func (t *translation) rules() (all []rule) {
	s := t.server
	if s.unknown != nil { // it has a note
		return []rule{refusedRule(nil, s.unknown)}
	}
	t.flags = map[string][]any{}
	for _, d := range s.own("location") {
		t.locations = append(t.locations, newLocation(d, s.level))
	}
	all, ended := t.phase(s.level, nil, nil)
	if ended {
		return all
	}
	sorted, except := ordered(t.locations)
	exact := true
	for _, l := range append(sorted, nil) {
		if exact && (l == nil || l.kind != "=") {
			all, exact = append(all, t.slashes()...), false
		}
		if l != nil {
			all = append(all, t.location(l, except[l])...)
		}
	}
	if n := len(sorted); n == 0 || !sorted[n-1].isPrefix() || sorted[n-1].path != "/" {
		rest := &location{level: &level{dir: s.dir, up: s.level}, path: "/"}
		all = append(all, t.location(rest, nil)...)
	}
	return all
}

// slashes returns the redirects from /path to locations /path/ that pass requests on.
func (t *translation) slashes() (all []rule) {
	for _, l := range t.locations {
		bare, ok := strings.CutSuffix(l.path, "/")
		if !ok || !l.isPrefix() || bare == "" || len(l.own("proxy_pass", "fastcgi_pass", "uwsgi_pass", "scgi_pass")) == 0 ||
			slices.ContainsFunc(t.locations, func(other *location) bool { return !other.isRegex() && other.path == bare }) {
			continue
		}
		if strings.ContainsAny(bare, "*$") {
			continue
		}
		all = append(all, rule{comment: at(l.dir) + ": its path without the slash", match: object{{"path", bare}},
			actions: object{{"redirect", object{{"to", l.path}, {"status", 301}}}}})
	}
	return all
}

// location returns the rules of a location.
func (t *translation) location(l *location, except []*location) []rule {
	var match any
	if l.path != "/" || !l.isPrefix() {
		m := l.match()
		if len(except) > 0 {
			var longer []any
			for _, other := range except {
				longer = append(longer, other.match())
			}
			m = m.with("not", longer)
		}
		match = m
	}
	if l.wrong != "" {
		// Which requests it is about is unknown, so that none may pass.
		return []rule{t.refused(nil, refusal{l.dir, l.wrong + "; must be a path, or a regular expression of RE2"})}
	}
	if d := t.sort(l.level); d != nil {
		return []rule{refusedRule(match, d)}
	}
	for _, inner := range l.own("location") {
		return []rule{t.refused(match, refusal{inner, "a location in a location; must stand beside it"})}
	}
	all, ended := t.phase(l.level, match, l)
	if ended {
		return all
	}
	main, r := t.content(l, match)
	if r != nil {
		return append(all, t.refused(match, *r))
	}
	return append(all, main...)
}

// phase returns the rules of return, rewrite and if in a server or a location, in their order: of
// requests that match. ended means that no request gets past them.
func (t *translation) phase(of *level, match any, l *location) (all []rule, ended bool) {
	for _, d := range of.dirs {
		switch d.name {
		case "return":
			made, r := t.answer(d, of, match, l, "")
			if r != nil {
				return append(all, t.refused(match, *r)), true
			}
			return append(all, made...), true
		case "set":
			t.set(d, nil)
		case "rewrite":
			made, r := t.rewrite(d, of, match, l)
			if r != nil {
				// It is about the paths that it matches alone, where these are known.
				if _, err := compile(d.arg(0), false); err == nil {
					if some := replaced(match, whole(d.arg(0), false), l); some != nil {
						all = append(all, t.refused(some, *r))
						continue
					}
				}
				return append(all, t.refused(match, *r)), true
			}
			all = append(all, made...)
		case "if":
			made, r := t.branch(d, of, match, l)
			if r != nil {
				return append(all, t.refused(match, *r)), true
			}
			all = append(all, made...)
		}
	}
	return all, false
}

// set notes when a variable is neither empty nor 0.
func (t *translation) set(d *directive, when any) {
	name, value := d.arg(0), d.arg(1)
	_, known := t.flags[name]
	switch {
	case value == "0" || value == "":
		if when == nil && !known {
			t.flags[name] = []any{}
		} else {
			t.flags[name] = nil
		}
	case when != nil && known && t.flags[name] != nil && literal(value):
		t.flags[name] = append(t.flags[name], when)
	default:
		t.flags[name] = nil
	}
}

// branch translates an if.
func (t *translation) branch(d *directive, of *level, match any, l *location) (all []rule, r *refusal) {
	when, host, ok := condition(d.args)
	onlySets := !slices.ContainsFunc(d.block, func(one *directive) bool { return one.name != "set" })
	if !ok && onlySets {
		for _, one := range d.block {
			t.flags[one.arg(0)] = nil
		}
		t.add(d, "the condition has no match of its own; what depends on its variable is left out")
		return nil, nil
	}
	if !ok {
		return nil, &refusal{d, "the condition has no match of its own; must be a match in its rule"}
	}
	inner := &level{dir: d, dirs: d.block, up: of}
	for _, one := range d.block {
		switch one.name {
		case "set":
			t.set(one, both(match, when))
		case "return":
			made, r := t.answer(one, inner, both(match, when), l, host)
			return append(all, made...), r
		case "rewrite":
			if flag := one.arg(2); flag != "redirect" && flag != "permanent" && !isURL(one.arg(1)) {
				return nil, &refusal{one, "a rewrite in an if; must be a rule with rewrite"}
			}
			made, r := t.rewrite(one, inner, both(match, when), l)
			if r != nil {
				return nil, r
			}
			all = append(all, made...)
		case "break":
		case "add_header", "access_log", "expires":
			t.add(one, "stands in an if; must be a rule with response_headers")
		default:
			return nil, &refusal{one, "stands in an if; must be a rule of its own"}
		}
	}
	return all, nil
}

// answer translates return for requests that match. host is the host that they have, if an if says
// so.
func (t *translation) answer(d *directive, of *level, match any, l *location, host string) (all []rule, r *refusal) {
	status, text := 302, d.arg(0)
	if n, err := parseStatus(d.arg(0)); err == nil {
		status, text = n, d.arg(1)
	}
	redirect := status == 301 || status == 302 || status == 303 || status == 307 || status == 308
	switch {
	case status == 444:
		t.change(d, "the edge answers 403, and does not close the connection without a response")
		return t.ruled(d, of, match, object{{"respond", object{{"status", 403}}}}, false), nil
	case status < 200 || status > 599 || redirect && text == "":
		return nil, &refusal{d, "no status of a response; must be respond: {status: …}"}
	case redirect:
		return t.redirects(d, of, match, l, redirection{to: text, status: status, host: host})
	case !literal(text):
		return nil, &refusal{d, "a text with variables; must be respond: {body: …} with a fixed one"}
	}
	o := object{{"status", status}}
	if text != "" && status != 204 && status != 304 {
		o = append(o, member{"body", text}, member{"type", of.value("default_type", "text/plain")})
	}
	return t.ruled(d, of, match, object{{"respond", o}}, false), nil
}

func parseStatus(s string) (n int, err error) {
	if n, err = strconv.Atoi(s); err != nil || len(s) != 3 || n < 100 {
		return 0, fmt.Errorf("%q is no status", s)
	}
	return n, nil
}

// ruled returns a rule with the fields that responses of its level get. Those for other statuses
// have rules of their own before it.
func (t *translation) ruled(d *directive, of *level, match any, actions object, stop bool) (all []rule) {
	headers := t.headers(of)
	for i, edits := range headers {
		if i < len(headers)-1 {
			all = append(all, rule{match: match, actions: object{{"response_headers", edits}}})
		} else {
			actions = append(object{{"response_headers", edits}}, actions...)
		}
	}
	all = append(all, rule{match: match, actions: actions, stop: stop})
	all[0].comment = at(d)
	return all
}
