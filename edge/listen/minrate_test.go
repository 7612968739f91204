package listen

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/iconedge/iconedge/edge/bodies"
)

// Bodies of any length come whole.
func TestMinimumRateRead(t *testing.T) {
	for _, n := range []int{0, 1, pacedPart - 1, pacedPart, pacedPart + 1, 3 * pacedPart} {
		for _, most := range []int{1, pacedPart, 4 * pacedPart} {
			p := newMinRate(deadlines{}, time.Second)
			room := int64(0)
			got, err := p.read(strings.NewReader(strings.Repeat("x", n)), most, func(length int64) error { room = length; return nil })
			if err != nil || len(got) != min(n, most) || int64(len(got)) > room || room > int64(max(2*n, n+bodies.Free)) {
				t.Errorf("%d of %d bytes: %d, with room for %d, %v", most, n, len(got), room, err)
			}
		}
	}
}

type deadlines struct{ http.ResponseWriter }

func (deadlines) SetReadDeadline(time.Time) error { return nil }
