package convert

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// successful are the statuses of responses to which nginx adds fields, unless always says so.
var successful = []any{200, 201, 204, 206, 301, 302, 303, 304, 307, 308}

// headers returns the edits of the responses of a level, which differ in their statuses or name a
// field once more.
func (t *translation) headers(l *level) (all []object) {
	expires, cacheControl := l.one("expires"), ""
	if expires != nil {
		cacheControl = t.expires(expires)
	}
	if cacheControl != "" {
		all = append(all, object{{"status", successful}, {"remove", []string{"Expires"}},
			{"set", object{{"Cache-Control", cacheControl}}}})
	}
	for _, name := range l.all("proxy_hide_header") {
		all = hide(all, name.arg(0))
	}
	for _, d := range l.all("add_header") {
		name, value := d.arg(0), d.arg(1)
		switch {
		case value == "": // nginx adds nothing
			continue
		case !literal(value):
			why := "a value with variables"
			if strings.Contains(value, "upstream_cache_status") {
				why = "Cache-Status says what the cache did"
			}
			t.add(d, "%s", why)
			continue
		case slices.Contains([]string{"connection", "content-length", "transfer-encoding", "upgrade", "trailer"}, strings.ToLower(name)):
			t.add(d, "the edge writes the field itself")
			continue
		}
		all = addField(all, name, value, d.arg(2) == "always")
	}
	return all
}

func hide(all []object, name string) []object {
	for i, o := range all {
		if o.get("status") == nil {
			list, _ := o.get("remove").([]string)
			all[i] = append(without(o, "remove"), member{"remove", append(list, name)})
			return all
		}
	}
	return append(all, object{{"remove", []string{name}}})
}

// addField adds a field to the first edits that can have it.
func addField(all []object, name, value string, always bool) []object {
	for i, o := range all {
		fields, _ := o.get("add").(object)
		has := slices.ContainsFunc(fields, func(m member) bool { return strings.EqualFold(m.key, name) })
		if has || (o.get("status") == nil) != always {
			continue
		}
		all[i] = append(without(o, "add"), member{"add", fields.with(name, value)})
		return all
	}
	o := object{}
	if !always {
		o = o.with("status", successful)
	}
	return append(all, o.with("add", object{{name, value}}))
}

// expires returns the Cache-Control of expires; empty: it is left out.
func (t *translation) expires(d *directive) string {
	if len(d.args) == 1 {
		switch text := d.arg(0); text {
		case "off":
			return ""
		case "max":
			return "max-age=315360000"
		case "epoch":
			return "no-cache"
		default:
			if rest, ok := strings.CutPrefix(text, "-"); ok {
				if _, ok := duration(rest); ok {
					return "no-cache"
				}
			}
			if seconds, ok := duration(strings.TrimPrefix(text, "+")); ok {
				t.change(d, "kept as Cache-Control, without Expires")
				return "max-age=" + strconv.Itoa(seconds)
			}
		}
	}
	t.add(d, "a time of the day, of the file, or a variable; must be response_headers: {set: {Cache-Control: …}}")
	return ""
}

// settings returns the actions of a location by which it differs from its site.
func (t *translation) settings(l *location) (actions object) {
	if v := gzip(l.level); v != t.site.settings.get("compress") {
		actions = actions.with("compress", v)
	}
	usual, _ := t.site.settings.get("max_body").(string)
	if v := t.maxBody(l.level); v != "" && v != usual && !(v == "0" && usual == "") {
		if v == "0" {
			v = "1000GiB" // an action can't take the limit of its site away
		}
		actions = actions.with("max_body", v)
	}
	if pages := t.errorPages(l); len(pages) > 0 {
		actions = actions.with("errors", pages)
	}
	return actions
}

// errorPages translates error_page.
func (t *translation) errorPages(l *location) (pages object) {
	for _, d := range l.all("error_page") {
		if len(d.args) < 2 {
			continue
		}
		uri, codes, status := d.args[len(d.args)-1], slices.Clone(d.args[:len(d.args)-1]), 0
		if last := codes[len(codes)-1]; strings.HasPrefix(last, "=") {
			codes, status = codes[:len(codes)-1], 200
			if n, err := parseStatus(last[1:]); err == nil {
				status = n
			}
		}
		file, why := t.page(l, uri)
		if why != "" {
			t.add(d, "%s", why)
			continue
		}
		var known []string
		for _, code := range codes {
			if n, err := parseStatus(code); err == nil && n >= 400 && n <= 599 {
				known = append(known, code)
			}
		}
		if len(known) == 0 {
			t.add(d, "no status of an error; must be from 400 to 599")
			continue
		}
		page := object{{"file", file}}
		if status != 0 {
			page = page.with("status", status)
		}
		if l.value("proxy_intercept_errors", "off") == "on" {
			page = page.with("origin", true)
		}
		if key := strings.Join(known, ","); pages.get(key) == nil {
			pages = pages.with(key, page)
		}
	}
	return pages
}

// page returns the file at an address of the server; why says why there is none.
func (t *translation) page(l *location, uri string) (file, why string) {
	switch {
	case !strings.HasPrefix(uri, "/"):
		return "", "no path of a file; must be errors: {STATUS: {file: …}}"
	case !literal(uri) || strings.Contains(uri, "?"):
		return "", "a path with variables or a query; must be errors: {STATUS: {file: …}}"
	}
	at := &location{level: &level{dir: t.server.dir, up: t.server.level}, path: "/"}
	if of := find(t.locations, uri); of != nil {
		at = of
	}
	if len(at.own(passes...)) > 0 || len(at.own("return", "rewrite", "if")) > 0 {
		return "", fmt.Sprintf("%s is in the location in line %d, which is no folder; must be errors: {STATUS: {file: …}}",
			uri, at.dir.line)
	}
	root := at.one("root")
	if alias := at.own("alias"); len(alias) > 0 && at.isPrefix() {
		file = filepath.Join(t.path(alias[0].arg(0)), strings.TrimPrefix(uri, at.path))
	} else if root != nil && literal(root.arg(0)) {
		file = filepath.Join(t.path(root.arg(0)), uri)
	} else {
		return "", uri + " has no fixed folder; must be errors: {STATUS: {file: …}}"
	}
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() || info.Size() > 1<<20 {
		return "", "no file of at most 1 MiB is there on this machine; must be errors: {STATUS: {file: …}}"
	}
	return file, ""
}

// caching returns the actions of proxy_cache and what belongs to it, and rules before those of the
// location.
func (t *translation) caching(l *location, match any) (actions object, before []rule) {
	if len(l.own("proxy_pass")) == 0 {
		return nil, nil // the edge stores files of folders, and sees their changes
	}
	if l.value("proxy_cache", "off") == "off" {
		return object{{"cache", "bypass"}}, nil
	}
	valid := object{}
	for _, d := range l.all("proxy_cache_valid") {
		codes := d.args[:max(len(d.args)-1, 0)]
		seconds, ok := duration(d.arg(len(d.args) - 1))
		if !ok {
			t.add(d, "the time can't be read; must be such as 10m")
			continue
		}
		if len(codes) == 0 {
			codes = []string{"200", "301", "302"}
		}
		for _, code := range codes {
			if code == "any" {
				for _, class := range []string{"2xx", "3xx", "4xx", "5xx"} {
					valid = valid.with(class, timeOf(seconds))
				}
			} else if _, err := parseStatus(code); err == nil && valid.get(code) == nil {
				valid = valid.with(code, timeOf(seconds))
			} else {
				t.add(d, "%s is no status", code)
			}
		}
	}
	ignored := l.one("proxy_ignore_headers")
	if len(valid) > 0 {
		if ignored != nil && slices.Contains(ignored.args, "Cache-Control") && slices.Contains(ignored.args, "Expires") {
			actions = actions.with("ttl", valid)
		} else {
			actions = actions.with("default_ttl", valid)
		}
	}
	if ignored != nil {
		t.change(ignored, "private, no-store and Set-Cookie still keep responses from the cache; must be cache: force to change that")
	}
	if stale := l.one("proxy_cache_use_stale"); stale != nil && stale.arg(0) != "off" {
		t.add(stale, "must be stale_if_error: TIME, and grace: TIME for updating, because the edge has a bound for both")
	}
	if d := l.one("proxy_cache_key"); d != nil {
		key, known := cacheKey(d.arg(0))
		if !known {
			t.add(d, "the key has variables that the edge has not, so that it does not cache here; must be key: {…}")
			return object{{"cache", "bypass"}}, nil
		}
		if len(key) > 0 {
			actions = actions.with("key", key)
		}
	}
	bypass := l.all("proxy_cache_bypass")
	for _, d := range append(bypass, l.all("proxy_no_cache")...) {
		mode := "bypass"
		if d.name == "proxy_no_cache" {
			mode = "never" // unless it is one of those before
		}
		for _, arg := range d.args {
			name := strings.Trim(strings.TrimPrefix(arg, "$"), "{}")
			when, ok := present(name)
			if flags, is := t.flags["$"+name]; is && flags != nil {
				if len(flags) == 0 {
					continue
				}
				when, ok = any(flags), true
				if len(flags) == 1 {
					when = flags[0]
				}
			}
			if !ok || !strings.HasPrefix(arg, "$") {
				t.add(d, "the value of %s is unknown, so that the edge does not cache here; must be a rule with cache: bypass", arg)
				return object{{"cache", "bypass"}}, nil
			}
			if one := both(match, when); !slices.ContainsFunc(before, func(r rule) bool { return flow(r.match) == flow(one) }) {
				before = append(before, rule{comment: at(d), match: one, actions: object{{"cache", mode}}})
			}
		}
	}
	return actions, before
}

// cacheKey translates a key of the cache. It is not known if it has variables without a place.
func cacheKey(text string) (key object, known bool) {
	text = strings.ReplaceAll(text, "$uri$is_args$args", "$request_uri")
	var headers, cookies []string
	query := false
	for _, v := range variable.FindAllString(text, -1) {
		name := strings.Trim(v[1:], "{}")
		entry, of := source(name)
		switch {
		case name == "request_uri", name == "args", name == "query_string":
			query = true
		case name == "uri", name == "scheme", name == "host", name == "http_host", name == "proxy_host", name == "server_name",
			name == "request_method", name == "is_args":
		case entry == "header":
			headers = append(headers, of)
		case entry == "cookie":
			cookies = append(cookies, of)
		default:
			return nil, false
		}
	}
	if !strings.Contains(text, "uri") { // the edge always has the path
		return nil, false
	}
	if !query {
		key = key.with("query", "none")
	}
	if len(headers) > 0 {
		key = key.with("headers", headers)
	}
	if len(cookies) > 0 {
		key = key.with("cookies", cookies)
	}
	return key, true
}
