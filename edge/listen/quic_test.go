package listen

import (
	"errors"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/iconedge/iconedge/edge/bodies"
	"github.com/iconedge/iconedge/edge/h3"
)

// While a client takes a response, the connection waits for the client, and the client holds the
// bytes. Beyond its share it gets none.
func TestAccountOfH3(t *testing.T) {
	q := &quicConn{client: netip.MustParsePrefix("192.0.2.1/32")}
	room, busy := &bodies.Budget{Max: 100, Each: 100}, new(atomic.Int64)
	a := quicAccount{q, room, busy}
	broken := errors.New("broken")
	err := a.Take(60, func() error {
		if !q.slow() || room.Held(q.client) != 60 || busy.Load() != 1 {
			t.Errorf("slow %v, %d bytes held, %d busy", q.slow(), room.Held(q.client), busy.Load())
		}
		if err := a.Take(60, func() error { t.Error("it is written"); return nil }); err != h3.ErrExcessive {
			t.Errorf("a response beyond the share: %v", err)
		}
		return broken
	})
	if resting, _ := q.rests(); err != broken || !resting || room.Held(q.client) != 0 || busy.Load() != 0 {
		t.Errorf("%v, resting %v, %d bytes held, %d busy", err, resting, room.Held(q.client), busy.Load())
	}
	a.Used(time.Unix(5, 0))
	if _, since := q.rests(); since.Unix() != 5 {
		t.Errorf("last used %v", since)
	}
}
