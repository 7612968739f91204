package bodies

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// A held is the Holder of a test's Share, which records that End was called.
type held struct{ ended chan *held }

func (h *held) End() { h.ended <- h }

// clientNo returns one of many clients; that of number 0 is no particular one.
func clientNo(n int) netip.Prefix {
	if n == 0 {
		return netip.Prefix{}
	}
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{127, 1, byte(n >> 8), byte(n)}), 32)
}

// shares returns shares of a client, with Holders.
func shares(n, client int) (list []*Share, ended chan *held) {
	ended = make(chan *held, n)
	for range n {
		list = append(list, &Share{Client: clientNo(client), Holder: &held{ended}})
	}
	return list, ended
}

// When clients hold all that they may together, the client that holds most gets no more and loses
// what it has begun last, as soon as others want more.
func TestClientThatHoldsMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// 1200, 200 for those that hold less, 200 for whole ones.
		r := &Budget{Max: 1 << 20, Requests: 1600}
		hogs, ended := shares(13, 1)
		for i, s := range hogs {
			if err, want := r.ReserveShare(s, 100), i >= 12; errors.Is(err, ErrOverloaded) != want {
				t.Fatalf("share %d of the client that holds most: %v", i, err)
			}
		}
		others, _ := shares(3, 2)
		check(t, []step{
			{r.ReserveShare(others[0], 100), nil},          // ends one of the other client
			{r.ReserveShare(others[1], 50), nil},           // another one
			{r.ReserveShare(hogs[12], 100), ErrOverloaded}, // it still holds most
			// Beyond all that waiting requests may hold.
			{r.ReserveShare(others[2], 150), ErrOverloaded},
			{r.ReserveShare(&Share{Whole: true}, 150), nil}, // not beyond what whole ones may
		})
		synctest.Wait()
		close(ended)
		var got []*held
		for h := range ended {
			got = append(got, h)
		}
		if len(got) != 3 {
			t.Fatalf("%d shares ended, want 3", len(got))
		}
		for _, s := range hogs[9:12] {
			if !slices.Contains(got, s.Holder.(*held)) || !r.Leaves(s) {
				t.Error("a share was ended that is not one of the newest")
			}
			r.Release(s)
		}
		if ofRequests, _ := r.Stats(); ofRequests.Held != 9*100+150+150 || ofRequests.Refused != 3 || ofRequests.Ended != 3 {
			t.Errorf("%+v", ofRequests)
		}
	})
}

// A client that holds nothing takes the place of a client that holds as much, so that a crowd of
// equal clients keeps no other one out. Clients that belong to no particular one lose a place only
// if no other client has any.
func TestVictims(t *testing.T) {
	for _, tt := range []struct {
		name         string
		held         map[int]int64 // by client
		client       int
		want         int64 // more bytes
		err          error
		ended, after int // the client that loses a place; what it then has
	}{
		{"equal clients, a new one", map[int]int64{1: 200, 2: 200, 3: 200, 4: 200, 5: 200, 6: 200}, 7, 200, nil, -1, 0},
		{"equal clients, a new one that wants more", map[int]int64{1: 400, 2: 400, 3: 400}, 4, 401, ErrOverloaded, 0, 0},
		{"equal clients, one of them", map[int]int64{1: 400, 2: 400, 3: 400}, 3, 1, ErrOverloaded, 0, 0},
		{"the largest of two", map[int]int64{1: 700, 2: 500}, 2, 100, nil, 1, 0},
		{"no particular client is the largest", map[int]int64{0: 700, 2: 500}, 3, 100, nil, 2, 0},
		{"no particular client is alone", map[int]int64{0: 1200}, 3, 100, nil, 0, 0},
		{"no particular client wants more", map[int]int64{0: 1000, 2: 200}, 0, 100, nil, 2, 0},
		{"no particular client wants more, and the others have little", map[int]int64{0: 1150, 2: 50}, 0, 100, nil, -2, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &Budget{Max: 1 << 20, Requests: 1600}
				ended := make(chan *held, 10)
				of := map[*held]int{}
				for client, n := range tt.held {
					h := &held{ended}
					of[h] = client
					if err := r.ReserveShare(&Share{Client: clientNo(client), Holder: h}, n); err != nil {
						t.Fatal(err)
					}
				}
				if err := r.ReserveShare(&Share{Client: clientNo(tt.client), Holder: &held{ended}}, tt.want); !errors.Is(err, tt.err) {
					t.Errorf("%v, want %v", err, tt.err)
				}
				synctest.Wait()
				close(ended)
				var clients []int
				for h := range ended {
					clients = append(clients, of[h])
				}
				switch {
				case tt.err != nil || tt.ended == -2:
					if len(clients) > 0 {
						t.Errorf("clients %v lost a place", clients)
					}
				case len(clients) != 1 || tt.ended >= 0 && clients[0] != tt.ended:
					t.Errorf("clients %v lost a place, want %d", clients, tt.ended)
				}
			})
		})
	}
}

// A response that its client takes counts against neither pool, one that its client leaves against
// that of responses.
func TestAnswered(t *testing.T) {
	r := &Budget{Max: 1 << 20, Each: 1 << 20, Requests: 800, Responses: 800}
	s := Share{Client: hog}
	pools := func(requests, responses int64) {
		t.Helper()
		if q, a := r.Stats(); q.Held != requests || a.Held != responses {
			t.Errorf("requests hold %d bytes, responses %d; want %d and %d", q.Held, a.Held, requests, responses)
		}
	}
	check(t, []step{{r.ReserveShare(&s, 500), nil}})
	pools(500, 0)
	check(t, []step{{r.Unread(&s), nil}, {r.Unread(&s), nil}})
	pools(0, 500)
	r.Answered(&s)
	r.Answered(&s)
	pools(0, 0)
	check(t, []step{{r.ReserveShare(&s, 600), nil}, {r.Unread(&s), nil}})
	pools(0, 600)
	if r.Held(hog) != 600 {
		t.Errorf("its client holds %d bytes", r.Held(hog))
	}
	check(t, []step{{r.ReserveResponse(&Share{Client: other}, 601), ErrOverloaded}})
	r.Answered(&s)
	check(t, []step{{r.ReserveResponse(&Share{Client: other}, 600), nil}, {r.Unread(&s), ErrOverloaded}})
	pools(0, 600)
	r.Release(&s)
	check(t, []step{{r.ReserveShare(&s, 100), nil}}) // of the next request
	pools(100, 600)
}

// A whole request waits for room if its client holds nothing, and not for ever.
func TestAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &Budget{Max: 1 << 20, Each: 1 << 20, Requests: 800}
		full, whole := Share{Client: hog}, Share{Client: other, Whole: true}
		check(t, []step{{r.ReserveShare(&full, 600), nil}})
		start := time.Now()
		check(t, []step{
			// Its client holds something.
			{r.Await(&Share{Client: hog, Whole: true}, 300), ErrOverloaded},
			{r.Await(&whole, 100), nil},
		})
		if took := time.Since(start); took > 0 {
			t.Errorf("waited %v", took)
		}
		check(t, []step{{r.Await(&Share{Client: netip.MustParsePrefix("192.0.2.3/32"), Whole: true}, 300), ErrOverloaded}})
		if took := time.Since(start); took != awaitFor {
			t.Errorf("waited %v, want %v", took, awaitFor)
		}
		time.AfterFunc(awaitStep/2, func() { r.Release(&full) })
		check(t, []step{{r.Await(&Share{Client: netip.MustParsePrefix("192.0.2.3/32"), Whole: true}, 300), nil}})
	})
}

// Connections at rest count against no pool.
func TestConnectionsInNoPool(t *testing.T) {
	r := &Budget{Max: 1 << 20, Requests: 100, Responses: 100}
	check(t, []step{{r.ReserveShare(&Share{Client: hog, Connection: true}, 1000), nil}})
	if q, _ := r.Stats(); q.Held != 0 {
		t.Errorf("%d bytes", q.Held)
	}
}

// A model is a naive pool of requests, which looks at everything for each call.
type model struct{ shares []*modelShare }

type modelShare struct {
	*Share
	client  int
	bytes   int64
	leaving bool
	since   int // order in which it began to hold bytes
}

// sums returns the bytes of all clients, and those of each without leaving ones.
func (m *model) sums() (all, leaving int64, of map[int]int64) {
	of = map[int]int64{}
	for _, s := range m.shares {
		if all += s.bytes; s.leaving {
			leaving += s.bytes
		} else if s.bytes > 0 {
			of[s.client] += s.bytes
		}
	}
	return all, leaving, of
}

// wrong returns why v must not be ended for a client that would hold so many bytes; empty: it may.
func (m *model) wrong(v *modelShare, client int, would int64) string {
	_, _, of := m.sums()
	largest := int64(0)
	for other, bytes := range of {
		if other != 0 && other != client {
			largest = max(largest, bytes)
		}
	}
	switch {
	case v.client == 0 && largest > would:
		return "it belongs to no particular client, and another one holds more"
	case v.client != 0 && of[v.client] < largest:
		return "its client does not hold most"
	case of[v.client] <= would:
		return "its client holds no more than the other one would"
	case slices.ContainsFunc(m.shares, func(o *modelShare) bool {
		return o.client == v.client && o.bytes > 0 && !o.leaving && o.since > v.since
	}):
		return "it is not the newest of its client"
	}
	return ""
}

// A Budget behaves like the model: it admits as much in all, and whenever a share is ended, its
// client holds most of all, and the share is that client's newest.
func TestPoolsAtRandom(t *testing.T) {
	for seed := range uint64(30) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { atRandom(t, rand.New(rand.NewPCG(seed, 1))) })
		})
	}
}

func atRandom(t *testing.T, rnd *rand.Rand) {
	const most, clients, steps = 10_000, 12, 3000
	r, m := &Budget{Max: 1 << 40, Requests: most}, &model{}
	ended := make(chan *held, steps)
	byHolder := map[*held]*modelShare{}
	for i := range 200 {
		client, h := i%clients, &held{ended}
		s := &modelShare{Share: &Share{Client: clientNo(client), Holder: h, Whole: i%3 == 0}, client: client}
		byHolder[h], m.shares = s, append(m.shares, s)
	}
	for step := range steps {
		s := m.shares[rnd.IntN(len(m.shares))]
		if rnd.IntN(3) == 0 {
			r.Release(s.Share)
			s.bytes, s.leaving = 0, false
			continue
		}
		n := 1 + rnd.Int64N(400)
		all, leaving, of := m.sums()
		err := r.ReserveShare(s.Share, s.bytes+n)
		synctest.Wait()
		var victims []*modelShare
		for len(ended) > 0 {
			victims = append(victims, byHolder[<-ended])
		}
		room, soft := int64(most-most/sparePart), int64(most-2*(most/sparePart))
		if s.Whole {
			room, soft = most, room
		}
		would := n
		if s.client != 0 && of[s.client] > 0 {
			would += of[s.client]
		} else {
			would--
		}
		over, end, longest := all-leaving+n-soft, int64(0), int64(0)
		for len(victims) > 0 {
			_, _, of := m.sums()
			v := slices.MaxFunc(victims, func(a, b *modelShare) int {
				return cmp.Or(cmp.Compare(of[a.client]*int64(min(a.client, 1)), of[b.client]*int64(min(b.client, 1))),
					cmp.Compare(a.since, b.since))
			})
			victims = slices.DeleteFunc(victims, func(o *modelShare) bool { return o == v })
			if why := m.wrong(v, s.client, would); why != "" {
				t.Fatalf("step %d: a share of client %d was ended: %s", step, v.client, why)
			}
			v.leaving = true
			end, longest = end+v.bytes, max(longest, v.bytes)
		}
		if end > 0 && end-longest >= over {
			t.Fatalf("step %d: %d bytes ended for %d", step, end, over)
		}
		if err == nil {
			if s.bytes == 0 {
				s.since = step
			}
			s.bytes += n
		}
		q, _ := r.Stats()
		if got, _, _ := m.sums(); q.Held != got || got > room && err == nil {
			t.Fatalf("step %d: %d bytes held, want %d, at most %d", step, q.Held, got, room)
		}
		if err != nil && all-leaving+n <= soft && all+n <= room {
			t.Fatalf("step %d: refused, although there is room", step)
		}
		if s.client != 0 && err != nil && over > end && all+n <= room {
			_, _, of := m.sums()
			for client, bytes := range of {
				if client != 0 && client != s.client && bytes > would {
					t.Fatalf("step %d: client %d was refused with %d bytes, and client %d holds %d", step, s.client, would, client, bytes)
				}
			}
		}
	}
	for _, s := range m.shares {
		r.Release(s.Share)
	}
	if p := &r.pools[requests]; p.held != 0 || p.leaving != 0 || len(p.by) != 0 || len(p.most) != 0 {
		t.Errorf("at the end %d bytes held, %d leaving, %d clients", p.held, p.leaving, len(p.by))
	}
}

// A reservation takes about as long with a thousand times as many clients.
func BenchmarkReserve(b *testing.B) {
	for _, n := range []int{10, 10_000} {
		b.Run(fmt.Sprint(n, " clients"), func(b *testing.B) {
			r := &Budget{Max: 1 << 40, Each: 1 << 30, Requests: 1 << 40}
			for i := range n {
				r.ReserveShare(&Share{Client: clientNo(i + 1)}, int64(i))
			}
			s := Share{Client: clientNo(n / 2)}
			b.ReportAllocs()
			for b.Loop() {
				r.ReserveShare(&s, 40<<10)
				r.Release(&s)
			}
		})
	}
}
