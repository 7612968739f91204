package config

import (
	"net/http"
	"slices"

	"github.com/iconedge/iconedge/internal/hostport"
)

// A File is a configuration file. Fields that are not in the file are zero; a nil
// pointer is a setting that the file leaves out.
type File struct {
	Version        int               `json:"version"` // 1
	Listen         Listen            `json:"listen,omitzero"`
	Cache          Cache             `json:"cache,omitzero"`
	TrustedProxies Strings           `json:"trusted_proxies,omitempty"`
	Geo            Geo               `json:"geo,omitzero"`
	Defaults       Settings          `json:"defaults,omitzero"` // every site inherits them
	Sites          []Site            `json:"sites"`
	Flags          map[string]Values `json:"-"` // other flags, by their name on the command line

	Name   string         `json:"-"` // of the file, for findings
	Text   []byte         `json:"-"` // as it was read
	SHA256 string         `json:"-"` // of Text, in lower-case hex
	lines  map[string]int // by path
}

// Listen has the addresses of the listeners, HOST:PORT.
type Listen struct {
	HTTP  string `json:"http,omitempty"`
	HTTPS string `json:"https,omitempty"`
	Admin string `json:"admin,omitempty"`
}

// Cache bounds the cache.
type Cache struct {
	Memory    *Size `json:"memory,omitempty"`
	Disk      Disk  `json:"disk,omitzero"`
	MaxObject *Size `json:"max_object,omitempty"` // the longest response that is stored
}

// Disk is the part of the cache in a folder.
type Disk struct {
	Dir  string `json:"dir,omitempty"`
	Size *Size  `json:"size,omitempty"`
}

// Geo names the databases that give the country of a client.
type Geo struct {
	Country string `json:"country,omitempty"` // an MMDB file
}

// Settings decide about all requests of a site. A rule that sets the same overrides them.
type Settings struct {
	Icons       *bool   `json:"icons,omitempty"` // the site has the edge's own paths
	Pages       *bool   `json:"site,omitempty"`  // the pages beside the icons
	Iconify     *bool   `json:"iconify,omitempty"`
	IconifyHost Strings `json:"iconify_host,omitempty"`
	ProxyAll    *bool   `json:"proxy_all,omitempty"` // a site with icons forwards other paths
	HealthPath  string  `json:"health_path,omitempty"`

	NegativeTTL        map[string]Duration `json:"negative_ttl,omitempty"` // by status
	IgnoreQuery        Strings             `json:"ignore_query,omitempty"`
	BypassCookie       Strings             `json:"bypass_cookie,omitempty"`
	StoreCookies       *bool               `json:"store_cookies,omitempty"`
	ClientRevalidation *bool               `json:"client_revalidation,omitempty"`
	PassField          Strings             `json:"pass_field,omitempty"`
	ClientEncoding     string              `json:"client_encoding,omitempty"` // normal or as-sent
	CacheGroups        string              `json:"cache_groups,omitempty"`    // soft, hard or off
	Limits             map[string]Limit    `json:"limits,omitempty"`          // by class
	Maintenance        *Maintenance        `json:"maintenance,omitempty"`
	Changes
}

// Changes are the actions that a site can take for all its requests, and a rule for some.
type Changes struct {
	RequestHeaders  *Edits         `json:"request_headers,omitempty"`
	ResponseHeaders *ResponseEdits `json:"response_headers,omitempty"`
	Key             *Key           `json:"key,omitempty"`
	TTL             *TTL           `json:"ttl,omitempty"`
	DefaultTTL      *TTL           `json:"default_ttl,omitempty"`
	Grace           *Duration      `json:"grace,omitempty"`
	StaleIfError    *Duration      `json:"stale_if_error,omitempty"`
	StripCookies    *Cookies       `json:"strip_cookies,omitempty"`
	Compress        *Compress      `json:"compress,omitempty"`
	Dictionaries    *Dictionaries  `json:"dictionaries,omitempty"`
	MaxBody         *Size          `json:"max_body,omitempty"`
	Timeout         *Duration      `json:"timeout,omitempty"`
	Tags            Strings        `json:"tags,omitempty"`
	EarlyHints      Strings        `json:"early_hints,omitempty"`
	// Errors are the responses in the place of errors.
	Errors *ErrorPages `json:"errors,omitempty"`
	Log    *Log        `json:"log,omitempty"`
	// ServerTiming: responses say how long they took.
	ServerTiming *bool `json:"server_timing,omitempty"`
}

// A Site is a virtual host.
type Site struct {
	Name    string            `json:"name"`
	Hosts   Strings           `json:"hosts"`
	TLS     TLS               `json:"tls,omitzero"`
	Origins map[string]Origin `json:"origins,omitempty"`
	Origin  *Split            `json:"origin,omitempty"` // nil: the only one
	Rules   []Rule            `json:"rules,omitempty"`
	Settings

	At    string              `json:"-"` // its path in the file
	Ports map[string][]string `json:"-"` // listed with its hosts, by these
}

// SetHosts sets the hosts of a site, each NAME or NAME:PORT, without the ports, and the ports.
func (s *Site) SetHosts(hosts []string) {
	s.Hosts, s.Ports = nil, map[string][]string{}
	for _, host := range hosts {
		name, port := hostport.SplitHost(hostport.CanonicalHost(host, ""))
		if !slices.Contains(s.Hosts, name) {
			s.Hosts = append(s.Hosts, name)
		}
		if port != "" {
			s.Ports[name] = append(s.Ports[name], port)
		}
	}
}

// TLS says where the certificate of a site comes from.
type TLS struct {
	ACME bool   `json:"acme,omitempty"`
	Cert string `json:"cert,omitempty"`
	Key  string `json:"key,omitempty"`
}

// An Origin is a set of servers that give the same responses, or a folder of files.
type Origin struct {
	URLs Strings `json:"urls,omitempty"`
	Folder
	// Backups are URLs by commas: each is a group that is used when those before have failed.
	Backups        Strings   `json:"backups,omitempty"`
	Policy         string    `json:"policy,omitempty"`  // a row of balance; empty: hash
	Weight         []int     `json:"weight,omitempty"`  // one for each URL
	Resolve        string    `json:"resolve,omitempty"` // all: each address of a name is an origin
	Health         string    `json:"health,omitempty"`  // a path
	Host           string    `json:"host,omitempty"`    // client, origin or a name
	SNI            string    `json:"sni,omitempty"`
	Timeout        *Duration `json:"timeout,omitempty"`
	MaxConnections int       `json:"max_connections,omitempty"`
}

// A Folder is an origin whose responses are files.
type Folder struct {
	Dir      string  `json:"dir,omitempty"`
	Index    Strings `json:"index,omitempty"`    // names of files; nil: index.html
	Fallback string  `json:"fallback,omitempty"` // a path, served where there is nothing
	Listing  bool    `json:"listing,omitempty"`
	// Precompressed are the ends of names that files in a content coding have: br, gz or zst.
	Precompressed Strings `json:"precompressed,omitempty"`
}

// A Rule is a match and the actions for the requests that match.
type Rule struct {
	Match *Match `json:"match,omitempty"` // nil: every request
	Stop  bool   `json:"stop,omitempty"`  // no later rule applies

	Origin   *Split        `json:"origin,omitempty"`
	Rewrite  string        `json:"rewrite,omitempty"`
	Redirect *Redirect     `json:"redirect,omitempty"`
	Respond  *Respond      `json:"respond,omitempty"`
	Cache    string        `json:"cache,omitempty"` // on, bypass, never or force
	Auth     *Auth         `json:"auth,omitempty"`
	Allow    Strings       `json:"allow,omitempty"`
	Deny     Strings       `json:"deny,omitempty"`
	Limit    *RequestLimit `json:"limit,omitempty"`
	Signed   *Signed       `json:"signed,omitempty"`
	Cookies  string        `json:"cookies,omitempty"` // respect or ignore
	Mirror   *Mirror       `json:"mirror,omitempty"`
	Changes
	More map[string]any `json:"-"` // other actions, of Options.Actions

	Line int    `json:"-"`
	At   string `json:"-"` // its path in the file
}

// Redirect answers with another address.
type Redirect struct {
	To     string `json:"to"`
	Status int    `json:"status,omitempty"` // 302 by default
}

// Respond answers with a text or a file.
type Respond struct {
	Status int    `json:"status,omitempty"` // 200 by default
	Body   string `json:"body,omitempty"`
	File   string `json:"file,omitempty"`
	Type   string `json:"type,omitempty"`
}

// Edits change header fields: first remove, then set, then add.
type Edits struct {
	Set    map[string]string `json:"set,omitempty"`
	Add    map[string]string `json:"add,omitempty"`
	Remove Strings           `json:"remove,omitempty"`
}

// ResponseEdits are the edits of responses, of all or of those with some statuses.
type ResponseEdits struct {
	Edits
	Status Strings `json:"status,omitempty"` // such as 200 or 2xx; nil: all
}

// Applies reports whether responses with a status are edited. A 304 counts as the 200 that it
// stands for, because a client writes its fields over the stored ones.
func (e *ResponseEdits) Applies(status int) bool {
	if e.Status == nil {
		return true
	}
	for _, one := range e.Status {
		if HasStatus(one, status) || status == http.StatusNotModified && HasStatus(one, http.StatusOK) {
			return true
		}
	}
	return false
}

// Key says which parts of a request are in its cache key, beside host and path.
type Key struct {
	Query   *Query  `json:"query,omitempty"`
	Headers Strings `json:"headers,omitempty"`
	Cookies Strings `json:"cookies,omitempty"`
	Host    *bool   `json:"host,omitempty"`
	Body    *bool   `json:"body,omitempty"` // of a POST, which is then cached as a QUERY is
}

// Auth lets only requests pass whose sender has signed on, in one of these ways.
type Auth struct {
	Basic   string       `json:"basic,omitempty"` // an htpasswd file with bcrypt
	Forward *ForwardAuth `json:"forward,omitempty"`
	JWT     *JWT         `json:"jwt,omitempty"`
}

// ForwardAuth lets a service decide about each request.
type ForwardAuth struct {
	URL     string    `json:"url"`
	Headers Strings   `json:"headers,omitempty"` // of its response, for the origin
	Cache   *Duration `json:"cache,omitempty"`   // of a decision that passes; nil: 0
	// AnyAddress: the service decides by credentials alone, whatever the method and address.
	AnyAddress bool      `json:"any_address,omitempty"`
	Timeout    *Duration `json:"timeout,omitempty"` // until its response is whole; 5s by default
}

// JWT requires a signed token (RFC 7519).
type JWT struct {
	Keys     string             `json:"keys"` // a file, or a URL of a JSON Web Key Set (RFC 7517)
	Issuer   string             `json:"issuer,omitempty"`
	Audience Strings            `json:"audience,omitempty"` // any of them
	Claims   map[string]Strings `json:"claims,omitempty"`   // values of which a claim must have one
	From     string             `json:"from,omitempty"`     // header NAME or cookie NAME
	Headers  map[string]string  `json:"headers,omitempty"`  // fields for the origin, by claim
}

// RequestLimit bounds the requests that match a rule.
type RequestLimit struct {
	Rate Limit  `json:"rate"`
	Key  string `json:"key,omitempty"` // client, header NAME or path
}

// Mirror sends copies of requests to another origin.
type Mirror struct {
	To    string   `json:"to"`
	Share *float64 `json:"share,omitempty"` // above 0 and at most 1; nil: all requests
}

// Signed requires a signed address.
type Signed struct {
	Secret  string `json:"secret"`
	Param   string `json:"param,omitempty"`
	Expires string `json:"expires,omitempty"`
}

// Line returns the line of a path, or of the nearest path above it that is in the file.
func (f *File) Line(path string) int {
	for {
		if line, ok := f.lines[path]; ok {
			return line
		}
		at := len(path) - 1
		for at >= 0 && path[at] != '.' && path[at] != '[' {
			at--
		}
		if at < 0 {
			return 1
		}
		path = path[:at]
	}
}

// Has reports whether a path is in the file.
func (f *File) Has(path string) bool {
	_, ok := f.lines[path]
	return ok
}

// Find returns a finding about a path.
func (f *File) Find(path, text string) Finding {
	return Finding{File: f.Name, Line: f.Line(path), Field: path, Text: text}
}
