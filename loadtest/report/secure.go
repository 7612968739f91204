//go:build linux

package report

import "fmt"

// Names of the columns over TLS: connections, and concurrent streams on each.
const (
	Secure1   = "HTTP/1.1, 64 × 1"
	Streams1  = "HTTP/2, 64 × 1"
	Streams10 = "HTTP/2, 16 × 10"
	Streams50 = "HTTP/2, 4 × 50"
	Quic1     = "HTTP/3, 64 × 1"
	Quic10    = "HTTP/3, 16 × 10"
	Quic50    = "HTTP/3, 4 × 50"
)

// Browsing returns the name of the column with a browser's header fields.
func Browsing(column string) string { return column + ", a browser's fields" }

// AllPacks returns the name of the column that requests icons of all packs.
func AllPacks(column string) string { return column + ", icons of all packs" }

// Names of servers that are measured over TLS only.
const (
	Reference = "iconedge, Go's HTTP/2" // --http2-reference
	// connections that a Go program holds without any further use
	TLSAlone = "TLS alone"
)

// A Secure is the result of `loadtest bench` over TLS.
type Secure struct {
	Bench
	Cipher string  `json:"cipher"`
	Body   float64 `json:"body_bytes"` // on average
	Rests  []Rest  `json:"resting"`
}

// A Rest is the memory that a server needs for idle connections.
type Rest struct {
	Server      string `json:"server"`
	Connections int    `json:"connections"`
	Before      int64  `json:"before_bytes"`
	After       int64  `json:"after_bytes"`
}

// Each returns the bytes for one connection.
func (r Rest) Each() float64 { return float64(r.After-r.Before) / float64(max(1, r.Connections)) }

// mostAtRest is the target for the bytes of an idle connection beyond those of TLS.
const mostAtRest = 12_000

// RestTable returns the memory of an idle connection, and the part beyond TLS. That part is
// comparable only among servers in Go, which share its TLS.
func (s *Secure) RestTable() Table {
	t := Table{Head: []string{"a connection at rest", "kB", "beyond TLS alone, kB", "target"}}
	var alone float64
	for _, r := range s.Rests {
		beyond, verdict := none, ""
		switch r.Server {
		case TLSAlone:
			alone = r.Each()
		case Ours:
			if alone == 0 {
				break
			}
			beyond, verdict = fmt.Sprintf("%.1f", (r.Each()-alone)/1e3),
				fmt.Sprintf("≤ %d: %s", mostAtRest/1000, Target{Most: mostAtRest}.verdict(r.Each()-alone))
		}
		t.Rows = append(t.Rows, []string{r.Server, fmt.Sprintf("%.1f", r.Each()/1e3), beyond, verdict})
	}
	return t
}
