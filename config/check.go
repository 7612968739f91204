package config

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/iconedge/iconedge/edge/upstream/balance"
	"github.com/iconedge/iconedge/internal/hostport"
)

// check reports values that have the right form and are wrong all the same.
func (d *decoder) check() {
	f := d.file
	if f.Version != 1 {
		d.wrong("version", fmt.Sprintf("%d is unknown; must be 1", f.Version))
	}
	for path, address := range map[string]string{"listen.http": f.Listen.HTTP, "listen.https": f.Listen.HTTPS,
		"listen.admin": f.Listen.Admin} {
		if address != "" && !hostport.Valid(address) {
			d.wrong(path, fmt.Sprintf("%q is no address; must be HOST:PORT, such as :8080", clip(address)))
		}
	}
	d.networks("trusted_proxies", f.TrustedProxies)
	if len(f.Sites) == 0 {
		d.wrong("sites", "missing; must have at least one site with name, hosts and origins")
	}
	d.settings("defaults", &f.Defaults)
	names, hosts := map[string]bool{}, map[string]string{}
	for i := range f.Sites {
		s := &f.Sites[i]
		switch {
		case s.Name == "":
			d.wrong(s.At+".name", "missing; must be a name such as shop")
		case !isLabel(s.Name):
			d.wrong(s.At+".name",
				fmt.Sprintf("%q is no name; must be at most 64 letters, digits, hyphens, dots and underscores", clip(s.Name)))
		case names[s.Name]:
			d.wrong(s.At+".name", fmt.Sprintf("another site has the name %s; must be unique", s.Name))
		}
		names[s.Name] = true
		d.hosts(s, hosts)
		d.site(s)
	}
}

// wrong adds a finding about a value, unless the value itself or a part of it has one already.
func (d *decoder) wrong(path, text string) {
	if d.stopped || slices.ContainsFunc(d.findings, func(f Finding) bool {
		rest, within := strings.CutPrefix(f.Field, path)
		return within && (rest == "" || rest[0] == '.' || rest[0] == '[')
	}) {
		return
	}
	d.stopped = !d.findings.Add(d.file.Find(path, text))
}

// noOrigin is the finding about a text that ParseOrigin does not read. It does not repeat a
// password, because findings are logged.
func noOrigin(text string, err error) string {
	return fmt.Sprintf("%q is no URL of an origin; %v", clip(hideUser(text)), err)
}

func isLabel(s string) bool {
	return s != "" && len(s) <= 64 && !strings.ContainsFunc(s, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' || r == '_' || r == '.')
	})
}

// hosts checks the hosts of a site; known has those of the sites before, in lower case.
func (d *decoder) hosts(s *Site, known map[string]string) {
	if len(s.Hosts) == 0 {
		d.wrong(s.At+".hosts", `missing; must name at least one host, such as shop.example.org, "*.example.org" or "*"`)
	}
	given := map[string]bool{}
	for i, host := range s.Hosts {
		at := fmt.Sprintf("%s.hosts[%d]", s.At, i)
		whole := hostport.CanonicalHost(host, "")
		host, port := hostport.SplitHost(whole)
		other, taken := known[host]
		// A site may have a host several times, with several ports.
		taken = taken && (other != s.Name || given[whole] || host == "*")
		given[whole] = true
		switch name, wildcard := strings.CutPrefix(host, "*."); {
		case port != "" && (host == "*" || !hostport.ValidHost("a:"+port)):
			d.wrong(at, fmt.Sprintf("%q has no port; must be NAME:PORT, such as shop.example.org:8443; the host * takes any port",
				clip(whole)))
		case taken && host == "*":
			d.wrong(at, fmt.Sprintf("the site %s is the last resort already; only one site may have the host *", other))
		case taken:
			d.wrong(at, fmt.Sprintf("the site %s has the host %s already; each host must belong to one site", other, clip(host)))
		case host != "*" && !ValidName(name):
			must := "must be a name such as shop.example.org, with a port only if that is none of the listeners'"
			if wildcard || strings.Contains(host, "*") {
				must = "a wildcard must be *. before a name, such as *.example.org"
			}
			d.wrong(at, fmt.Sprintf("%q is no host; %s", clip(host), must))
		}
		known[host] = s.Name
	}
	s.SetHosts(s.Hosts)
}

// ValidName reports whether s is a host name or an IP address, without a port.
func ValidName(s string) bool {
	if inner, ok := strings.CutPrefix(s, "["); ok {
		addr, err := netip.ParseAddr(strings.TrimSuffix(inner, "]"))
		return err == nil && addr.Is6() && strings.HasSuffix(inner, "]")
	}
	return s != "" && len(s) <= 255 && s[0] != '.' && !strings.Contains(s, "..") && !strings.ContainsFunc(s, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' || r == '_' || r == '.')
	})
}

func (d *decoder) site(s *Site) {
	d.settings(s.At, &s.Settings)
	switch t := s.TLS; {
	case t.ACME && t.Cert+t.Key != "":
		d.wrong(s.At+".tls", "has acme and files; must have one of them")
	case (t.Cert == "") != (t.Key == ""):
		d.wrong(s.At+".tls", "a certificate needs its key; must have both cert and key")
	case (t.ACME || t.Cert != "") && d.file.Listen.HTTPS == "":
		d.wrong(s.At+".tls", "no listener takes TLS; must have listen.https too")
	case t.ACME && slices.Contains(s.Hosts, "*"):
		d.wrong(s.At+".tls.acme", "an authority gives no certificate for the host *; must name the hosts, or have cert and key")
	}
	for _, name := range slices.Sorted(maps.Keys(s.Origins)) {
		d.origin(s.At+".origins."+name, name, s.Origins[name])
	}
	switch {
	case len(s.Origins) == 0:
		d.wrong(s.At+".origins", "missing; must have an origin, such as app: {urls: [http://10.0.0.5:3000]}")
	case s.Origin == nil && len(s.Origins) > 1:
		d.wrong(s.At+".origin", "missing; must name one of the origins, because the site has more than one")
	case s.Origin == nil:
		s.Origin = &Split{Weights: map[string]int{slices.Collect(maps.Keys(s.Origins))[0]: 1}}
	}
	d.split(s, s.At+".origin", s.Origin)
	for i := range s.Rules {
		d.rule(s, &s.Rules[i])
	}
}

func (d *decoder) origin(path, name string, o Origin) {
	if name == "sticky" || !isLabel(name) {
		d.wrong(path, fmt.Sprintf("%q is no name of an origin; must be letters, digits, hyphens, dots and underscores, and not sticky",
			clip(name)))
	}
	if o.Dir != "" {
		d.folder(path, o)
		return
	}
	if len(o.URLs) == 0 {
		d.wrong(path+".urls", "missing; must have a URL, such as http://10.0.0.5:3000, or the origin a dir")
	}
	for _, name := range []string{"index", "fallback", "listing", "precompressed"} {
		if d.file.Has(path + "." + name) {
			d.wrong(path+"."+name, "needs a folder; must stand beside dir, such as dir: /srv/www")
		}
	}
	if o.Resolve != "" && o.Resolve != "all" {
		d.wrong(path+".resolve", fmt.Sprintf("%q is unknown; must be all, or be left out", clip(o.Resolve)))
	}
	for i, raw := range o.URLs {
		if _, err := ParseOrigin(raw); err != nil {
			d.wrong(fmt.Sprintf("%s.urls[%d]", path, i), noOrigin(raw, err))
		}
	}
	for i, group := range o.Backups {
		for raw := range strings.SplitSeq(group, ",") {
			if _, err := ParseOrigin(raw); err != nil {
				d.wrong(fmt.Sprintf("%s.backups[%d]", path, i), noOrigin(raw, err))
			}
		}
	}
	if _, known := balance.Find(o.Policy); !known {
		d.wrong(path+".policy", fmt.Sprintf("%q is unknown%s", clip(o.Policy), nearest(o.Policy, balance.Names())))
	}
	if o.Weight != nil && len(o.Weight) != len(o.URLs) {
		d.wrong(path+".weight", fmt.Sprintf("%d weights for %d URLs; must be one for each URL", len(o.Weight), len(o.URLs)))
	}
	total := 0
	for i, w := range o.Weight {
		if w < 0 || w > maxWeight {
			d.wrong(fmt.Sprintf("%s.weight[%d]", path, i), fmt.Sprintf("%d is no weight; must be from 0 to %d", w, maxWeight))
		}
		total += w
	}
	if o.Weight != nil && total <= 0 {
		d.wrong(path+".weight", "no URL has a weight above 0; at least one must have")
	}
	if o.Health != "" && !isPath(o.Health) {
		d.wrong(path+".health", fmt.Sprintf("%q is no path; must be one, such as /up", clip(o.Health)))
	}
	if h := o.Host; h != "" {
		name, port, has := cutPort(h)
		if !ValidName(name) || has && !hostport.Valid("a:"+port) {
			d.wrong(path+".host", fmt.Sprintf("%q is no host; must be client, origin or a name", clip(h)))
		}
	}
	if o.SNI != "" && !ValidName(o.SNI) {
		d.wrong(path+".sni", fmt.Sprintf("%q is no name; must be one, such as files.example.net", clip(o.SNI)))
	}
	if o.MaxConnections < 0 {
		d.wrong(path+".max_connections", fmt.Sprintf("%d is negative; must be at least 1", o.MaxConnections))
	}
	if o.Timeout != nil && *o.Timeout == 0 {
		d.wrong(path+".timeout", "0 would fail every request; must be a time such as 10s")
	}
}

// cutPort cuts the port off a host.
func cutPort(s string) (host, port string, has bool) {
	at := strings.LastIndexByte(s, ':')
	if at < 0 || strings.HasSuffix(s, "]") {
		return s, "", false
	}
	return s[:at], s[at+1:], true
}

// isPath reports whether s can be the target of a request, without a fragment.
func isPath(s string) bool {
	return strings.HasPrefix(s, "/") && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '#' })
}

func isAddress(s string) bool {
	_, err := netip.ParseAddr(s)
	return err == nil
}

// ParseOrigin reads the URL of an origin: a base URL, or the path of a Unix socket. The scheme h2
// is HTTP/2 over TLS, h2c without; srv+ before a scheme means that SRV records of the name say
// where the origin is.
func ParseOrigin(s string) (*url.URL, error) {
	if path, ok := strings.CutPrefix(s, "unix:"); ok && strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "//") {
		return &url.URL{Scheme: "unix", Path: path, OmitHost: true}, nil
	}
	s, service := strings.CutPrefix(s, "srv+")
	scheme, rest, _ := strings.Cut(s, "://")
	same, http2 := map[string]string{"h2": "https", "h2c": "http"}[scheme]
	if http2 {
		s = same + "://" + rest
	}
	u, err := hostport.ParseURL(s)
	if err != nil || strings.Trim(u.Path, "/") != "" {
		return nil, errors.New("must be http://HOST[:PORT], https://HOST[:PORT], unix:/PATH or, for HTTP/2, " +
			"h2c://HOST[:PORT] or h2://HOST[:PORT], or srv+ before one for SRV records")
	}
	if http2 {
		u.Scheme = scheme
	}
	if service && (u.Port() != "" || isAddress(u.Hostname())) {
		return nil, errors.New("SRV records of a name give address and port; must be a name without a port, such as srv+http://_app._tcp.example.org")
	}
	if service {
		u.Scheme = "srv+" + u.Scheme
	}
	return u, nil
}

func (d *decoder) split(s *Site, path string, split *Split) {
	for _, name := range split.Names() {
		if _, ok := s.Origins[name]; !ok {
			d.wrong(path, fmt.Sprintf("%q is no origin of the site %s%s", clip(name), clip(s.Name),
				nearest(name, slices.Collect(maps.Keys(s.Origins)))))
		}
	}
}

// NoNetwork is the finding about a text that is no address and no network.
func NoNetwork(text string, err error) string {
	return fmt.Sprintf("%q is no network; %v", clip(text), err)
}

func (d *decoder) networks(path string, all Strings) {
	for i, one := range all {
		if _, err := hostport.ParsePrefix(one); err != nil {
			d.wrong(fmt.Sprintf("%s[%d]", path, i), NoNetwork(one, err))
		}
	}
}

func (d *decoder) settings(path string, s *Settings) {
	for status, ttl := range s.NegativeTTL {
		if !isStatus(status) || status[0] < '4' || status[1] == 'x' || ttl == 0 {
			d.wrong(path+".negative_ttl."+status, "no time for a status of an error; must be a status from 400 to 599 "+
				"and a time above 0, as in {\"404\": 1m}")
		}
	}
	if s.HealthPath != "" && (!isPath(s.HealthPath) || strings.Contains(s.HealthPath, "?")) {
		d.wrong(path+".health_path", fmt.Sprintf("%q is no path; must be one without a query, such as /up", clip(s.HealthPath)))
	}
	d.choice(path+".client_encoding", s.ClientEncoding, encodings)
	d.choice(path+".cache_groups", s.CacheGroups, cacheGroups)
	d.patterns(path+".ignore_query", s.IgnoreQuery)
	d.patterns(path+".bypass_cookie", s.BypassCookie)
	for i, name := range s.PassField {
		if !IsToken(name) {
			d.wrong(fmt.Sprintf("%s.pass_field[%d]", path, i),
				fmt.Sprintf("%q is no name of a field; must be one, such as CF-Connecting-IP", clip(name)))
		}
	}
	for class := range s.Limits {
		at := path + ".limits." + class
		if !strings.Contains(class, ":") && !slices.Contains(classes, class) {
			d.wrong(at, fmt.Sprintf("%q is no class%s", clip(class), nearest(class, classes)))
		} else if check := d.options.Class; check != nil && class != "client" { // of sites alone
			if err := check(class); err != nil {
				d.wrong(at, fmt.Sprintf("%q is no class; %v", clip(class), err))
			}
		}
	}
	d.maintenance(path+".maintenance", s.Maintenance)
	d.changes(path, &s.Changes)
}

// choice checks a value that may be left out, and otherwise must be one of all.
func (d *decoder) choice(path, value string, all []string) {
	if value != "" && !slices.Contains(all, value) {
		d.wrong(path, fmt.Sprintf("%q is unknown%s", clip(value), nearest(value, all)))
	}
}

// encodings are the values of client_encoding.
var encodings = []string{"normal", "as-sent"}

// cacheGroups are the values of cache_groups.
var cacheGroups = []string{"soft", "hard", "off"}

// classes are the classes of requests that limits can name.
var classes = []string{"client", "search", "suggest", "icon", "packs", "verify", "cdn", "pages", "raster", "forwarded"}

// patterns checks names that may end in an asterisk.
func (d *decoder) patterns(path string, all Strings) {
	for i, name := range all {
		stem := strings.TrimSuffix(name, "*")
		if stem == "" || strings.ContainsAny(stem, "*=&;?#,") ||
			strings.ContainsFunc(stem, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
			d.wrong(fmt.Sprintf("%s[%d]", path, i),
				fmt.Sprintf("%q is no name; must be one, which may end in *, such as utm_*", clip(name)))
		}
	}
}

func (d *decoder) changes(path string, c *Changes) {
	d.edits(path+".request_headers", c.RequestHeaders)
	if e := c.RequestHeaders; e != nil && e.Statuses != nil {
		d.wrong(path+".request_headers.statuses", "requests have no status; must be left out")
	}
	d.edits(path+".response_headers", c.ResponseHeaders)
	if k := c.Key; k != nil {
		d.tokens(path+".key.headers", k.Headers)
		d.patterns(path+".key.cookies", k.Cookies)
		if k.Query != nil {
			d.patterns(path+".key.query.include", k.Query.Include)
			d.patterns(path+".key.query.exclude", k.Query.Exclude)
		}
	}
	if c.StripCookies != nil {
		d.patterns(path+".strip_cookies", c.StripCookies.Names)
	}
	for i, value := range c.EarlyHints {
		if !clean(value) || !strings.HasPrefix(value, "<") {
			d.wrong(fmt.Sprintf("%s.early_hints[%d]", path, i),
				fmt.Sprintf(`%q is no link; must be the value of a Link field, such as "</app.css>; rel=preload; as=style"`, clip(value)))
		}
	}
	for i, tag := range c.Tags {
		if !IsToken(tag) && (tag == "" || strings.ContainsFunc(tag, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == ',' })) {
			d.wrong(fmt.Sprintf("%s.tags[%d]", path, i),
				fmt.Sprintf("%q is no tag; must be visible ASCII without spaces and commas", clip(tag)))
		}
	}
	if c.Timeout != nil && *c.Timeout == 0 {
		d.wrong(path+".timeout", "0 would fail every request; must be a time such as 10s")
	}
	d.errorPages(path+".errors", c.Errors)
}

func (d *decoder) tokens(path string, names Strings) {
	for i, name := range names {
		if !IsToken(name) {
			d.wrong(fmt.Sprintf("%s[%d]", path, i), fmt.Sprintf("%q is no name of a field; must be one, such as X-Debug", clip(name)))
		}
	}
}

// framing are fields that describe the connection or the length of a message. The edge writes them
// itself.
var framing = []string{"Connection", "Content-Length", "Transfer-Encoding", "Upgrade", "Te", "Trailer", "Keep-Alive",
	"Proxy-Connection", "Host"}

func (d *decoder) edits(path string, e *Edits) {
	if e == nil {
		return
	}
	for kind, fields := range map[string]map[string]string{"set": e.Set, "add": e.Add} {
		spelt := map[string]string{}
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			at, value, canonical := path+"."+kind+"."+clip(name), fields[name], http.CanonicalHeaderKey(name)
			if before, ok := spelt[canonical]; ok {
				d.wrong(at, fmt.Sprintf("the same field as %s, in another spelling; must be given once", before))
			}
			spelt[canonical] = name
			d.fieldName(at, name)
			if !clean(value) {
				d.wrong(at, "the value has CR, LF or another control character; must be one line")
			}
		}
	}
	for i, status := range e.Statuses {
		if !isStatus(status) {
			d.wrong(fmt.Sprintf("%s.statuses[%d]", path, i),
				fmt.Sprintf("%q is no status; must be three digits such as 404, or a class such as 4xx", clip(status)))
		}
	}
	for i, name := range e.Remove {
		d.fieldName(fmt.Sprintf("%s.remove[%d]", path, i), name)
	}
}

func (d *decoder) fieldName(path, name string) {
	switch {
	case !IsToken(name):
		d.wrong(path, fmt.Sprintf("%q is no name of a field; must be one, such as X-Debug", clip(name)))
	case slices.Contains(framing, http.CanonicalHeaderKey(name)):
		must := "the edge writes it; must be another field"
		if strings.EqualFold(name, "Host") {
			must = "origins get the Host of origins.NAME.host; must be set there"
		}
		d.wrong(path, fmt.Sprintf("%s can't be edited; %s", name, must))
	}
}

// clean reports whether a text can be the value of a field: no control characters but tabs.
func clean(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

// caches are the values of cache.
var caches = []string{"on", "bypass", "never", "force"}

// cookies are the values of cookies.
var cookies = []string{"respect", "ignore"}

// redirects are the statuses of redirects.
var redirects = []int{301, 302, 303, 307, 308}

func (d *decoder) rule(s *Site, r *Rule) {
	d.changes(r.At, &r.Changes)
	d.split(s, r.At+".origin", r.Origin)
	d.target(r.At+".rewrite", r.Rewrite, true)
	if x := r.Redirect; x != nil {
		if x.To == "" {
			d.wrong(r.At+".redirect.to", "missing; must be a path or a URL")
		}
		d.target(r.At+".redirect.to", x.To, false)
		if x.Status == 0 {
			x.Status = http.StatusFound
		}
		if !slices.Contains(redirects, x.Status) {
			d.wrong(r.At+".redirect.status", fmt.Sprintf("%d is no redirect; must be 301, 302, 303, 307 or 308", x.Status))
		}
	}
	if x := r.Respond; x != nil {
		d.respond(r.At+".respond", x)
	}
	switch r.Cache {
	case "true", "yes":
		r.Cache = "on"
	default:
		d.choice(r.At+".cache", r.Cache, caches)
	}
	d.choice(r.At+".cookies", r.Cookies, cookies)
	if r.Auth != nil {
		d.auth(r.At+".auth", r.Auth)
	}
	for name, all := range map[string]Strings{"allow": r.Allow, "deny": r.Deny} {
		if all != nil && len(all) == 0 {
			d.wrong(r.At+"."+name, "names no network; must have one, such as 10.0.0.0/8, or be left out")
		}
		d.networks(r.At+"."+name, all)
	}
	if m := r.Mirror; m != nil {
		if _, ok := s.Origins[m.To]; !ok {
			d.wrong(r.At+".mirror.to", fmt.Sprintf("%q is no origin of the site %s%s", clip(m.To), clip(s.Name),
				nearest(m.To, slices.Collect(maps.Keys(s.Origins)))))
		}
		if m.Share != nil && !(*m.Share > 0 && *m.Share <= 1) {
			d.wrong(r.At+".mirror.share", fmt.Sprintf("%v is no share; must be above 0 and at most 1, such as 0.1", *m.Share))
		}
	}
	if l := r.Limit; l != nil {
		if l.Rate == "" {
			d.wrong(r.At+".limit.rate", "missing; must be requests and a window, such as 10/1s")
		}
		if l.Key == "" {
			l.Key = "client"
		}
		field, isField := strings.CutPrefix(l.Key, "header ")
		if l.Key != "client" && l.Key != "path" && (!isField || !IsToken(field)) {
			d.wrong(r.At+".limit.key", fmt.Sprintf("%q is unknown; must be client, path, or header NAME", clip(l.Key)))
		}
	}
	if x := r.Signed; x != nil {
		if x.Secret == "" {
			d.wrong(r.At+".signed.secret", "empty, so that anybody could sign; must be a secret, such as \"${file:/run/secrets/sign}\"")
		}
		x.Param, x.Expires = or(x.Param, "sig"), or(x.Expires, "exp")
		if x.Param == x.Expires {
			d.wrong(r.At+".signed.expires", "the same parameter as param; must be another")
		}
	}
}

func or(s, def string) string {
	if s == "" {
		return def
	}
	return s
}

func (d *decoder) respond(path string, r *Respond) {
	if r.Status == 0 {
		r.Status = http.StatusOK
	}
	if r.Status < 200 || r.Status > 599 {
		d.wrong(path+".status", fmt.Sprintf("%d is no status of a response; must be from 200 to 599", r.Status))
	}
	if r.Body != "" && r.File != "" {
		d.wrong(path, "has body and file; must have one of them")
	}
	if (r.Status == 204 || r.Status == 205 || r.Status == 304) && (r.Body != "" || r.File != "") {
		d.wrong(path, fmt.Sprintf("a response with status %d has no body; must have none, or another status", r.Status))
	}
	if !clean(r.Type) {
		d.wrong(path+".type", "has CR, LF or another control character; must be a media type such as text/html")
	}
}

// target checks the target of a rewrite, which is a path, or of a redirect, which may be a URL too.
func (d *decoder) target(path, to string, onlyPath bool) {
	bad := strings.ContainsFunc(to, func(r rune) bool { return r <= ' ' || r == 0x7f })
	isURL := strings.HasPrefix(to, "https://") || strings.HasPrefix(to, "http://")
	rooted := strings.HasPrefix(to, "/") && !strings.HasPrefix(to, "//") || strings.HasPrefix(to, "$")
	switch {
	case to == "":
	case bad:
		d.wrong(path, "has a space, CR, LF or another control character; must have them percent-encoded")
	case onlyPath && strings.Contains(to, "#"):
		d.wrong(path, "has a fragment, which no origin can get; must have no #, or %23")
	case onlyPath && !rooted:
		d.wrong(path, fmt.Sprintf("%q is no path; must begin with one /, such as /app/$1", clip(to)))
	case !rooted && !isURL:
		d.wrong(path, fmt.Sprintf("%q is no address; must be a path such as /new/$1, or a URL", clip(to)))
	}
}
