package fleet

import (
	"fmt"
	"io"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/iconedge/iconedge/edge/fleet/fleettest"
	"github.com/iconedge/iconedge/logtest"
)

// heard is what an edge was told, in order.
type heard struct {
	mu       sync.Mutex
	all      []string
	position string
}

func (h *heard) Hear(kind Kind, data string) { h.add(string(kind) + " " + data) }
func (h *heard) Lost()                       { h.add("lost") }

func (h *heard) Reached(position string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.position = position
}

func (h *heard) add(s string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, s)
}

func (h *heard) told() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.all)
}

// hears waits until all this has been told, and nothing else.
func (h *heard) hears(t *testing.T, want ...string) {
	t.Helper()
	eventually(t, fmt.Sprintf("%q is heard", want), func() bool { return len(h.told()) >= len(want) })
	if got := h.told(); !slices.Equal(got, want) {
		t.Fatalf("heard %q, want %q", got, want)
	}
}

// life follows the log from a position until it is ended, and says where it stood then.
func life(t *testing.T, url, position string) (h *heard, end func() string) {
	t.Helper()
	f, h := open(t, url, "here", nil), &heard{}
	f.Follow(position, position == "", h)
	return h, func() string {
		f.Close()
		return h.position
	}
}

// publishes writes purges by another edge, by number.
func publishes(t *testing.T, f *Fleet, numbers ...int) {
	t.Helper()
	for _, n := range numbers {
		if err := f.Publish(Purge, fmt.Sprint(n)); err != nil {
			t.Fatal(err)
		}
	}
}

// What one edge publishes all others hear, of any region, in order, and it does not itself.
func TestEventsAreHeard(t *testing.T) {
	s := fleettest.Start(t)
	one, other := open(t, s.URL, "here", nil), open(t, s.URL, "there", nil)
	mine, others := &heard{}, &heard{}
	one.Follow("", true, mine)
	other.Follow("", true, others)
	publishes(t, one, 1, 2)
	others.hears(t, "purge 1", "purge 2")
	if err := other.Publish(Release, "abc"); err != nil {
		t.Fatal(err)
	}
	mine.hears(t, "release abc")
	if got := other.Stats(); got.Events[Purge] != (EventStats{Received: 2}) || got.Events[Release] != (EventStats{Sent: 1}) || got.Lost != 0 {
		t.Errorf("%+v", got)
	}
}

// An edge that starts again hears what it has missed, if it says where it stood: in order, each once, more than are read at a time.
func TestMissedEventsAreReplayed(t *testing.T) {
	s := fleettest.Start(t)
	one := open(t, s.URL, "here", nil)
	_, end := life(t, s.URL, "")
	publishes(t, one, 0)
	position := end()
	numbers, want := []int{}, []string{}
	for n := range 2*eventsAt + 7 {
		numbers, want = append(numbers, n), append(want, fmt.Sprint("purge ", n))
	}
	publishes(t, one, numbers...)
	f, h := open(t, s.URL, "here", nil), &heard{}
	f.Follow(position, false, h)
	eventually(t, "the last is heard", func() bool { return len(h.told()) > 0 && slices.Equal(h.told()[len(h.told())-1:], want[len(want)-1:]) })
	if got := h.told(); !slices.Equal(got, want) && !slices.Equal(got, append([]string{"purge 0"}, want...)) { // the first life may have ended before it heard of it
		t.Errorf("heard %q", got)
	}
	if got := f.Stats(); got.Events[Purge].Replayed != uint64(len(h.told())) || got.Lost != 0 {
		t.Errorf("%+v, want all of them replayed", got)
	}
}

// An edge that Redis could not be reached from, or that Redis hung for, hears what it has missed as soon as it can.
func TestBackAfterAnOutage(t *testing.T) {
	s := fleettest.Start(t)
	way, log := newWay(t, strings.TrimPrefix(s.URL, "unix://")), &logtest.Log{}
	one, other, h := open(t, s.URL, "here", nil), openPatient(t, way.url, "here", log, 2*time.Second), &heard{}
	other.Follow("", true, h)
	publishes(t, one, 1)
	h.hears(t, "purge 1")
	way.set(false)
	eventually(t, "it notices", func() bool { return !other.Stats().Up })
	publishes(t, one, 2, 3)
	way.set(true)
	h.hears(t, "purge 1", "purge 2", "purge 3")
	if got := other.Stats(); got.Events[Purge] != (EventStats{Received: 1, Replayed: 2}) {
		t.Errorf("%+v", got)
	}
	s.Pause()
	eventually(t, "it notices", func() bool { return strings.Count(log.String(), "log in redis can't be read") == 2 })
	s.Resume()
	eventually(t, "it is back", func() bool { return strings.Count(log.String(), "log in redis can be read again") == 2 })
	publishes(t, one, 4)
	h.hears(t, "purge 1", "purge 2", "purge 3", "purge 4")
}

// A way is a relay to a Redis that can be cut.
type way struct {
	url   string
	mu    sync.Mutex
	open  bool
	conns []net.Conn
}

func newWay(t *testing.T, to string) *way {
	path := filepath.Join(filepath.Dir(to), "way")
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	w := &way{url: "unix://" + path, open: true}
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			w.relay(c, to)
		}
	}()
	return w
}

func (w *way) relay(c net.Conn, to string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	server, err := net.Dial("unix", to)
	if err != nil || !w.open {
		c.Close()
		return
	}
	w.conns = append(w.conns, c, server)
	go func() { io.Copy(c, server); c.Close() }()
	go func() { io.Copy(server, c); server.Close() }()
}

func (w *way) set(open bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open = open
	for _, c := range w.conns {
		c.Close()
	}
	w.conns = nil
}

// Where the log does not hold what was missed the edge is told so, once, and hears from then on.
func TestLogDoesNotReachBack(t *testing.T) {
	for name, row := range map[string]struct {
		lost   bool
		change func(t *testing.T, s *fleettest.Server, one *Fleet)
	}{
		"nothing was missed": {false, func(*testing.T, *fleettest.Server, *Fleet) {}},
		"it was cut off": {true, func(t *testing.T, s *fleettest.Server, one *Fleet) {
			publishes(t, one, 2, 3)
			s.XTrimMaxLen(t.Context(), logKey, 1)
		}},
		"all is deleted": {true, func(t *testing.T, s *fleettest.Server, _ *Fleet) { s.FlushAll(t.Context()) }},
		"all is deleted, and there is more since": {true, func(t *testing.T, s *fleettest.Server, one *Fleet) {
			publishes(t, one, 2)
			s.FlushAll(t.Context())
			publishes(t, one, 3)
		}},
		"it starts empty": {true, func(t *testing.T, s *fleettest.Server, _ *Fleet) { s.Kill(); s.Again(t) }},
		"an older copy is put back, and there is more since": {true, func(t *testing.T, s *fleettest.Server, one *Fleet) {
			s.Kill() // its copy was made before what the edge heard
			s.Again(t)
			eventually(t, "it can be written to", func() bool { return one.Publish(Purge, "3") == nil })
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := fleettest.Start(t)
			one := open(t, s.URL, "here", nil)
			h, end := life(t, s.URL, "")
			if strings.Contains(name, "copy") {
				must(t, s.Save(t.Context()).Err())
			}
			publishes(t, one, 1)
			h.hears(t, "purge 1")
			position := end()
			row.change(t, s, one)
			f, h := open(t, s.URL, "here", nil), &heard{}
			f.Follow(position, false, h)
			want := []string{}
			if row.lost {
				want = append(want, "lost")
			}
			h.hears(t, want...)
			for n := range 3 {
				eventually(t, "it can be written to", func() bool { return one.Publish(Purge, fmt.Sprint(10+n)) == nil })
				want = append(want, fmt.Sprint("purge ", 10+n))
				h.hears(t, want...)
			}
			if got := f.Stats().Lost; got != uint64(strings.Count(strings.Join(want, " "), "lost")) {
				t.Errorf("lost %d times", got)
			}
		})
	}
}

// A log that was cut down to nothing has lost nothing as long as it ends where the edge stands; of what comes next nobody knows whether it does follow.
func TestCutToNothing(t *testing.T) {
	s := fleettest.Start(t)
	one := open(t, s.URL, "here", nil)
	publishes(t, one, 1)
	position := s.XInfoStream(t.Context(), logKey).Val().LastGeneratedID
	s.XTrimMaxLen(t.Context(), logKey, 0)
	f, h := open(t, s.URL, "here", nil), &heard{}
	f.Follow(position, false, h)
	h.hears(t)
	publishes(t, one, 2)
	h.hears(t, "lost")
	publishes(t, one, 3)
	h.hears(t, "lost", "purge 3")
}

// An edge that is listening when all is deleted is told so without anything being published.
func TestDeletedWhileListening(t *testing.T) {
	s := fleettest.Start(t)
	h, _ := life(t, s.URL, "")
	s.FlushAll(t.Context())
	h.hears(t, "lost")
}

// An edge that begins with a cache whose place in the log it does not know may have missed anything.
func TestBeginsWithoutPosition(t *testing.T) {
	s := fleettest.Start(t)
	f, h := open(t, s.URL, "here", nil), &heard{}
	f.Follow("", false, h)
	h.hears(t, "lost")
}

// One that started while Redis was away has cached things since, which others may have purged.
func TestBeginsWhileRedisIsAway(t *testing.T) {
	s := fleettest.Start(t)
	s.Kill()
	f, h := open(t, s.URL, "here", nil), &heard{}
	f.Follow("", true, h)
	s.Again(t)
	h.hears(t, "lost")
}

// Where an edge stands is told while it moves, and not at the end alone: it may be killed.
func TestPositionIsTold(t *testing.T) {
	s := fleettest.Start(t)
	h, _ := life(t, s.URL, "")
	one := open(t, s.URL, "here", nil)
	publishes(t, one, 1)
	last := s.XInfoStream(t.Context(), logKey).Val().LastGeneratedID
	eventually(t, "it tells where it stands", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.position == last
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// What is taken for a position is one to Redis too.
func FuzzValidPosition(f *testing.F) {
	for _, s := range []string{"1795299289648-0", "0-0", "-1-0", "1-", "01-0", "1-0 ", "+1-0", "18446744073709551616-0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		ms, seq, _ := strings.Cut(s, "-")
		number := func(s string) bool {
			return s != "" && strings.Trim(s, "0123456789") == "" && (s == "0" || s[0] != '0')
		}
		if ValidPosition(s) && !(number(ms) && number(seq)) {
			t.Fatalf("ValidPosition(%q)", s)
		}
	})
}
