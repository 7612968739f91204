package fleet

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/iconedge/iconedge/edge/fleet/fleettest"
	"github.com/iconedge/iconedge/edge/ratelimit"
)

// open is an edge's part in a fleet, with more patience than an operator's edge has: a check waits for other tests here.
func open(t testing.TB, url, region string, log *logged) *Fleet {
	t.Helper()
	return openPatient(t, url, region, log, 20*time.Second)
}

func openPatient(t testing.TB, url, region string, log *logged, patience time.Duration) *Fleet {
	t.Helper()
	f, err := Open(Options{URL: url, Region: region, Patience: patience, Log: log.logger(), Checked: func(time.Duration) {}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

// logged keeps what is logged.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) logger() *slog.Logger {
	if l == nil {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(l, nil))
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// eventually waits for something that is certain to come.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it never came to this: %s", what)
		}
	}
}

// Whatever Redis does, callers get a decision; the edge's own window knows what was used before; and it is said once, and once that it is over.
func TestRedisIsOfNoUse(t *testing.T) {
	for name, row := range map[string]struct {
		breaks, mends func(*testing.T, *fleettest.Server)
	}{
		"it is killed": {
			func(_ *testing.T, s *fleettest.Server) { s.Kill() },
			func(t *testing.T, s *fleettest.Server) { s.Again(t) },
		},
		"it hangs": {
			func(_ *testing.T, s *fleettest.Server) { s.Pause() },
			func(_ *testing.T, s *fleettest.Server) { s.Resume() },
		},
		"it has no memory": {
			func(t *testing.T, s *fleettest.Server) { s.ConfigSet(t.Context(), "maxmemory", "1") },
			func(t *testing.T, s *fleettest.Server) { s.ConfigSet(t.Context(), "maxmemory", "0") },
		},
		"it is a replica": {
			func(t *testing.T, s *fleettest.Server) { s.SlaveOf(t.Context(), "127.0.0.1", "1") },
			func(t *testing.T, s *fleettest.Server) { s.SlaveOf(t.Context(), "NO", "ONE") },
		},
		"it wants another password": {
			func(t *testing.T, s *fleettest.Server) {
				s.ConfigSet(t.Context(), "requirepass", "new")
				s.Do(t.Context(), "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
			},
			func(t *testing.T, s *fleettest.Server) { s.ConfigSet(t.Context(), "requirepass", "") },
		},
		"a script fails": {
			func(t *testing.T, s *fleettest.Server) {
				for _, key := range s.Keys(t.Context(), "iconedge:w:*").Val() {
					s.Set(t.Context(), key, "no list", 0)
				}
				s.Set(t.Context(), "iconedge:probe:here", "no list", 0)
			},
			func(t *testing.T, s *fleettest.Server) { s.FlushAll(t.Context()) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, log := fleettest.Start(t), &logged{}
			f := openPatient(t, s.URL, "here", log, 2*time.Second)
			w := f.Share("search", ratelimit.New(ratelimit.Limit{N: 3, Window: time.Hour}, ratelimit.Options{}))
			calls(t, w, true, true)
			row.breaks(t, s)
			calls(t, w, true, false, false)
			if got := f.Stats(); got.Up || got.Shared != 2 || got.Local != 3 {
				t.Errorf("%+v, want it down, after 2 checks there and 3 here", got)
			}
			row.mends(t, s)
			eventually(t, "it is back", func() bool { return f.Stats().Up })
			w.Allow(bob, time.Now())
			if got := f.Stats(); got.Shared != 3 {
				t.Errorf("%d checks were decided there, want 3", got.Shared)
			}
			if got := log.String(); strings.Count(got, "level=WARN") != 1 || strings.Count(got, "level=INFO") != 1 {
				t.Errorf("what was logged is\n%s", got)
			}
		})
	}
}

// calls makes calls of alice, which are let through or not.
func calls(t *testing.T, w *Window, want ...bool) {
	t.Helper()
	for i, ok := range want {
		if d := w.Allow(alice, time.Now()); d.OK != ok || ok == (d.RetryAfter > 0) {
			t.Errorf("call %d: %+v, want it let through: %v", i, d, ok)
		}
	}
}

// A Redis that can't be reached is no reason not to start.
func TestNoRedisAtStart(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := ln.Addr().String()
	ln.Close()
	log := &logged{}
	f := open(t, "redis://:secret@"+address, "here", log)
	calls(t, f.Share("search", ratelimit.New(ratelimit.Limit{N: 1, Window: time.Hour}, ratelimit.Options{})), true, false)
	if got := log.String(); strings.Count(got, "level=WARN") != 1 || !strings.Contains(got, address) || strings.Contains(got, "secret") {
		t.Errorf("what was logged is\n%s", got)
	}
}

// The password is not told, also where a server repeats it.
func TestPasswordIsNotTold(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				b := make([]byte, 4096)
				for {
					n, err := c.Read(b)
					if err != nil {
						return
					}
					said := strings.Join(strings.Fields(string(b[:n])), " ")
					io.WriteString(c, "-ERR unknown command, with args beginning with: "+said+"\r\n")
				}
			}()
		}
	}()
	log := &logged{}
	f := open(t, "redis://user:sesame-1@"+ln.Addr().String(), "here", log)
	if err := f.Publish(Purge, "{}"); err == nil || strings.Contains(err.Error(), "sesame") || !strings.Contains(err.Error(), "unknown command") {
		t.Errorf("the error is %v", err)
	}
	if got := log.String(); !strings.Contains(got, "level=WARN") || strings.Contains(got, "sesame") {
		t.Errorf("what was logged is\n%s", got)
	}
}
