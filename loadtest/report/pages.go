//go:build linux

package report

import (
	"fmt"
	"slices"
)

// A Pages is the result of `loadtest pages`.
type Pages struct {
	Date    string      `json:"date"`
	Machine Machine     `json:"machine"`
	Browser string      `json:"browser"`
	Icons   int         `json:"icons"`
	Loads   int         `json:"loads"` // over each protocol and path
	Delay   float64     `json:"delay_seconds"`
	Times   []PageTimes `json:"times"`
}

// A PageTimes is how long a page took over a protocol and a path, each time.
type PageTimes struct {
	Protocol string    `json:"protocol"`
	Loss     float64   `json:"loss_percent"`
	Millis   []float64 `json:"milliseconds"`
}

// Add adds the time of a load.
func (p *Pages) Add(protocol string, loss, millis float64) {
	i := slices.IndexFunc(p.Times, func(t PageTimes) bool { return t.Protocol == protocol && t.Loss == loss })
	if i < 0 {
		i, p.Times = len(p.Times), append(p.Times, PageTimes{Protocol: protocol, Loss: loss})
	}
	p.Times[i].Millis = append(p.Times[i].Millis, millis)
}

// part returns the time that a part of the loads did not exceed.
func (t PageTimes) part(part float64) float64 {
	sorted := slices.Sorted(slices.Values(t.Millis))
	return sorted[min(len(sorted)-1, int(part*float64(len(sorted))))]
}

var protocolNames = map[string]string{"h2": "HTTP/2", "h3": "HTTP/3"}

// Table returns the times of the page.
func (p *Pages) Table() Table {
	t := Table{Head: []string{"a page, ms", "lost packets", "median", "9 of 10 within", "longest"}}
	for _, of := range p.Times {
		t.Rows = append(t.Rows, []string{
			protocolNames[of.Protocol], fmt.Sprintf("%g %%", of.Loss), fixed(of.part(0.5), 0), fixed(of.part(0.9), 0),
			fixed(slices.Max(of.Millis), 0),
		})
	}
	return t
}
