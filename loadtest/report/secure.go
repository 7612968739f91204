//go:build linux

package report

import "fmt"

// The columns over TLS, by their names: connections and streams at a time on each.
const (
	Secure1   = "HTTP/1.1, 64 × 1"
	Streams1  = "HTTP/2, 64 × 1"
	Streams10 = "HTTP/2, 16 × 10"
	Streams50 = "HTTP/2, 4 × 50"
)

// Browsing is the column with the header fields of a browser besides.
func Browsing(column string) string { return column + ", a browser's fields" }

// The names of what is measured over TLS alone.
const (
	Reference = "iconedge, Go's HTTP/2" // --http2-reference
	TLSAlone  = "TLS alone"             // connections that a Go program keeps and does nothing with
)

// A Secure is all that `loadtest bench` measured over TLS.
type Secure struct {
	Bench
	Cipher string  `json:"cipher"`
	Body   float64 `json:"body_bytes"` // on average
	Rests  []Rest  `json:"resting"`
}

// A Rest is what connections that rest take of a server's memory.
type Rest struct {
	Server      string `json:"server"`
	Connections int    `json:"connections"`
	Before      int64  `json:"before_bytes"`
	After       int64  `json:"after_bytes"`
}

// Each is the bytes of one connection.
func (r Rest) Each() float64 { return float64(r.After-r.Before) / float64(max(1, r.Connections)) }

// mostAtRest is how many bytes a connection of ours may take beyond what TLS takes of them.
const mostAtRest = 12_000

// RestTable is what a connection at rest takes, and how much of that is not TLS. Only what is written in Go has the same TLS.
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
			beyond, verdict = fmt.Sprintf("%.1f", (r.Each()-alone)/1e3), fmt.Sprintf("≤ %d: %s", mostAtRest/1000, Target{Most: mostAtRest}.verdict(r.Each()-alone))
		}
		t.Rows = append(t.Rows, []string{r.Server, fmt.Sprintf("%.1f", r.Each()/1e3), beyond, verdict})
	}
	return t
}
