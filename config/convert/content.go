package convert

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/iconedge/iconedge/config/rules"
)

// passes are the directives by which a location answers with a program.
var passes = []string{"proxy_pass", "fastcgi_pass", "uwsgi_pass", "scgi_pass", "grpc_pass", "memcached_pass", "stub_status",
	"empty_gif", "perl", "content_by_lua_block", "content_by_lua_file"}

// content returns the rules by which a location answers requests that match.
func (t *translation) content(l *location, match any) (all []rule, r *refusal) {
	if internal := l.own("internal"); len(internal) > 0 && l.rewritten == "" {
		t.change(internal[0], "404 for clients, as in nginx; the edge follows no X-Accel-Redirect of an origin")
		return t.ruled(l.dir, l.level, match, object{{"respond", object{{"status", 404}}}}, false), nil
	}
	guards, before, r := t.guards(l, match)
	if r != nil {
		return nil, r
	}
	var origin string
	var actions object
	if pass := l.own("proxy_pass"); len(pass) > 0 {
		origin, match, actions, r = t.proxied(l, pass[0], match)
	} else {
		origin, match, actions, r = t.files(l, match)
	}
	if r != nil {
		return nil, r
	}
	if l.rewritten != "" {
		actions = without(actions, "rewrite").with("rewrite", l.rewritten)
	}
	of := l.level
	if len(before) > 0 { // the responses of these have the fields of the location too
		for _, edits := range t.headers(l.level) {
			all = append(all, rule{match: match, actions: object{{"response_headers", edits}}})
		}
		of = &level{}
	}
	all = append(all, before...)
	cached, before := t.caching(l, match)
	all = append(all, before...)
	actions = append(object{{"origin", origin}}, actions...)
	actions = append(actions, cached...)
	actions = append(actions, t.settings(l)...)
	return append(all, t.ruled(l.dir, of, match, append(actions, guards...), true)...), nil
}

func without(o object, key string) object {
	return slices.DeleteFunc(slices.Clone(o), func(m member) bool { return m.key == key })
}

// origin returns the name of an origin of the site.
func (t *translation) origin(name string, value object) string {
	for n := 1; ; n++ {
		one := numbered(name, n)
		at := slices.IndexFunc(t.site.origins, func(m member) bool { return m.key == one })
		if at < 0 {
			t.site.origins = append(t.site.origins, member{one, value})
			return one
		}
		if flow(t.site.origins[at].value) == flow(value) {
			return one
		}
	}
}

// proxied returns the origin of a proxy_pass, and the actions that go with it.
func (t *translation) proxied(l *location, d *directive, match any) (origin string, with any, actions object, r *refusal) {
	to := d.arg(0)
	if !literal(to) {
		return "", nil, nil, &refusal{d, "an address with variables; must be a fixed one"}
	}
	scheme, rest, ok := strings.Cut(to, "://")
	if !ok || scheme != "http" && scheme != "https" {
		return "", nil, nil, &refusal{d, "no http:// or https://; must be one"}
	}
	authority, uri := rest, ""
	if socket, isSocket := strings.CutPrefix(rest, "unix:"); isSocket {
		authority, uri, _ = strings.Cut(socket, ":")
		authority = "unix:" + authority
	} else if at := strings.IndexByte(rest, '/'); at >= 0 {
		authority, uri = rest[:at], rest[at:]
	}
	if strings.Contains(uri, "?") {
		return "", nil, nil, &refusal{d, "a query in proxy_pass; must be a rule with rewrite"}
	}
	var value object
	name, hostOf := "", "origin"
	switch up := t.upstreams[authority]; {
	case up != nil:
		if value, r = t.upstream(up, scheme); r != nil {
			return "", nil, nil, r
		}
		name, hostOf = label(authority), authority
	case strings.HasPrefix(authority, "unix:"):
		value, name, hostOf = object{{"urls", []string{authority}}}, label(filepath.Base(authority)), "localhost"
	default:
		value, name = object{{"urls", []string{scheme + "://" + authority}}}, label(authority)
	}
	host, edits := t.requestFields(l, hostOf)
	if host == "" {
		return "", nil, nil, &refusal{d, "the Host of the origin depends on variables; must be host: client, origin or a name"}
	}
	value = value.with("host", host)
	if seconds, ok := duration(l.value("proxy_read_timeout", "60s")); ok && seconds > 0 && seconds != 60 {
		value = value.with("timeout", timeOf(seconds))
	}
	if len(edits) > 0 {
		actions = actions.with("request_headers", edits)
	}
	if uri == "" || l.rewritten != "" {
		return t.origin(name, value), match, actions, nil
	}
	// The URI takes the place of the path of the location.
	switch {
	case l.isRegex():
		return "", nil, nil, &refusal{d, "a path in proxy_pass of a regular expression; must be a rule with rewrite"}
	case l.kind == "=":
		return t.origin(name, value), match, actions.with("rewrite", uri), nil
	case uri == l.path:
		return t.origin(name, value), match, actions, nil
	}
	if match == nil {
		match = object{{"path", "/**"}}
	}
	o, isObject := match.(object)
	path, isPath := o.get("path").(string)
	if !isObject || !isPath || path != l.path+"**" || strings.Contains(uri, "$") {
		return "", nil, nil, &refusal{d, "a path in proxy_pass beside another condition; must be a rule with path and rewrite"}
	}
	return t.origin(name, value), match, actions.with("rewrite", uri+"$1"), nil
}

// upstream returns an origin of the servers of an upstream.
func (t *translation) upstream(d *directive, scheme string) (value object, r *refusal) {
	var urls, backups []string
	var weights []int
	policy, weighted := "random", false // in turn and at random share requests alike
	for _, one := range d.block {
		switch one.name {
		case "server":
			address, weight, backup, down := one.arg(0), 1, false, false
			for _, arg := range one.args[min(1, len(one.args)):] {
				switch n, isWeight := strings.CutPrefix(arg, "weight="); {
				case isWeight:
					weight, _ = strconv.Atoi(n)
				case arg == "backup":
					backup = true
				case arg == "down":
					down = true
				default:
					t.add(&directive{file: one.file, line: one.line, name: "server", args: one.args},
						"%s: the edge takes servers out by its own checks", arg)
				}
			}
			if !strings.HasPrefix(address, "unix:") {
				address = scheme + "://" + address
			}
			switch {
			case down:
			case backup:
				backups = append(backups, address)
			default:
				urls, weights, weighted = append(urls, address), append(weights, max(weight, 1)), weighted || weight > 1
			}
		case "least_conn":
			policy = "least_conn"
		case "random":
		case "ip_hash", "hash", "sticky":
			t.add(one, "requests of a client go to any server; must be origin: {a: 1, b: 1, sticky: client}")
		default:
			if why, ok := harmless[one.name]; ok {
				t.add(one, "%s", why)
			} else {
				t.add(one, "unknown in an upstream")
			}
		}
	}
	if len(urls) == 0 {
		return nil, &refusal{d, "has no server; must have one"}
	}
	value = object{{"urls", urls}}
	if len(urls) > 1 {
		value = value.with("policy", policy)
	}
	if weighted {
		list := make([]any, len(weights))
		for i, w := range weights {
			list[i] = w
		}
		value = value.with("weight", list)
	}
	if len(backups) > 0 {
		value = value.with("backups", strings.Join(backups, ","))
	}
	return value, nil
}

// requestFields returns the host that an origin gets, and edits of the other fields. The host is
// empty if it depends on variables.
func (t *translation) requestFields(l *location, otherwise string) (host string, edits object) {
	host = otherwise
	var sets object
	var removed []string
	for _, d := range l.all("proxy_set_header") {
		name, value := d.arg(0), d.arg(1)
		switch lower := strings.ToLower(name); {
		case lower == "host":
			switch value {
			case "$host", "$http_host", "$host:$server_port":
				host = "client"
			case "$proxy_host":
				host = otherwise
			default:
				if host = value; !literal(value) {
					host = ""
				}
			}
		case lower == "connection", lower == "upgrade":
			// WebSocket and others pass by themselves, and other values are nobody's business.
		case strings.HasPrefix(lower, "x-forwarded-"), lower == "forwarded":
			t.change(d, "the edge writes Forwarded and X-Forwarded-For, -Host and -Proto itself")
		case lower == "x-real-ip":
			t.change(d, "the edge sends the address of the client in X-Forwarded-For")
		case lower == "accept-encoding" && value == "":
			t.add(d, "the edge compresses what the origin has not")
		case strings.EqualFold(value, "$http_"+strings.ReplaceAll(lower, "-", "_")):
			// The origin gets it anyway.
		case value == "":
			removed = append(removed, name)
		case literal(value):
			sets = append(slices.DeleteFunc(sets, func(m member) bool { return strings.EqualFold(m.key, name) }), member{name, value})
		case value == "$request_id" && lower == "x-request-id":
			t.add(d, "must be request_id: make at the top of the file")
		default:
			t.add(d, "a field with variables, which the origin does not get")
		}
	}
	if len(removed) > 0 {
		edits = edits.with("remove", removed)
	}
	if len(sets) > 0 {
		edits = edits.with("set", sets)
	}
	return host, edits
}

// files returns the folder of a location, and the actions that go with it.
func (t *translation) files(l *location, match any) (origin string, with any, actions object, r *refusal) {
	for _, d := range l.own(passes...) {
		return "", nil, nil, &refusal{d, hints[d.name]}
	}
	alias := l.own("alias")
	root := l.one("root")
	d := l.dir
	if len(alias) > 0 {
		d = alias[0]
	} else if root != nil {
		d = root
	}
	if len(alias) == 0 && root == nil || d.arg(0) == "" {
		return "", nil, nil, &refusal{d, "has no folder, and passes requests to nobody; must have root or proxy_pass"}
	}
	if !literal(d.arg(0)) {
		return "", nil, nil, &refusal{d, "a folder with variables; must be a fixed one"}
	}
	dir := t.path(d.arg(0))
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", nil, nil, &refusal{d, "no folder is there on this machine; must be dir: FOLDER of an origin"}
	}
	value := object{{"dir", dir}}
	if names := t.index(l); names != nil {
		value = value.with("index", names)
	}
	fallback, r := t.fallback(l)
	if r != nil {
		return "", nil, nil, r
	}
	if fallback != "" {
		value = value.with("fallback", fallback)
	}
	if l.value("autoindex", "off") == "on" {
		value = value.with("listing", true)
	}
	if len(alias) > 0 && l.rewritten == "" {
		if l.isRegex() || match == nil {
			return "", nil, nil, &refusal{d, "an alias needs a path; must be a rule with rewrite"}
		}
		o, _ := match.(object)
		path, _ := o.get("path").(string)
		switch {
		case l.kind == "=":
			return "", nil, nil, &refusal{d, "an alias of one file; must be a rule with rewrite"}
		case path != l.path+"**" || !strings.HasSuffix(l.path, "/"):
			return "", nil, nil, &refusal{d, "an alias whose location does not end in a slash; must be a rule with rewrite"}
		}
		actions = actions.with("rewrite", "/$1")
	}
	return t.origin(label(filepath.Base(dir)), value), match, actions, nil
}

// index returns the names of index files, if they are not the usual one.
func (t *translation) index(l *location) (names []string) {
	d := l.one("index")
	if d == nil {
		return nil
	}
	for _, name := range d.args {
		switch {
		case !literal(name) || strings.ContainsAny(name, "/\\") || strings.HasPrefix(name, "."):
			t.add(d, "%s is no name of a file in the folder", name)
		case filepath.Ext(name) != ".html" && filepath.Ext(name) != ".htm" && filepath.Ext(name) != ".xml" && filepath.Ext(name) != ".txt":
			t.add(d, "%s is a program, which a folder would show as text; must be an origin", name)
		default:
			names = append(names, name)
		}
	}
	if len(names) == 0 || slices.Equal(names, []string{"index.html"}) {
		return nil
	}
	return names
}

// fallback returns the path of the file in place of those that are missing, by try_files.
func (t *translation) fallback(l *location) (path string, r *refusal) {
	d := l.one("try_files")
	if d == nil || len(d.args) == 0 {
		return "", nil
	}
	last := d.args[len(d.args)-1]
	for _, one := range d.args[:len(d.args)-1] {
		if one != "$uri" && one != "$uri/" && one != "$uri/index.html" {
			return "", &refusal{d, "tries other files than that of the path; must be an origin with dir and fallback"}
		}
	}
	if !slices.Contains(d.args, "$uri/") && !slices.Contains(d.args, "$uri/index.html") {
		t.change(d, "a folder has its index too, as with $uri/")
	}
	last, _, _ = strings.Cut(last, "?")
	switch {
	case last == "=404":
		return "", nil
	case strings.HasPrefix(last, "="), strings.HasPrefix(last, "@"):
		return "", &refusal{d, "the edge does not look for a file before it asks an origin; must be rules with the paths of files"}
	case !literal(last) || !strings.HasPrefix(last, "/"):
		return "", &refusal{d, "the last file has variables; must be a path such as /index.html"}
	}
	of := find(t.locations, last)
	if of != nil && of.dir != l.dir && (len(of.own(passes...)) > 0 || len(of.own("return", "rewrite", "if", "root", "alias")) > 0) {
		return "", &refusal{d, fmt.Sprintf("%s is in the location in line %d; must be rules with the paths of files", last, of.dir.line)}
	}
	if ext := filepath.Ext(last); ext != ".html" && ext != ".htm" {
		return "", &refusal{d, "the last file is a program, which a folder would show as text; must be an origin"}
	}
	if of != nil && of.dir != l.dir {
		t.change(d, "fields and guards of the location in line %d do not count for %s in place of other paths", of.dir.line, last)
	}
	t.change(d, "%s is not the response for missing scripts, style sheets, pictures, fonts and films, which are 404", last)
	return last, nil
}

// guards returns the actions that keep requests from a location, and rules before its own.
func (t *translation) guards(l *location, match any) (actions object, before []rule, r *refusal) {
	rules := l.all("allow", "deny")
	var basic *directive
	if d := l.one("auth_basic"); d != nil && d.arg(0) != "off" {
		basic = d
	}
	if d := l.one("satisfy"); d != nil && d.arg(0) == "any" && basic != nil && len(rules) > 0 {
		return nil, nil, &refusal{d, "a password or an address; must be a rule with auth and a match of clients without one"}
	}
	access, denied := networks(rules)
	actions = append(actions, access...)
	if denied != nil {
		before = append(before, rule{match: both(match, denied), actions: object{{"deny", everybody}}})
	}
	for _, d := range l.own("limit_except") {
		methods := slices.Clone(d.args)
		if slices.Contains(methods, "GET") && !slices.Contains(methods, "HEAD") {
			methods = append(methods, "HEAD")
		}
		access, denied := networks(d.block)
		for _, one := range d.block {
			if one.name != "allow" && one.name != "deny" || denied != nil {
				return nil, nil, &refusal{d, "must be a rule with a match of the method"}
			}
		}
		before = append(before, rule{comment: at(d), match: both(match, object{{"not", object{{"method", methods}}}}), actions: access})
	}
	limits := l.all("limit_req")
	for i, d := range limits {
		limit := t.limit(d)
		switch {
		case limit == nil:
		case i < len(limits)-1:
			before = append(before, rule{comment: at(d), match: match, actions: object{{"limit", limit}}})
		default:
			actions = actions.with("limit", limit)
		}
	}
	if basic == nil {
		return actions, before, nil
	}
	users := l.one("auth_basic_user_file")
	if users == nil || !literal(users.arg(0)) {
		return nil, nil, &refusal{basic, "has no fixed auth_basic_user_file; must be auth: {basic: FILE}"}
	}
	file := t.path(users.arg(0))
	if why := htpasswd(file); why != "" {
		return nil, nil, &refusal{users, why + "; must be auth: {basic: FILE} with a file that `htpasswd -B` has made"}
	}
	t.change(basic, "the edge names no realm of its own, and the origin does not get the password")
	return actions.with("auth", object{{"basic", file}}), before, nil
}

// everybody is every network.
var everybody = []string{"0.0.0.0/0", "::/0"}

// networks translates allow and deny, of which the first that has the client counts. Where their
// order can't be kept by the actions deny and allow, it returns a match of the clients that are
// denied.
func networks(rules []*directive) (actions object, denied any) {
	closed, simple := false, true // simple: the denied ones come first
	var deny, allow []string
	var counting []*directive
	for _, d := range rules {
		if network := d.arg(0); network == "all" {
			closed = d.name == "deny"
			break // nothing behind it counts
		} else if network == "unix:" {
			continue
		} else if d.name == "deny" {
			simple = simple && len(allow) == 0
			deny = append(deny, network)
		} else {
			allow = append(allow, network)
		}
		counting = append(counting, d)
	}
	if simple {
		if len(deny) > 0 {
			actions = actions.with("deny", deny)
		}
		switch {
		case closed && len(allow) == 0:
			actions = object{{"deny", everybody}}
		case closed:
			actions = actions.with("allow", allow)
		}
		return actions, nil
	}
	if closed {
		denied = object{{"client", everybody}}
	}
	for _, d := range slices.Backward(counting) { // each takes precedence over those behind it
		client := object{{"client", d.arg(0)}}
		switch {
		case d.name == "deny" && denied == nil:
			denied = client
		case d.name == "deny":
			denied = []any{client, denied}
		case denied != nil:
			denied = both(denied, not(client))
		}
	}
	return nil, denied
}

// limit translates limit_req; nil: it is left out.
func (t *translation) limit(d *directive) any {
	zone, burst := "", 0
	for _, arg := range d.args {
		if name, ok := strings.CutPrefix(arg, "zone="); ok {
			zone = name
		}
		if n, ok := strings.CutPrefix(arg, "burst="); ok {
			burst, _ = strconv.Atoi(n)
		}
	}
	of := t.zones[zone]
	if of == nil {
		t.add(d, "no limit_req_zone has the name; must be limit: {rate: N/TIME}")
		return nil
	}
	rate := ""
	for _, arg := range of.args {
		if text, ok := strings.CutPrefix(arg, "rate="); ok {
			rate = text
		}
	}
	text, ok := window(rate, burst)
	limit := object{{"rate", text}}
	switch entry, name := source(strings.TrimPrefix(of.arg(0), "$")); {
	case !ok:
		t.add(of, "the rate can't be read; must be such as 10r/s")
		return nil
	case of.arg(0) == "$binary_remote_addr", of.arg(0) == "$remote_addr":
	case of.arg(0) == "$uri", of.arg(0) == "$document_uri":
		limit = limit.with("key", "path")
	case entry == "header":
		limit = limit.with("key", "header "+name)
	default:
		t.add(d, "counts by %s; must be limit: {rate: %s} by client, path or header NAME", of.arg(0), text)
		return nil
	}
	t.change(d, "kept as %s of an exact window, by location and without delays; a request over it gets 429", text)
	return limit
}

// htpasswd returns why the edge can't use a file of passwords; empty: it can.
func htpasswd(file string) string {
	if _, err := os.Stat(file); err != nil {
		return "no file of passwords is there on this machine"
	}
	if err := rules.CheckPasswords(file); err != nil {
		return "the edge takes hashes of bcrypt alone"
	}
	return ""
}
