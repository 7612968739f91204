// Package requesttest makes requests of the hit path for tests.
package requesttest

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/iconedge/iconedge/edge/request"
)

// Client is the client of the requests.
var Client = netip.MustParseAddr("192.0.2.1")

// New returns an eligible GET for a target of a host, with fields such as "Accept: */*".
func New(t testing.TB, host, target string, fields ...string) *request.Request {
	t.Helper()
	q := &request.Request{Client: Client, Now: time.Now(), TakesBody: true, Host: []byte(host)}
	if q.SetTarget([]byte(target)) != request.Eligible {
		t.Fatalf("the target %q is not eligible", target)
	}
	var lines fieldLines
	for _, field := range fields {
		name, value, _ := strings.Cut(field, ": ")
		lines = append(lines, [2][]byte{[]byte(name), []byte(value)})
		if q.Field([]byte(name), []byte(value)) != request.Eligible {
			t.Fatalf("%q is not eligible", field)
		}
	}
	q.Fields = lines
	return q
}

// fieldLines give access to the lines of a request.
type fieldLines [][2][]byte

// Line implements request.Fields.
func (f fieldLines) Line(name string, nth int) []byte {
	for _, line := range f {
		if request.SameName(line[0], name) {
			if nth--; nth < 0 {
				return line[1]
			}
		}
	}
	return nil
}
