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
	"github.com/iconedge/iconedge/internal/logtest"
)

// recorder records the events that an edge received, in order.
type recorder struct {
	mu       sync.Mutex
	events   []string
	position string
}

func (rec *recorder) OnEvent(kind Kind, data string) { rec.add(string(kind) + " " + data) }
func (rec *recorder) OnGap()                         { rec.add("lost") }

func (rec *recorder) OnPosition(position string) {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	rec.position = position
}

func (rec *recorder) add(s string) {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	rec.events = append(rec.events, s)
}

func (rec *recorder) received() []string {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	return slices.Clone(rec.events)
}

// expects waits until these events and no others have been received.
func (rec *recorder) expects(t *testing.T, want ...string) {
	t.Helper()
	eventually(t, fmt.Sprintf("%q received", want), func() bool { return len(rec.received()) >= len(want) })
	if got := rec.received(); !slices.Equal(got, want) {
		t.Fatalf("received %q, want %q", got, want)
	}
}

// followLog follows the log from a position. The function end closes the Fleet and returns its last
// position.
func followLog(t *testing.T, url, position string) (rec *recorder, end func() string) {
	t.Helper()
	f, rec := open(t, url, "here", nil), &recorder{}
	f.Follow(position, position == "", rec)
	return rec, func() string {
		f.Close()
		return rec.position
	}
}

// publish publishes a purge for each number.
func publish(t *testing.T, f *Fleet, numbers ...int) {
	t.Helper()
	for _, n := range numbers {
		if err := f.Publish(Purge, fmt.Sprint(n)); err != nil {
			t.Fatal(err)
		}
	}
}

// All other edges, of any region, receive an edge's events in order; the edge itself does not.
func TestEventsAreReceived(t *testing.T) {
	s := fleettest.Start(t)
	one, other := open(t, s.URL, "here", nil), open(t, s.URL, "there", nil)
	mine, others := &recorder{}, &recorder{}
	one.Follow("", true, mine)
	other.Follow("", true, others)
	publish(t, one, 1, 2)
	others.expects(t, "purge 1", "purge 2")
	if err := other.Publish(Release, "abc"); err != nil {
		t.Fatal(err)
	}
	mine.expects(t, "release abc")
	if got := other.Stats(); got.Events[Purge] != (EventStats{Received: 2}) ||
		got.Events[Release] != (EventStats{Sent: 1}) || got.Lost != 0 {
		t.Errorf("%+v", got)
	}
}

// An edge that restarts from its saved position receives each missed event once and in order, even
// if there are more than one read returns.
func TestMissedEventsAreReplayed(t *testing.T) {
	s := fleettest.Start(t)
	one := open(t, s.URL, "here", nil)
	_, end := followLog(t, s.URL, "")
	publish(t, one, 0)
	position := end()
	numbers, want := []int{}, []string{}
	for n := range 2*readBatch + 7 {
		numbers, want = append(numbers, n), append(want, fmt.Sprint("purge ", n))
	}
	publish(t, one, numbers...)
	f, rec := open(t, s.URL, "here", nil), &recorder{}
	f.Follow(position, false, rec)
	eventually(t, "last event received", func() bool {
		return len(rec.received()) > 0 && slices.Equal(rec.received()[len(rec.received())-1:], want[len(want)-1:])
	})
	// The first Fleet may have been closed before it received purge 0.
	if got := rec.received(); !slices.Equal(got, want) && !slices.Equal(got, append([]string{"purge 0"}, want...)) {
		t.Errorf("received %q", got)
	}
	if got := f.Stats(); got.Events[Purge].Replayed != uint64(len(rec.received())) || got.Lost != 0 {
		t.Errorf("%+v, want all of them replayed", got)
	}
}

// An edge that could not reach Redis, or for which Redis hung, receives the missed events as soon
// as Redis answers.
func TestBackAfterAnOutage(t *testing.T) {
	t.Parallel()
	s := fleettest.Start(t)
	proxy, log := newProxy(t, strings.TrimPrefix(s.URL, "unix://")), &logtest.Log{}
	one, other, rec := open(t, s.URL, "here", nil), openPatient(t, proxy.url, "here", log, 10*time.Second), &recorder{}
	other.Follow("", true, rec)
	publish(t, one, 1)
	rec.expects(t, "purge 1")
	proxy.set(false)
	eventually(t, "the edge notices", func() bool { return !other.Stats().Up })
	publish(t, one, 2, 3)
	proxy.set(true)
	rec.expects(t, "purge 1", "purge 2", "purge 3")
	if got := other.Stats(); got.Events[Purge] != (EventStats{Received: 1, Replayed: 2}) {
		t.Errorf("%+v", got)
	}
	s.Pause()
	eventually(t, "the edge notices", func() bool { return strings.Count(log.String(), "log in redis can't be read") == 2 })
	s.Resume()
	eventually(t, "redis is back", func() bool { return strings.Count(log.String(), "event log in Redis readable again") == 2 })
	publish(t, one, 4)
	rec.expects(t, "purge 1", "purge 2", "purge 3", "purge 4")
}

// A proxy is a relay to a Redis. The test can cut it.
type proxy struct {
	url   string
	mu    sync.Mutex
	open  bool
	conns []net.Conn
}

func newProxy(t *testing.T, to string) *proxy {
	path := filepath.Join(filepath.Dir(to), "proxy")
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	w := &proxy{url: "unix://" + path, open: true}
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

func (w *proxy) relay(c net.Conn, to string) {
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

func (w *proxy) set(open bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open = open
	for _, c := range w.conns {
		c.Close()
	}
	w.conns = nil
}

// If the log does not hold all missed events, Lost is called once, and the edge receives the events
// published afterwards.
func TestLogDoesNotReachBack(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		lost   bool
		change func(t *testing.T, s *fleettest.Server, one *Fleet)
	}{
		"nothing was missed": {false, func(*testing.T, *fleettest.Server, *Fleet) {}},
		"the log was cut": {true, func(t *testing.T, s *fleettest.Server, one *Fleet) {
			publish(t, one, 2, 3)
			s.XTrimMaxLen(t.Context(), logKey, 1)
		}},
		"the log was deleted": {true, func(t *testing.T, s *fleettest.Server, _ *Fleet) { s.FlushAll(t.Context()) }},
		"the log was deleted and written again": {true, func(t *testing.T, s *fleettest.Server, one *Fleet) {
			publish(t, one, 2)
			s.FlushAll(t.Context())
			publish(t, one, 3)
		}},
		"redis restarted empty": {true, func(t *testing.T, s *fleettest.Server, _ *Fleet) { s.Kill(); s.Again(t) }},
		"redis restored an older copy and was written again": {true, func(t *testing.T, s *fleettest.Server, one *Fleet) {
			s.Kill() // the copy was saved before the edge received its last event
			s.Again(t)
			eventually(t, "redis accepts an event", func() bool { return one.Publish(Purge, "3") == nil })
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := fleettest.Start(t)
			one := open(t, s.URL, "here", nil)
			rec, end := followLog(t, s.URL, "")
			if strings.Contains(name, "copy") {
				must(t, s.Save(t.Context()).Err())
			}
			publish(t, one, 1)
			rec.expects(t, "purge 1")
			position := end()
			row.change(t, s, one)
			f, rec := open(t, s.URL, "here", nil), &recorder{}
			f.Follow(position, false, rec)
			want := []string{}
			if row.lost {
				want = append(want, "lost")
			}
			rec.expects(t, want...)
			for n := range 3 {
				eventually(t, "redis accepts an event", func() bool { return one.Publish(Purge, fmt.Sprint(10+n)) == nil })
				want = append(want, fmt.Sprint("purge ", 10+n))
				rec.expects(t, want...)
			}
			if got := f.Stats().Lost; got != uint64(strings.Count(strings.Join(want, " "), "lost")) {
				t.Errorf("Stats().Lost is %d", got)
			}
		})
	}
}

// A log that was cut to nothing has lost no event while its last ID is the edge's position. Once a
// new event is published, the edge can't know whether others came before it.
func TestCutToNothing(t *testing.T) {
	s := fleettest.Start(t)
	one := open(t, s.URL, "here", nil)
	publish(t, one, 1)
	position := s.XInfoStream(t.Context(), logKey).Val().LastGeneratedID
	s.XTrimMaxLen(t.Context(), logKey, 0)
	f, rec := open(t, s.URL, "here", nil), &recorder{}
	f.Follow(position, false, rec)
	rec.expects(t)
	publish(t, one, 2)
	rec.expects(t, "lost")
	publish(t, one, 3)
	rec.expects(t, "lost", "purge 3")
}

// An edge that is reading when the log is deleted notices without a new event.
func TestDeletedWhileListening(t *testing.T) {
	t.Parallel()
	s := fleettest.Start(t)
	rec, _ := followLog(t, s.URL, "")
	s.FlushAll(t.Context())
	rec.expects(t, "lost")
}

// An edge that starts with a cache but without a position may have missed any event.
func TestBeginsWithoutPosition(t *testing.T) {
	s := fleettest.Start(t)
	f, rec := open(t, s.URL, "here", nil), &recorder{}
	f.Follow("", false, rec)
	rec.expects(t, "lost")
}

// An edge that started while Redis was down may have cached responses that other edges purged.
func TestBeginsWhileRedisIsAway(t *testing.T) {
	s := fleettest.Start(t)
	s.Kill()
	f, rec := open(t, s.URL, "here", nil), &recorder{}
	f.Follow("", true, rec)
	s.Again(t)
	rec.expects(t, "lost")
}

// The position is reported while it moves, not only at the end, because the process may be killed.
func TestPositionIsReported(t *testing.T) {
	t.Parallel()
	s := fleettest.Start(t)
	rec, _ := followLog(t, s.URL, "")
	one := open(t, s.URL, "here", nil)
	publish(t, one, 1)
	last := s.XInfoStream(t.Context(), logKey).Val().LastGeneratedID
	eventually(t, "the position is reported", func() bool {
		rec.mu.Lock()
		defer rec.mu.Unlock()
		return rec.position == last
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Every accepted position is valid for Redis.
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

// An edge that gets many events one after the other reads several of them at a time, so that a
// thousand edges don't occupy Redis with a read of each for each event.
func TestEventsAreGathered(t *testing.T) {
	t.Parallel()
	s := fleettest.Start(t)
	one := open(t, s.URL, "here", nil)
	rec, end := followLog(t, s.URL, "")
	defer end()
	const events = 200
	began, want := time.Now(), []string{}
	before := reads(t, s)
	for n := range events {
		publish(t, one, n)
		want = append(want, fmt.Sprint("purge ", n))
	}
	rec.expects(t, want...)
	most := 3 + int(time.Since(began)/gatherTime)
	if n := reads(t, s) - before; n > most {
		t.Errorf("%d reads for %d events in %v, want at most %d", n, events, time.Since(began), most)
	}
}

// reads returns the number of reads of the log so far.
func reads(t *testing.T, s *fleettest.Server) int {
	t.Helper()
	return counted(t, s, "commandstats", "cmdstat_xread:calls=")
}

// The delays between attempts grow and differ, and none is longer than the second within which an
// edge is back.
func TestRetryAfter(t *testing.T) {
	for _, row := range []struct {
		failures int
		random   float64
		want     time.Duration
	}{
		{0, 0, 100 * time.Millisecond},
		{0, 0.5, 200 * time.Millisecond},
		{1, 0.5, 400 * time.Millisecond},
		{2, 0.5, 600 * time.Millisecond},
		{1000, 1, 900 * time.Millisecond},
	} {
		if got := retryAfter(row.failures, row.random); got != row.want {
			t.Errorf("after %d failures, with %v: %v, want %v", row.failures, row.random, got, row.want)
		}
	}
}
