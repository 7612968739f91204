package bodies

import (
	"errors"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
)

func TestBudget(t *testing.T) {
	r := &Budget{Max: 300 << 10}
	var one, two Share
	for _, row := range []struct {
		name   string
		share  *Share
		length int64
		err    error
		used   int64
	}{
		{"a short body", &one, Free, nil, 0},
		{"the same share grows", &one, 100 << 10, nil, 100 << 10},
		{"a smaller need takes nothing more", &one, 80 << 10, nil, 100 << 10},
		{"a second share", &two, 200 << 10, nil, 300 << 10},
		{"the room is full", &one, 101 << 10, ErrOverloaded, 300 << 10},
		{"a short body still fits", new(Share), Free, nil, 300 << 10},
	} {
		if err := r.Body(row.share, row.length); !errors.Is(err, row.err) || r.Used() != row.used {
			t.Errorf("%s: %v, %d bytes used; want %v, %d", row.name, err, r.Used(), row.err, row.used)
		}
	}
	for _, share := range []*Share{&one, &one, &two} {
		r.Release(share)
	}
	if r.Used() != 0 {
		t.Errorf("%d bytes used after all shares were given back", r.Used())
	}
	var none *Budget
	if none.Body(&one, 1<<40) != nil || none.Reserve(&one, 1<<40) != nil || none.ReserveShare(&one, 1<<40) != nil {
		t.Error("a nil Room refuses")
	}
	none.Release(&one)
	none.Arrived(&one)
}

// A request that has arrived holds only the bytes that ReserveShare has reserved.
func TestArrived(t *testing.T) {
	r := &Budget{Max: 1000, Each: 1000}
	s := Share{Client: hog}
	if r.Reserve(&s, 300) != nil || r.ReserveShare(&s, 100) != nil {
		t.Fatal("no room")
	}
	r.Arrived(&s)
	r.Arrived(&s)
	if r.Used() != 0 || r.Held(hog) != 100 {
		t.Errorf("%d bytes used, %d held", r.Used(), r.Held(hog))
	}
	if r.Release(&s); r.Held(hog) != 0 {
		t.Errorf("%d bytes held at the end", r.Held(hog))
	}
}

// A share that needs less than before releases the rest, and can grow again.
func TestShrink(t *testing.T) {
	r := &Budget{Max: 1000, Each: 100, EachRequests: 50}
	s, request := Share{Client: hog, Connection: true}, Share{Client: hog}
	check(t, []step{{r.ReserveShare(&s, 90), nil}, {r.ReserveShare(&request, 20), ErrOverloaded}})
	r.Shrink(&s, 60)
	check(t, []step{{r.ReserveShare(&request, 20), nil}, {r.ReserveShare(&s, 81), ErrOverloaded}, {r.ReserveShare(&s, 80), nil}})
	r.Shrink(&s, 200)
	if r.Held(hog) != 100 || r.held != 100 {
		t.Errorf("%d bytes held, %d by all", r.Held(hog), r.held)
	}
	r.Shrink(&request, 5)
	r.Release(&s)
	if r.Held(hog) != 5 || r.Used() != 0 {
		t.Errorf("%d bytes held, %d used", r.Held(hog), r.Used())
	}
	(*Budget)(nil).Shrink(&request, 0)
}

var hog, other = netip.MustParsePrefix("192.0.2.1/32"), netip.MustParsePrefix("2001:db8::/64")

// A step is a call, with its error and the one that it should have.
type step struct{ got, want error }

func check(t *testing.T, steps []step) {
	t.Helper()
	for i, s := range steps {
		if !errors.Is(s.got, s.want) {
			t.Errorf("step %d: %v, want %v", i, s.got, s.want)
		}
	}
}

// A client that has used up its share is refused by Reserve and ReserveShare. Another client still
// gets the rest of the room, and a share without a client has no bound of its own.
func TestShareOfClient(t *testing.T) {
	r := &Budget{Max: 1000, Each: 400}
	body, connection, third := Share{Client: hog}, Share{Client: hog}, Share{Client: hog}
	another, nobody := Share{Client: other}, Share{}
	check(t, []step{
		{r.Reserve(&body, 300), nil},
		{r.ReserveShare(&connection, 100), nil},
		{r.Reserve(&body, 301), ErrOverloaded},
		{r.ReserveShare(&third, 1), ErrOverloaded},
		{r.ReserveShare(&another, 400), nil},
		{r.Reserve(&nobody, 700), nil},
		{r.Reserve(&nobody, 701), ErrOverloaded}, // Max
		{r.ReserveShare(&nobody, 1<<40), nil},
	})
	if r.Used() != 1000 || r.Held(hog) != 400 || r.Held(other) != 400 {
		t.Errorf("%d bytes are used, %d by the one client, %d by the other; want 1000, 400, 400", r.Used(), r.Held(hog), r.Held(other))
	}
	r.Release(&connection)
	if err := r.Reserve(&body, 400); !errors.Is(err, ErrOverloaded) { // Max is reached
		t.Errorf("Reserve beyond Max: %v", err)
	}
	for _, s := range []*Share{&body, &connection, &third, &another, &nobody} {
		r.Release(s)
	}
	if r.Used() != 0 || r.Held(hog) != 0 || len(r.clients) != 0 {
		t.Errorf("%d bytes used, %d clients known after all shares were given back", r.Used(), len(r.clients))
	}
}

// Connections at rest may take what requests may not.
func TestConnectionsOfClient(t *testing.T) {
	r := &Budget{Max: 1000, Each: 400, EachRequests: 100}
	request, connection, third := Share{Client: hog}, Share{Client: hog, Connection: true}, Share{Client: hog, Connection: true}
	check(t, []step{
		{r.ReserveShare(&request, 101), ErrOverloaded},
		{r.ReserveShare(&request, 60), nil},
		{r.Reserve(&request, 41), ErrOverloaded},
		{r.Reserve(&request, 40), nil},
		{r.ReserveShare(&connection, 300), nil},
		{r.ReserveShare(&third, 1), ErrOverloaded},
	})
	r.Release(&request)
	if err := r.ReserveShare(&third, 100); err != nil {
		t.Errorf("a connection in place of a request: %v", err)
	}
	if err := r.ReserveShare(&request, 1); !errors.Is(err, ErrOverloaded) {
		t.Errorf("a request when connections hold everything: %v, want %v", err, ErrOverloaded)
	}
	r.Release(&connection)
	r.Release(&third)
	if err := r.ReserveShare(&request, 100); err != nil {
		t.Errorf("a request after all: %v", err)
	}
	if r.Release(&request); len(r.clients) != 0 {
		t.Errorf("%v is known of clients at the end", r.clients)
	}
}

// Fallen reports a fall once.
func TestFallen(t *testing.T) {
	r := &Budget{Max: 1000, Each: 1000}
	s := Share{Client: hog}
	must := func(want bool) {
		t.Helper()
		if got := r.Fallen(500); got != want {
			t.Errorf("%v, want %v", got, want)
		}
	}
	must(false)
	r.ReserveShare(&s, 600)
	must(false)
	r.Release(&s)
	must(true)
	must(false)
	r.ReserveShare(&s, 400)
	r.Release(&s)
	must(false)
}

// Concurrent clients never hold more than Max or Each, and Release releases everything.
func TestBudgetConcurrently(t *testing.T) {
	r := &Budget{Max: 10 << 20, Each: 5 << 20}
	var all sync.WaitGroup
	var now atomic.Int64
	for i := range 50 {
		all.Go(func() {
			for range 200 {
				s := Share{Client: []netip.Prefix{hog, other, {}}[i%3]}
				if r.Reserve(&s, 1<<20) == nil {
					if n := now.Add(1); n > 10 {
						t.Errorf("%d shares of one MiB at a time, want at most 10", n)
					}
					now.Add(-1)
				}
				r.Release(&s)
			}
		})
	}
	all.Wait()
	if r.Used() != 0 || r.Held(hog) != 0 || r.held != 0 {
		t.Errorf("%d bytes used after all shares were given back", r.Used())
	}
}
