package fetch

import (
	"testing"
	"time"
)

// Requests to the origin go on after their clients have left, but only a limited number of them.
func TestOrphans(t *testing.T) {
	w := newConcurrencyLimiter(2)
	for range 2 * orphans {
		must(t, w.beginFetch())
	}
	if w.beginFetch() == nil {
		t.Error("the number of orphaned fetches is not limited")
	}
	w.endFetch()
	must(t, w.beginFetch())
}

// A leaver is a connection whose client may leave.
type leaver struct{ gone bool }

func (l *leaver) ClientGone() bool { return l.gone }

// A client that leaves frees its slot; a client that stays keeps it.
func TestSlotOfLeaver(t *testing.T) {
	w, now, leaves := newConcurrencyLimiter(2), time.Now(), &leaver{}
	gone, err := w.acquire(leaves, now)
	must(t, err)
	stays, err := w.acquire(&leaver{}, now)
	must(t, err)
	if _, err := w.acquire(&leaver{}, now.Add(time.Second)); err == nil {
		t.Error("a third client got one of two slots")
	}
	leaves.gone = true
	if _, err := w.acquire(&leaver{}, now.Add(time.Minute)); err != nil {
		t.Errorf("another client does not get the slot of the client that left: %v", err)
	}
	select {
	case <-gone.ClientGone:
	default:
		t.Error("the request of a client that has left still waits")
	}
	select {
	case <-stays.ClientGone:
		t.Error("the client that stays lost its slot")
	default:
	}
	w = newConcurrencyLimiter(1)
	if w.tryAcquire(leaves) == nil || w.tryAcquire(leaves) != nil {
		t.Error("on an event loop there is not one slot")
	}
	if _, err := w.acquire(&leaver{}, now); err != nil {
		t.Errorf("another client does not get the slot of a client on an event loop: %v", err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
