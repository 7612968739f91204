package fleet

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/iconedge/iconedge/edge/fleet/fleettest"
	"github.com/iconedge/iconedge/edge/ratelimit"
	"github.com/iconedge/iconedge/internal/logtest"
)

// open opens a Fleet with a long patience, because a check waits for other tests here.
func open(t testing.TB, url, region string, log *logtest.Log) *Fleet {
	t.Helper()
	return openPatient(t, url, region, log, time.Minute)
}

func openPatient(t testing.TB, url, region string, log *logtest.Log, patience time.Duration) *Fleet {
	t.Helper()
	f, err := Open(Options{URL: url, Region: region, Timeout: patience, Log: log.Logger(), Checked: func(time.Duration) {}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

// eventually waits until the condition is true.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("still not true: %s", what)
		}
	}
}

// A password is replaced without a restart: Redis accepts both, then the file has the new one, then
// Redis accepts that one alone. New connections use it at once. A file that can't be used changes
// nothing, and no message has a password.
func TestPasswordIsReadAgain(t *testing.T) {
	t.Parallel()
	s, log := fleettest.Start(t), &logtest.Log{}
	run := func(args ...any) {
		t.Helper()
		if err := s.Do(t.Context(), args...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	run("ACL", "SETUSER", "edge", "on", ">old-secret", "~*", "+@all")
	path := filepath.Join(t.TempDir(), "password")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("old-secret\n")
	signals := make(chan os.Signal)
	cfg := Sharing{Redis: strings.Replace(s.URL, "unix://", "unix://edge@", 1), PasswordFile: path, Region: "here",
		RedisTimeout: time.Minute}
	if err := cfg.Validate(); err != nil {
		t.Fatal(err)
	}
	f, err := cfg.Connect(t.Context(), signals, log.Logger(), func(time.Duration) {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	w := f.SharedWindow("search", ratelimit.New(ratelimit.Limit{N: 3, Window: time.Hour}, ratelimit.Options{}))
	calls(t, w, true)
	for _, step := range []struct{ file, logged string }{
		{"new-secret\n", "file read again"},
		{"\n", "invalid file"},
	} {
		run("ACL", "SETUSER", "edge", ">new-secret")
		write(step.file)
		signals <- syscall.SIGHUP
		eventually(t, "the log says "+step.logged, func() bool { return strings.Contains(log.String(), step.logged) })
		run("ACL", "SETUSER", "edge", "<old-secret")
		client := f.connect()
		if err := client.Ping(t.Context()).Err(); err != nil {
			t.Errorf("a new connection after %q: %v", step.file, err)
		}
		client.Close()
		calls(t, w, true)
		run("ACL", "SETUSER", "edge", ">old-secret")
	}
	if got := f.Stats(); !got.Up || got.Local != 0 {
		t.Errorf("%+v, want it up, and all checks in Redis", got)
	}
	if strings.Contains(log.String(), "secret") {
		t.Errorf("a password is in the log: %s", log)
	}
}

// The password is in the file or in the URL.
func TestPasswordFileIsChecked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "password")
	for _, row := range []struct{ url, text, want string }{
		{"redis://a", "pass word", ""},
		{"", "password", "--redis-password-file requires --redis"},
		{"redis://:other@a", "password", "--redis must have no password beside --redis-password-file"},
		{"redis://a", "\n", "--redis-password-file: " + path + ": it must have the password on one line"},
		{"redis://a", "secret\nsecret", "on one line"},
		{"redis://a", strings.Repeat("secret", 2000), "of at most 8 kB"},
	} {
		if err := os.WriteFile(path, []byte(row.text), 0o600); err != nil {
			t.Fatal(err)
		}
		cfg := Sharing{Redis: row.url, PasswordFile: path}
		err := cfg.Validate()
		if row.want == "" && err != nil || row.want != "" &&
			(err == nil || !strings.Contains(err.Error(), row.want) || strings.Contains(err.Error(), "secret")) {
			t.Errorf("%s with %.20q: %v, want %q", row.url, row.text, err, row.want)
		}
	}
}

// Whatever Redis does, callers get a decision. The edge's own window has counted the earlier calls,
// and the failure and its end are logged once each.
func TestRedisFails(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		breaks, mends func(*testing.T, *fleettest.Server)
		answers       bool // Redis still answers, with errors
	}{
		"killed": {
			func(_ *testing.T, s *fleettest.Server) { s.Kill() },
			func(t *testing.T, s *fleettest.Server) { s.Again(t) }, false,
		},
		"hanging": {
			func(_ *testing.T, s *fleettest.Server) { s.Pause() },
			func(_ *testing.T, s *fleettest.Server) { s.Resume() }, false,
		},
		"out of memory": {
			func(t *testing.T, s *fleettest.Server) { s.ConfigSet(t.Context(), "maxmemory", "1") },
			func(t *testing.T, s *fleettest.Server) { s.ConfigSet(t.Context(), "maxmemory", "0") }, true,
		},
		"a replica": {
			func(t *testing.T, s *fleettest.Server) { s.ReplicaOf(t.Context(), "127.0.0.1", "1") },
			func(t *testing.T, s *fleettest.Server) { s.ReplicaOf(t.Context(), "NO", "ONE") }, true,
		},
		"password changed": {
			func(t *testing.T, s *fleettest.Server) {
				s.ConfigSet(t.Context(), "requirepass", "new")
				s.Do(t.Context(), "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
			},
			func(t *testing.T, s *fleettest.Server) { s.ConfigSet(t.Context(), "requirepass", "") }, false,
		},
		"script fails": {
			func(t *testing.T, s *fleettest.Server) {
				for _, key := range []string{"w:here:search:3/1h0m0s:192.0.2.1/32", "w:here:search:3/1h0m0s:192.0.2.2/32", "probe:here"} {
					s.Set(t.Context(), "iconedge:"+key, "no list", 0)
				}
			},
			func(t *testing.T, s *fleettest.Server) { s.FlushAll(t.Context()) }, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, log := fleettest.Start(t), &logtest.Log{}
			f := openPatient(t, s.URL, "here", log, 10*time.Second)
			w := f.SharedWindow("search", ratelimit.New(ratelimit.Limit{N: 3, Window: time.Hour}, ratelimit.Options{}))
			calls(t, w, true, true)
			row.breaks(t, s)
			if got := callsThrough(20, bob, w); got != 3 {
				t.Errorf("%d of 20 parallel calls got through, want 3", got)
			}
			calls(t, w, true, false, false)
			if row.answers {
				tries(t, s, 2)
			}
			if got := f.Stats(); got.Up || got.Shared != 2 || got.Local != 23 {
				t.Errorf("%+v, want it down, after 2 checks in Redis and 23 here", got)
			}
			row.mends(t, s)
			eventually(t, "redis is back, and the log says so",
				func() bool { return f.Stats().Up && strings.Contains(log.String(), "level=INFO") })
			w.Allow(alice, time.Now())
			if got := f.Stats(); got.Shared != 3 {
				t.Errorf("Redis decided %d checks, want 3", got.Shared)
			}
			if got := log.String(); strings.Count(got, "level=WARN") != 1 || strings.Count(got, "level=INFO") != 1 {
				t.Errorf("want one WARN and one INFO, logged\n%s", got)
			}
		})
	}
}

// tries waits until Redis has been probed n times, each time over a new connection.
func tries(t *testing.T, s *fleettest.Server, n int) {
	t.Helper()
	before := connections(t, s)
	eventually(t, "redis is probed", func() bool { return connections(t, s) > before+n })
}

// connections returns the number of connections made so far.
func connections(t *testing.T, s *fleettest.Server) int {
	t.Helper()
	return counted(t, s, "stats", "total_connections_received:")
}

// counted returns the number behind a name in a section of Redis' INFO; 0: the name is not there.
func counted(t *testing.T, s *fleettest.Server, section, name string) (n int) {
	t.Helper()
	_, after, _ := strings.Cut(s.Info(t.Context(), section).Val(), name)
	fmt.Sscan(after, &n)
	return n
}

// Connections are opened in advance, because a check has no time to open one if Redis is far away.
func TestConnectionsAreMadeAhead(t *testing.T) {
	s := fleettest.Start(t)
	before := connections(t, s)
	w := open(t, s.URL, "here", nil).SharedWindow("search", ratelimit.New(ratelimit.Limit{N: 1000, Window: time.Hour}, ratelimit.Options{}))
	made := connections(t, s)
	if made-before < checkConns {
		t.Errorf("the fleet was ready with %d connections, want at least %d", made-before, checkConns)
	}
	// A Redis takes 10,000 clients by default, so a thousand edges may have nine each.
	if made-before > 9 {
		t.Errorf("the fleet has %d connections; a thousand edges would have more than a Redis takes", made-before)
	}
	for range 20 {
		callsThrough(128, bob, w)
	}
	if more := connections(t, s) - made; more > 0 {
		t.Errorf("checks opened %d more connections", more)
	}
}

// calls makes calls of alice and checks which of them get through.
func calls(t *testing.T, w *Window, want ...bool) {
	t.Helper()
	for i, ok := range want {
		if d := w.Allow(alice, time.Now()); d.OK != ok || ok == (d.RetryAfter > 0) {
			t.Errorf("call %d: %+v, want it to get through: %v", i, d, ok)
		}
	}
}

// An edge starts even if Redis can't be reached.
func TestNoRedisAtStart(t *testing.T) {
	const address = "127.0.0.1:1" // nothing listens here
	log := &logtest.Log{}
	f := open(t, "redis://:secret@"+address, "here", log)
	calls(t, f.SharedWindow("search", ratelimit.New(ratelimit.Limit{N: 1, Window: time.Hour}, ratelimit.Options{})), true, false)
	if got := log.String(); strings.Count(got, "level=WARN") != 1 || !strings.Contains(got, address) || strings.Contains(got, "secret") {
		t.Errorf("want one WARN with the address and without the password, logged\n%s", got)
	}
}

// The password is neither logged nor returned, even if a server repeats it.
func TestPasswordIsHidden(t *testing.T) {
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
	log := &logtest.Log{}
	f := open(t, "redis://user:sesame-1@"+ln.Addr().String(), "here", log)
	if err := f.Publish(Purge, "{}"); err == nil || strings.Contains(err.Error(), "sesame") ||
		!strings.Contains(err.Error(), "unknown command") {
		t.Errorf("error %v, want the server's reply without the password", err)
	}
	if got := log.String(); !strings.Contains(got, "level=WARN") || strings.Contains(got, "sesame") {
		t.Errorf("want a WARN without the password, logged\n%s", got)
	}
}

// The account that docs/how-to/redis.md recommends has enough rights.
func TestLeastAccount(t *testing.T) {
	page, err := os.ReadFile("../../docs/how-to/redis.md")
	must(t, err)
	_, line, _ := strings.Cut(string(page), "ACL SETUSER edge on ")
	line, _, _ = strings.Cut(line, "\n")
	s := fleettest.Start(t)
	account := []any{"ACL", "SETUSER", "edge", "on"}
	for word := range strings.FieldsSeq(line) {
		account = append(account, word)
	}
	must(t, s.Do(t.Context(), account...).Err())
	log, h := &logtest.Log{}, &recorder{}
	f := open(t, strings.Replace(s.URL, "://", "://edge:PASSWORD@", 1), "here", log)
	f.Follow("", true, h)
	publish(t, open(t, s.URL, "there", nil), 1)
	h.expects(t, "purge 1")
	calls(t, f.SharedWindow("search", ratelimit.New(ratelimit.Limit{N: 1, Window: time.Hour}, ratelimit.Options{})), true, false)
	must(t, f.Publish(Release, "a"))
	if got := f.Stats(); !got.Up || got.Local != 0 || log.String() != "" {
		t.Errorf("%+v\n%s", got, log)
	}
}
