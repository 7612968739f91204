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
		"": true, "-": true, "--": false, "-+-": true, "--+": true, "---+": true, "--+-": true, "--+--": false,
		"-0-": false, "--0": false, "0000": true,
	} {
		var h health
		changes := 0
		for _, v := range verdicts {
			if h.update(map[rune]outcome{'+': success, '-': failure, '0': inconclusive}[v]) {
				changes++
			}
		}
		if h.healthy() != want || changes%2 == 0 != want {
			t.Errorf("%q: well() = %v, after %d changes", verdicts, h.healthy(), changes)
		}
	}
}

func status(code string) responder {
	return responds("HTTP/1.1 " + code + " Status\r\nContent-Length: 2\r\n\r\nok")
}

// TestProbe checks the outcome of a health check for several behaviours of an origin.
func TestProbe(t *testing.T) {
	for name, row := range map[string]struct {
		answer responder
		want   outcome
	}{
		"200":         {status("200"), success},
		"404":         {status("404"), success}, // from an origin that does not know the endpoint
		"500":         {status("500"), failure},
		"503":         {status("503"), failure},
		"drops":       {drops, failure},
		"hangs":       {hangs, failure},
		"not there":   {nil, failure},
		"a long body": {responds("HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n" + strings.Repeat("x", 9999)), success},
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
				if got, err := c.probe(t.Context(), c.set.all()[0]); got != row.want {
					t.Errorf("verdict is %v (%v), want %v", got, err, row.want)
				}
				if open := c.Stats().Open; name == "200" && open != 1 {
					t.Errorf("%d connections, want one that can be reused", open)
				}
				if took := time.Since(start); took > checkTimeout {
					t.Errorf("took %v", took)
				}
				if got := c.Stats(); got.Requests != 0 || got.Failures != 0 {
					t.Errorf("Stats = %+v: checks are not requests", got)
				}
			})
		})
	}
}

// An origin that fails its health checks gets no requests until it succeeds again.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var unhealthy atomic.Bool
		var log strings.Builder
		n := network{"b": {answer: responds(ok)}, "a": {answer: func(c net.Conn, head string) bool {
			if unhealthy.Load() && strings.HasPrefix(head, "GET /healthz ") {
				return status("503")(c, head)
			}
			return responds(ok)(c, head)
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
		time.Sleep(time.Second) // from now on between the checks
		for _, step := range []struct {
			unhealthy bool
			want      string
		}{{false, "a"}, {true, "a"}, {true, "b"}, {true, "b"}, {false, "a"}, {true, "a"}, {true, "b"}} {
			unhealthy.Store(step.unhealthy)
			time.Sleep(2 * time.Second)
			if got := asked(); got != step.want {
				t.Errorf("after a check (ill: %v) %q got the request, want %q", step.unhealthy, got, step.want)
			}
			if got := c.Stats().Origins; got[0].Healthy != (step.want == "a") || !got[1].Healthy {
				t.Errorf("Stats = %+v", got)
			}
		}
		stop()
		<-done
		c.Close()
		if got := log.String(); strings.Count(got, "level=WARN") != 2 || strings.Count(got, "level=INFO") != 1 {
			t.Errorf("log: %s", got)
		}
	})
}

// A health check closes the breaker of an origin that no requests are sent to any more, because
// otherwise a fallback would be unhealthy until it is needed again. While requests still probe an
// origin, their outcome counts, because an origin that answers health checks may fail all other
// requests.
func TestCheckClosesBreaker(t *testing.T) {
	for _, asked := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var back atomic.Bool
			n := network{"b": {answer: func(c net.Conn, head string) bool {
				if back.Load() || strings.HasPrefix(head, "GET /healthz ") {
					return responds(ok)(c, head)
				}
				return false
			}}}
			c := n.client(Config{Check: 2 * time.Second}, "a|b")
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() { c.Run(ctx); close(done) }()
			for range maxFailures {
				fetch(t.Context(), c, get("/x"))
			}
			if got := c.Stats().Origins[1]; got.Healthy {
				t.Errorf("Stats = %+v of a failed origin", got)
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
			if got := c.Stats().Origins[1]; got.Healthy == asked {
				t.Errorf("requested: %v, Stats = %+v", asked, got)
			}
			stop()
			<-done
			c.Close()
		})
	}
}

func TestRunOfOneOrigin(t *testing.T) {
	s := serve(t, responds(ok))
	s.client(t, Config{}).Run(t.Context()) // returns
	if got := s.requests(); len(got) != 0 {
		t.Errorf("the only origin got %q", got)
	}
}
