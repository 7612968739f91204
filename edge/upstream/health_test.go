package upstream

import (
	"context"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestHealth(t *testing.T) {
	for verdicts, want := range map[string]bool{
		"": true, "-": true, "--": false, "-+-": true, "--+": true, "---+": true, "--+-": true, "--+--": false, "-0-": false, "--0": false, "0000": true,
	} {
		var h health
		changes := 0
		for _, v := range verdicts {
			if h.note(map[rune]verdict{'+': success, '-': failure, '0': nothing}[v]) {
				changes++
			}
		}
		if h.well() != want || changes%2 == 0 != want {
			t.Errorf("%q: well is %v, after %d changes", verdicts, h.well(), changes)
		}
	}
}

func status(code string) answerer {
	return says("HTTP/1.1 " + code + " Status\r\nContent-Length: 2\r\n\r\nok")
}

// What a check finds, by what the origin does with it.
func TestProbe(t *testing.T) {
	for name, row := range map[string]struct {
		answer answerer
		want   verdict
	}{
		"200":         {status("200"), success},
		"404":         {status("404"), success}, // an origin that is not ours
		"500":         {status("500"), failure},
		"503":         {status("503"), failure},
		"drops":       {drops, failure},
		"hangs":       {hangs, failure},
		"not there":   {nil, failure},
		"a long body": {says("HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n" + strings.Repeat("x", 9999)), success},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := network{}
				if row.answer != nil {
					n["a"] = &server{answer: row.answer}
				}
				c := n.client(Config{}, "a|b")
				defer c.Close()
				start := time.Now()
				if got, err := c.probe(t.Context(), c.origins[0]); got != row.want {
					t.Errorf("verdict is %v (%v), want %v", got, err, row.want)
				}
				if open := c.Stats().Open; name == "200" && open != 1 {
					t.Errorf("%d connections, want one that can be used again", open)
				}
				if took := time.Since(start); took > checkTimeout {
					t.Errorf("it took %v", took)
				}
				if got := c.Stats(); got.Requests != 0 || got.Failures != 0 {
					t.Errorf("Stats = %+v: checks are not requests", got)
				}
			})
		})
	}
}

// An origin that fails its checks is passed over until it answers again.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ill atomic.Bool
		var log strings.Builder
		n := network{"b": {answer: says(ok)}, "a": {answer: func(c net.Conn, head string) bool {
			if ill.Load() && strings.HasPrefix(head, "GET /healthz ") {
				return status("503")(c, head)
			}
			return says(ok)(c, head)
		}}}
		c := n.client(Config{Check: 2 * time.Second, Log: slog.New(slog.NewTextHandler(&log, nil))}, "a|b")
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { c.Run(ctx); close(done) }()
		asked := func() (hosts string) {
			if _, err := fetch(t.Context(), c, get("/x")); err != nil {
				t.Error(err)
			}
			for _, host := range []string{"a", "b"} {
				if seen := n[host].requests(); len(seen) > 0 && strings.HasPrefix(seen[len(seen)-1], "GET /x ") {
					hosts += host
				}
			}
			return hosts
		}
		time.Sleep(time.Second) // between the checks from now on
		for _, step := range []struct {
			ill  bool
			want string
		}{{false, "a"}, {true, "a"}, {true, "b"}, {true, "b"}, {false, "a"}, {true, "a"}, {true, "b"}} {
			ill.Store(step.ill)
			time.Sleep(2 * time.Second)
			if got := asked(); got != step.want {
				t.Errorf("after a check (ill: %v) %q is asked, want %q", step.ill, got, step.want)
			}
			if got := c.Stats().Origins; got[0].Well != (step.want == "a") || !got[1].Well {
				t.Errorf("Stats = %+v", got)
			}
		}
		stop()
		<-done
		c.Close()
		if got := log.String(); strings.Count(got, "level=WARN") != 2 || strings.Count(got, "level=INFO") != 1 {
			t.Errorf("log is %s", got)
		}
	})
}

// An origin that was given up for failing, and that no request is sent to any more, is well again when a check finds it so: else a fallback would be
// called ill until it is needed once more. What requests still try is judged by them: who answers checks may fail all else.
func TestCheckClosesBreaker(t *testing.T) {
	for _, asked := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var back atomic.Bool
			n := network{"b": {answer: func(c net.Conn, head string) bool {
				if back.Load() || strings.HasPrefix(head, "GET /healthz ") {
					return says(ok)(c, head)
				}
				return false
			}}}
			c := n.client(Config{Check: 2 * time.Second}, "a|b")
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() { c.Run(ctx); close(done) }()
			for range mostFailures {
				fetch(t.Context(), c, get("/x"))
			}
			if got := c.Stats().Origins[1]; got.Well {
				t.Errorf("Stats = %+v of an origin that has failed", got)
			}
			if back.Store(!asked); asked {
				for range 100 {
					time.Sleep(100 * time.Millisecond)
					fetch(t.Context(), c, get("/x"))
				}
			}
			time.Sleep(time.Second)
			if !asked {
				time.Sleep(9 * time.Second)
			}
			if got := c.Stats().Origins[1]; got.Well == asked {
				t.Errorf("asked: %v, Stats = %+v", asked, got)
			}
			stop()
			<-done
			c.Close()
		})
	}
}

func TestRunOfOneOrigin(t *testing.T) {
	s := serve(t, says(ok))
	s.client(t, Config{}).Run(t.Context()) // returns
	if got := s.requests(); len(got) != 0 {
		t.Errorf("it was asked %q", got)
	}
}
