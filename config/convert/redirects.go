package convert

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A redirection is a redirect of nginx, whose target may have variables.
type redirection struct {
	to     string
	status int
	host   string // that the requests have, by an if; empty: any of the server
	// pattern is the regular expression of a rewrite, whose groups the target has; empty: none.
	pattern string
}

func isURL(s string) bool {
	return strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://") || strings.HasPrefix(s, "$scheme://")
}

// redirects returns the rules of a redirect of requests that match.
func (t *translation) redirects(d *directive, of *level, match any, l *location, x redirection) (all []rule, r *refusal) {
	if rest, ok := strings.CutPrefix(x.to, "$scheme://"); ok {
		secure, plain := x, x
		secure.to, plain.to = "https://"+rest, "http://"+rest
		if all, r = t.redirects(d, of, both(match, object{{"not", insecure}}), l, secure); r != nil {
			return nil, r
		}
		more, r := t.redirects(d, of, match, l, plain)
		return append(all, more...), r
	}
	if name := usesHost(x.to); name != "" && x.host == "" {
		for _, host := range t.server.names {
			if strings.HasPrefix(host, "*") {
				return nil, &refusal{d, "the host of the request is in the target; must be redirect: {to: …} for each host"}
			}
			one := x
			one.host = host
			when := match
			if len(t.server.names) > 1 || t.server.isDefault {
				when = both(match, object{{"host", host}})
			}
			made, r := t.redirects(d, of, when, l, one)
			if r != nil {
				return nil, r
			}
			if all = append(all, made...); name == "server_name" {
				break // it is the first name, whatever the host
			}
		}
		if len(all) == 0 {
			return nil, &refusal{d, "the host of the request is in the target; must be redirect: {to: …} for each host"}
		}
		if t.server.isDefault {
			t.refuse(d, "for hosts without a name here; must be redirect: {to: …} for each host, or tls_redirect: true")
			all = append(all, refusedRule(match, d))
		}
		return all, nil
	}
	to, match, r := t.target(d, match, l, x)
	if r != nil {
		return nil, r
	}
	return t.ruled(d, of, match, object{{"redirect", object{{"to", to}, {"status", x.status}}}}, false), nil
}

// usesHost returns the variable of the host that a target has.
func usesHost(s string) string {
	for _, name := range []string{"host", "http_host", "server_name"} {
		if strings.Contains(s, "://$"+name) || strings.Contains(s, "://${"+name+"}") {
			return name
		}
	}
	return ""
}

var hostVariable = regexp.MustCompile(`\$\{?(host|http_host|server_name)\}?`)

// target returns a target in the form of the file, with a match whose captures it has.
func (t *translation) target(d *directive, match any, l *location, x redirection) (to string, with any, r *refusal) {
	to = x.to
	if x.host != "" {
		to = hostVariable.ReplaceAllLiteralString(to, x.host)
	}
	// A rewrite adds the query of the request, a return does not.
	keeps := x.pattern != "" && !strings.Contains(to, "?")
	if stem, ok := strings.CutSuffix(to, "$is_args$args"); ok {
		to, keeps = stem, true
	} else if stem, ok := strings.CutSuffix(to, "?$args"); ok {
		to, keeps = stem, true
	} else if stem, ok := strings.CutSuffix(to, "?$query_string"); ok {
		to, keeps = stem, true
	}
	// The whole path of the request is the first capture of match.
	switch {
	case strings.HasSuffix(to, "$request_uri"):
		to, keeps = strings.TrimSuffix(to, "$request_uri")+"$uri", true
	case strings.Contains(to, "$request_uri"):
		return "", nil, &refusal{d, "$request_uri in the middle of a target; must be redirect: {to: …}"}
	}
	if strings.Contains(to, "?") && (keeps || x.pattern != "" && !strings.HasSuffix(to, "?")) {
		return "", nil, &refusal{d, "adds the query of the request to a query; must be redirect: {to: …} with one of them"}
	}
	if stem, ok := strings.CutSuffix(to, "?"); ok && strings.Contains(stem, "?") {
		to = stem // the query of the request is not added
	}
	to = strings.ReplaceAll(to, "$document_uri", "$uri")
	if x.pattern != "" {
		if re, err := compile(x.pattern, false); err == nil && lastGroup(to) > re.NumSubexp() {
			return "", nil, &refusal{d, "its regular expression has fewer groups than the target; must have as many"}
		}
	}
	captured, shift := x.pattern != "" || l != nil && l.isRegex() && hasGroups(to), 0
	usesPath := strings.Contains(to, "$uri")
	switch {
	case x.pattern != "":
		pattern := whole(x.pattern, false)
		if usesPath {
			pattern, shift = "("+pattern+")", 1
		}
		if match = replaced(match, pattern, l); match == nil {
			return "", nil, &refusal{d, "a rewrite in a location of a regular expression; must be one rule with path_regex"}
		}
	case captured || usesPath && l != nil && l.isRegex():
		pattern := "(" + whole(l.path, l.kind == "~*") + ")"
		shift = 1
		if match = replaced(match, pattern, nil); match == nil {
			return "", nil, &refusal{d, "captures beside another condition; must be a rule with path_regex"}
		}
	case usesPath:
		if match = capturing(match); match == nil {
			return "", nil, &refusal{d, "the path beside another condition; must be a rule with path"}
		}
	}
	to, ok := captures(to, match, shift)
	switch {
	case !ok:
		return "", nil, &refusal{d, "a variable that the edge has not; must be redirect: {to: …} with $1, $2 …"}
	case strings.ContainsAny(to, " \t\r\n") || strings.Contains(to, "${"):
		return "", nil, &refusal{d, "a target with spaces; must be percent-encoded"}
	case !isURL(to) && !strings.HasPrefix(to, "/") && !strings.HasPrefix(to, "$"):
		return "", nil, &refusal{d, "no path and no URL; must be one"}
	}
	if !keeps && !strings.Contains(to, "?") {
		to += "?" // without the query of the request
	}
	return to, match, nil
}

var groupVariable = regexp.MustCompile(`\$\{?([1-9][0-9]*)\}?`)

// lastGroup returns the largest number of a group in a target.
func lastGroup(s string) (last int) {
	for _, found := range groupVariable.FindAllStringSubmatch(s, -1) {
		if n, err := strconv.Atoi(found[1]); err == nil {
			last = max(last, n)
		}
	}
	return last
}

func hasGroups(s string) bool { return groupVariable.MatchString(s) }

// captures writes the variables of a target as captures of match, whose groups begin behind shift.
func captures(to string, match any, shift int) (string, bool) {
	ok := true
	to = variable.ReplaceAllStringFunc(to, func(v string) string {
		name := strings.Trim(v[1:], "{}")
		if n, err := strconv.Atoi(name); err == nil && n > 0 && strconv.Itoa(n) == name {
			return fmt.Sprintf("$%d", n+shift)
		}
		if name != "uri" {
			ok = false
			return v
		}
		if shift > 0 {
			return "$1"
		}
		o, _ := match.(object)
		path, _ := o.get("path").(string)
		return strings.TrimSuffix(path, "**") + map[bool]string{true: "$1"}[strings.HasSuffix(path, "**")]
	})
	return to, ok
}

// capturing returns a match of paths whose first capture is the rest of the path; nil: it has none.
func capturing(match any) any {
	if match == nil {
		return object{{"path", "/**"}}
	}
	o, ok := match.(object)
	if !ok || o.get("path_regex") != nil || o.get("not") != nil && isAlternative(o) {
		return nil
	}
	if path, ok := o.get("path").(string); ok {
		if strings.Count(path, "*") != 2*strings.Count(path, "**") {
			return nil
		}
		return match
	}
	return append(object{{"path", "/**"}}, o...)
}

// isAlternative reports whether a match is one of both, without entries of its own.
func isAlternative(o object) bool {
	list, ok := o.get("not").([]any)
	return ok && len(o) == 1 && len(list) == 2
}

// replaced returns match with a regular expression of the path, in place of that of its location.
// It returns nil if match has no such form. l is the location, if its own match must stay.
func replaced(match any, pattern string, l *location) any {
	if match == nil {
		return object{{"path_regex", pattern}}
	}
	o, ok := match.(object)
	if !ok || isAlternative(o) || l != nil && o.get("path_regex") != nil {
		return nil
	}
	o = slices.Clone(o)
	for i, m := range o {
		if m.key == "path_regex" {
			o[i].value = pattern
			return o
		}
	}
	return o.with("path_regex", pattern)
}

// rewrite translates rewrite for requests that match.
func (t *translation) rewrite(d *directive, of *level, match any, l *location) (all []rule, r *refusal) {
	pattern, to, flag := d.arg(0), d.arg(1), d.arg(2)
	if _, err := compile(pattern, false); err != nil {
		return nil, &refusal{d, err.Error() + "; must be a regular expression of RE2"}
	}
	status := map[string]int{"redirect": 302, "permanent": 301}[flag]
	if status == 0 && isURL(to) {
		status = 302
	}
	if status > 0 {
		return t.redirects(d, of, match, l, redirection{to: to, status: status, pattern: pattern})
	}
	// Its requests go on with the new path, in the location of that path.
	next := l
	if flag != "break" {
		fixed, _, _ := strings.Cut(to, "$")
		fixed, _, _ = strings.Cut(fixed, "?")
		if next = t.certain(fixed, fixed == strings.TrimSuffix(to, "?")); next == nil {
			return nil, &refusal{d, "the new path may be in several locations; must be a rule with rewrite"}
		}
		if next != l && len(next.own("rewrite", "return", "if")) > 0 {
			return nil, &refusal{d, fmt.Sprintf("the location of the new path, in line %d, has return, rewrite or if; "+
				"must be a rule with rewrite", next.dir.line)}
		}
	}
	if next == nil {
		return nil, &refusal{d, "break in a server; must be a rule with rewrite"}
	}
	if next != l {
		if unknown := t.sort(next.level); unknown != nil {
			return []rule{refusedRule(match, d)}, nil
		}
	}
	target, when, r := t.target(d, match, l, redirection{to: to, pattern: pattern})
	if r != nil {
		return nil, r
	}
	moved := *next
	moved.rewritten = target
	all, r = t.content(&moved, when)
	if r != nil {
		return nil, r
	}
	all[0].comment = at(d)
	return all, nil
}

// certain returns the location of all paths that begin with a text; nil: there may be several.
func (t *translation) certain(begin string, complete bool) *location {
	if complete {
		return find(t.locations, begin)
	}
	of := find(t.locations, begin)
	if of == nil || !of.isPrefix() {
		return nil
	}
	for _, other := range t.locations {
		if other.kind == "@" || other == of {
			continue
		}
		if other.isRegex() && of.kind != "^~" && other.mayMatch(begin) || !other.isRegex() && strings.HasPrefix(other.path, begin) {
			return nil
		}
	}
	return of
}
