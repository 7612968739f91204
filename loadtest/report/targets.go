//go:build linux

package report

import "fmt"

// Names of the columns of a bench.
const (
	Hot       = "one hot path"
	Zipf      = "Zipf"
	Browser   = "Zipf, a browser's headers"
	Unchanged = "If-None-Match → 304"
	Gzip      = "gzip, ready"
	Brotli    = "br, ready"
	Coloured  = "recoloured"

	GzipTwin     = "as gzip, plain" // the same icons without a coding
	BrotliTwin   = "as br, plain"
	ColouredTwin = "as recoloured, plain"

	Since      = "If-Modified-Since → 304"
	Head       = "HEAD"
	Range      = "Range → 206"
	Device     = "Vary: X-Device"
	StoredMiss = "a miss that is stored"

	One         = "Zipf, 1 connection"
	Thousand    = "Zipf, 1,000 connections"
	TenThousand = "Zipf, 10,000 connections"
)

// Names of the servers.
const (
	Ours    = "iconedge"
	Limited = "iconedge, limits counted" // the CDN path too, which has no limit by default
	Before  = "iconedge, baseline"       // another build of the edge
	// Sites has a configuration file with 50 sites and 200 rules, none of which matches; Forwarding
	// has --proxy-all instead of icons; ForwardingSites has such a file in which two rules match,
	// and one of them edits the response.
	Sites           = "iconedge, 50 sites"
	Forwarding      = "iconedge, forwarding"
	ForwardingSites = "iconedge, forwarding, 50 sites"

	Nginx   = "nginx"
	Varnish = "Varnish"
	HAProxy = "HAProxy"
	Ceiling = "bare fasthttp"
	H2O     = "h2o, static files"
	// Smallest is a server of quic-go's http3 whose handler writes a constant body.
	Smallest = "the smallest http3 server"
)

// A Target is the maximum ratio of the CPU time of a response in one column to that of another
// server or column.
type Target struct {
	Of      string // one of our servers; empty: each that the table has
	Column  string
	Against string // another server
	Than    string // or another column of the same server
	Rated   bool   // at the fixed rate, not at saturation
	Most    float64
	Aim     float64 // 0: none
}

// Targets are the targets of the edge, for the cheapest rounds of each server.
var Targets = []Target{
	{Column: Hot, Against: Nginx, Most: 0.88}, {Column: Zipf, Against: Nginx, Most: 0.66}, {Column: Browser, Against: Nginx, Most: 0.88},
	{Column: Unchanged, Against: Nginx, Most: 0.75},
	{Column: Hot, Against: Varnish, Most: 0.58}, {Column: Zipf, Against: Varnish, Most: 0.36},
	{Column: Browser, Against: Varnish, Most: 0.58},
	{Column: Unchanged, Against: Varnish, Most: 0.58},
	{Column: Hot, Against: HAProxy, Most: 1}, {Column: Zipf, Against: HAProxy, Most: 0.72}, {Column: Browser, Against: HAProxy, Most: 1},
	{Column: Unchanged, Against: HAProxy, Most: 1},
	{Column: Hot, Against: Ceiling, Most: 1.15}, {Column: Zipf, Against: Ceiling, Most: 0.88},
	{Column: Browser, Against: Ceiling, Most: 1.15},
	{Column: Unchanged, Against: Ceiling, Most: 1.15},
	{Column: Hot, Against: Nginx, Rated: true, Most: 1.15}, {Column: Zipf, Against: Nginx, Rated: true, Most: 0.95},
	{Column: Zipf, Against: HAProxy, Rated: true, Most: 1.05},
	{Column: Gzip, Than: GzipTwin, Most: 1.02}, {Column: Brotli, Than: BrotliTwin, Most: 1.02},
	{Column: Coloured, Than: ColouredTwin, Most: 1.15},
	{Column: Thousand, Against: Nginx, Most: 0.80}, {Column: TenThousand, Against: Nginx, Rated: true, Most: 0.95},

	{Column: Secure1, Against: Nginx, Most: 0.85}, {Column: Streams1, Against: Nginx, Most: 0.80},
	{Column: Streams10, Against: Nginx, Most: 0.26}, {Column: Streams50, Against: Nginx, Most: 0.20},
	{Column: Browsing(Streams1), Against: Nginx, Most: 0.88}, {Column: Browsing(Streams10), Against: Nginx, Most: 0.28},
	{Column: Browsing(Streams50), Against: Nginx, Most: 0.22},
	{Column: Browsing(Secure1), Than: Secure1, Most: 1.10}, {Column: Browsing(Streams1), Than: Streams1, Most: 1.10},
	{Column: Browsing(Streams10), Than: Streams10, Most: 1.10}, {Column: Browsing(Streams50), Than: Streams50, Most: 1.10},

	{Column: AllPacks(Streams1), Against: Nginx, Most: 0.55}, {Column: AllPacks(Streams10), Against: Nginx, Most: 0.20},
	{Column: AllPacks(Streams50), Against: Nginx, Most: 0.15},
	{Column: AllPacks(Streams1), Against: H2O, Most: 0.80}, {Column: AllPacks(Streams10), Against: H2O, Most: 0.65},
	{Column: AllPacks(Streams50), Against: H2O, Most: 0.50},
}

// reached returns the ratio of one of our servers, and false if it or the other server was not
// measured.
func (b *Bench) reached(t Target, ours string) (float64, bool) {
	rate := 0.0
	if t.Rated {
		rate = b.Rate
	}
	mine, ok := b.cell(ours, t.Column, rate)
	other, found := b.cell(t.Against, t.Column, rate)
	if t.Than != "" {
		other, found = b.cell(ours, t.Than, rate)
	}
	if !ok || !found || other.cheapest() == 0 {
		return 0, false
	}
	return ratio(mine, other), true
}

// verdict returns "reached", or by how much a ratio misses its target.
func (t Target) verdict(ratio float64) string {
	if ratio <= t.Most {
		return "reached"
	}
	return fmt.Sprintf("missed by %.1f %%", 100*(ratio/t.Most-1))
}
