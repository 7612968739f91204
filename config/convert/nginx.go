package convert

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
)

// Nginx translates the file of nginx with this name, and those that it includes, into a file of
// sites. The notes name every line that the file has not, in order. The error names a file that
// can't be read, or a line that nginx would not accept.
func Nginx(file string) (text []byte, left []Note, err error) {
	file = filepath.Clean(file)
	c := &converter{dir: filepath.Dir(file), upstreams: map[string]*directive{}, zones: map[string]*directive{}}
	if c.dir, err = filepath.Abs(c.dir); err != nil {
		return nil, nil, err
	}
	r := &reader{root: c.dir, left: maxFiles, notes: &c.notes}
	top, err := r.read(filepath.Join(c.dir, filepath.Base(file)), 0)
	if err != nil {
		return nil, nil, err
	}
	h := &level{dirs: top}
	for _, d := range top {
		if d.name == "http" {
			h = &level{dir: d, dirs: d.block, up: &level{dirs: top}}
		}
	}
	if h.dir != nil {
		c.sort(h.up, "http")
	}
	c.http(h)
	if len(c.sites) == 0 {
		return nil, c.notes.sorted(), fmt.Errorf("%s: has no server that can be translated", file)
	}
	comments := []string{"Translated from " + filepath.Base(file) + " of nginx. Each rule names the line that it comes from.",
		"cache: bypass stands where nginx does not cache; without it the edge caches what the origin allows."}
	return write(comments, c.listen(), c.sites), c.notes.sorted(), nil
}

// A converter translates the servers of a file.
type converter struct {
	notes
	dir              string // of the file, to which its paths are relative
	upstreams, zones map[string]*directive
	plain, secure    []string // addresses of listeners
	sites            []*site
}

// sort notes the directives of a level that mean nothing to an edge. It returns one that the
// package does not know, or can't translate, so that it may protect something; nil: there is none.
func (c *converter) sort(l *level, but ...string) (unknown *directive) {
	for _, d := range l.dirs {
		why, without := harmless[d.name]
		switch {
		case slices.Contains(but, d.name), translated[d.name]:
		case without:
			c.add(d, "%s", why)
		default:
			c.refuse(d, "%s", cmp.Or(hints[d.name], "unknown, so that it may protect something"))
			unknown = d
		}
	}
	return unknown
}

// A server is a server block.
type server struct {
	*level
	names         []string // exact ones, and *.NAME
	plain, secure bool     // its listeners
	isDefault     bool
	unknown       *directive // may protect all of it
}

func (c *converter) http(h *level) {
	unknown := c.sort(h)
	var servers []*server
	for _, d := range h.dirs {
		switch d.name {
		case "upstream":
			c.upstreams[d.arg(0)] = d
		case "limit_req_zone":
			for _, arg := range d.args {
				if name, ok := strings.CutPrefix(arg, "zone="); ok {
					name, _, _ = strings.Cut(name, ":")
					c.zones[name] = d
				}
			}
		case "map", "geo":
			c.add(d, "the edge has no variables; what depends on one is left out or refused")
		case "server":
			s := c.server(d, h)
			if s.unknown == nil {
				s.unknown = unknown
			}
			servers = append(servers, s)
		}
	}
	c.group(servers)
}

// server reads listeners and names.
func (c *converter) server(d *directive, up *level) *server {
	s := &server{level: &level{dir: d, dirs: d.block, up: up}}
	s.unknown = c.sort(s.level)
	listens := s.own("listen")
	if len(listens) == 0 {
		s.plain, c.plain = true, append(c.plain, ":80")
	}
	for _, l := range listens {
		s.isDefault = s.isDefault || slices.Contains(l.args, "default_server") || slices.Contains(l.args, "default")
		address := l.arg(0)
		switch secure := slices.Contains(l.args, "ssl"); {
		case slices.Contains(l.args, "quic"):
			c.add(l, "the edge speaks HTTP/3 with http3: true")
		case strings.HasPrefix(address, "unix:"):
			c.add(l, "the edge listens on no Unix socket here; nginx takes it for TCP too")
			s.plain = true
		case secure || s.value("ssl", "") == "on":
			s.secure, c.secure = true, append(c.secure, listenAddress(address, ":443"))
		default:
			s.plain, c.plain = true, append(c.plain, listenAddress(address, ":80"))
		}
	}
	named := false
	for _, d := range s.own("server_name") {
		for _, name := range d.args {
			switch stem, wild := strings.CutPrefix(name, "*."); {
			case strings.HasPrefix(name, "."):
				s.names, named = append(s.names, strings.ToLower(name[1:]), strings.ToLower("*"+name)), true
			case name == "_", name == "", name == "--", name == "!_":
			case wild && !strings.Contains(stem, "*"), !strings.ContainsAny(name, "*~$"):
				s.names, named = append(s.names, strings.ToLower(name)), true
			default:
				c.refuse(d, "a host by a regular expression, or with its end left open; must be a name, or *. before one")
				named = true
			}
		}
	}
	s.isDefault = s.isDefault || !named
	return s
}

// listenAddress returns the address of a listener, or that of all addresses with its port.
func listenAddress(s, otherwise string) string {
	host, port, err := net.SplitHostPort(s)
	switch {
	case err != nil && strings.Trim(s, "0123456789") == "":
		return ":" + s
	case err != nil:
		return s + otherwise
	case host == "*" || host == "::" || host == "0.0.0.0":
		return ":" + port
	}
	return s
}

// listen returns the listeners of the edge, which has one for HTTP and one for HTTPS.
func (c *converter) listen() object {
	var o object
	if len(c.plain) > 0 {
		o = o.with("http", c.plain[0])
	}
	if len(c.secure) > 0 && slices.ContainsFunc(c.sites, func(s *site) bool { return len(s.tls) > 0 }) {
		o = o.with("https", c.secure[0])
	}
	return o
}

// A pair is the servers of a host without TLS, and with it; nil: there is none.
type pair struct{ plain, secure *server }

// group makes a site of the hosts that have the same servers.
func (c *converter) group(servers []*server) {
	of, order := map[string]*pair{}, []string(nil)
	put := func(host string, s *server) {
		p := of[host]
		if p == nil {
			p = &pair{}
			of[host], order = p, append(order, host)
		}
		for _, place := range []struct {
			listens bool
			at      **server
		}{{s.plain, &p.plain}, {s.secure, &p.secure}} {
			if place.listens && *place.at == nil {
				*place.at = s
			} else if place.listens && *place.at != s {
				c.refuse(s.dir, "the server in line %d has the host %s too; the edge does not tell hosts apart by ports",
					(*place.at).dir.line, host)
			}
		}
	}
	hasDefault := map[bool]bool{}
	for _, s := range servers {
		for _, name := range s.names {
			put(name, s)
		}
		if s.isDefault && !(s.plain && hasDefault[false]) && !(s.secure && hasDefault[true]) {
			put("*", s)
			hasDefault[false], hasDefault[true] = hasDefault[false] || s.plain, hasDefault[true] || s.secure
		}
	}
	if of["*"] == nil && len(servers) > 0 {
		c.change(servers[0].dir, "requests for other hosts get 421, and not this server, the first one; must have the host * for that")
	}
	made := map[pair]*site{}
	for _, host := range order {
		p := *of[host]
		s := made[p]
		if s == nil {
			s = c.site(p)
			made[p] = s
			c.sites = append(c.sites, s)
		}
		s.hosts = append(s.hosts, host)
		if s.name == "" && host != "*" {
			s.name = c.unique(label(strings.TrimPrefix(host, "*.")))
		}
	}
	for _, s := range c.sites {
		if s.name == "" {
			s.name = c.unique("default")
		}
	}
}

// unique returns a name that no site has.
func (c *converter) unique(name string) string {
	for n := 1; ; n++ {
		one := numbered(name, n)
		if !slices.ContainsFunc(c.sites, func(s *site) bool { return s.name == one }) {
			return one
		}
	}
}

// insecure matches requests without TLS.
var insecure = object{{"not", "request.tls"}}

// site makes the site of a pair of servers.
func (c *converter) site(p pair) *site {
	main := p.secure
	if main == nil {
		main = p.plain
	}
	s := &site{}
	s.settings = object{{"compress", gzip(main.level)}}
	if size := c.maxBody(main.level); size != "" && size != "0" {
		s.settings = s.settings.with("max_body", size)
	}
	switch {
	case p.plain == p.secure, p.secure == nil:
	case p.plain == nil:
		s.rules = append(s.rules, rule{comment: "nginx has this host over TLS alone", match: insecure,
			actions: object{{"respond", object{{"status", 421}}}}})
	default:
		other := &translation{converter: c, site: s, server: p.plain}
		for _, r := range other.rules() {
			r.match = both(r.match, insecure)
			s.rules = append(s.rules, r)
		}
	}
	if p.secure != nil {
		c.certificate(p.secure, s)
	}
	t := &translation{converter: c, site: s, server: main}
	s.rules = append(s.rules, t.rules()...)
	if len(s.origins) == 0 { // each site has one; no request gets to it
		s.origins = []member{{"none", object{{"urls", []string{"http://127.0.0.1:9"}}}}}
	}
	s.comments = append(s.comments, at(main.dir))
	return s
}

// at names the place of a directive in a comment.
func at(d *directive) string {
	return fmt.Sprintf("%s:%d %s", filepath.Base(d.file), d.line, oneLine(d.String()))
}

func (c *converter) certificate(from *server, to *site) {
	cert, key := from.one("ssl_certificate"), from.one("ssl_certificate_key")
	if cert == nil || key == nil {
		c.refuse(from.dir, "has no certificate; must be tls: {acme: true}, or {cert: FILE, key: FILE}")
		return
	}
	certFile, keyFile := c.path(cert.arg(0)), c.path(key.arg(0))
	if _, err := tls.LoadX509KeyPair(certFile, keyFile); err != nil {
		c.refuse(cert, "can't be read here, so that the host has no TLS; must be tls: {acme: true}, or {cert: FILE, key: FILE}")
		return
	}
	to.tls = object{{"cert", certFile}, {"key", keyFile}}
}

// path returns a path of the file as an absolute one.
func (c *converter) path(s string) string {
	if filepath.IsAbs(s) {
		return filepath.Clean(s)
	}
	return filepath.Join(c.dir, s)
}

// gzip returns the value of compress. nginx compresses nothing by default.
func gzip(l *level) string {
	if l.value("gzip", "off") == "on" {
		return "all"
	}
	return "off"
}

// maxBody returns the value of max_body, which is 1 MiB by default; empty: it can't be read.
func (c *converter) maxBody(l *level) string {
	text, ok := size(l.value("client_max_body_size", "1m"))
	if !ok {
		c.add(l.one("client_max_body_size"), "no size; must be one such as 10m")
	}
	return text
}
