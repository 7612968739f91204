package fleet

import (
	"context"
	_ "embed" // window.lua
	"encoding/hex"
	"errors"
	"net/netip"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/iconedge/iconedge/edge/ratelimit"
)

//go:embed window.lua
var windowSource string

// windowScript is one round trip: a server that does not know it yet is sent it whole, once.
var windowScript = redis.NewScript(windowSource)

// A Window is a limit that the edges of a region share: exact, as long as Redis answers.
type Window struct {
	fleet  *Fleet
	own    *ratelimit.Limiter
	prefix string
	args   []any
	script *redis.Script
}

// lag is for how much longer than it counts a window is kept: Redis lets keys go by a clock of milliseconds.
const lag = time.Second

// Share makes a window of what own counts, whose limit is not off, under the name of a class or PLAN:CLASS.
func (f *Fleet) Share(name string, own *ratelimit.Limiter) *Window {
	l := own.Limit()
	return &Window{
		fleet: f, own: own, prefix: "iconedge:w:" + f.Region + ":" + name + ":" + l.String() + ":",
		args:   []any{l.N, l.Window.Microseconds(), (l.Window + lag).Milliseconds()},
		script: windowScript,
	}
}

// Allow counts a call of a client, as ratelimit.Limiter does: at now by the edge's own window, by the server's clock in Redis.
func (w *Window) Allow(client netip.Addr, now time.Time) ratelimit.Decision {
	return w.decide(ratelimit.ClientKey(client).String(), func() ratelimit.Decision { return w.own.Allow(client, now) })
}

// AllowKey is Allow for a client that is known by something other than its address.
func (w *Window) AllowKey(client [16]byte, now time.Time) ratelimit.Decision {
	return w.decide(hex.EncodeToString(client[:]), func() ratelimit.Decision { return w.own.AllowKey(client, now) })
}

// decide asks Redis, and the edge's own window where there is none. What is let through counts here too, so that what has been used is known
// when Redis goes away.
func (w *Window) decide(client string, own func() ratelimit.Decision) ratelimit.Decision {
	f := w.fleet
	if !f.away.Load() {
		calls, began := f.calls.Load(), time.Now()
		d, err := w.check(calls, client, f.Patience)
		if err == nil {
			f.counts.shared.Add(1)
			f.Checked(time.Since(began))
			if d.OK {
				own()
			}
			return d
		}
		f.lose(calls, err)
	}
	f.counts.local.Add(1)
	return own()
}

// check asks Redis.
func (w *Window) check(calls *redis.Client, client string, patience time.Duration) (d ratelimit.Decision, err error) {
	ctx, cancel := context.WithTimeout(w.fleet.life, patience)
	defer cancel()
	reply, err := w.script.Run(ctx, calls, []string{w.prefix + client}, w.args...).Int64Slice()
	if err != nil {
		return d, err
	}
	if len(reply) != 3 {
		return d, errors.New("checking a limit: what Redis answered is not what the script returns")
	}
	return decision(reply[0] == 1, int(reply[1]), time.Duration(reply[2])*time.Microsecond), nil
}

func decision(ok bool, left int, reset time.Duration) ratelimit.Decision {
	d := ratelimit.Decision{OK: ok, Remaining: left, Reset: reset}
	if !ok {
		d.RetryAfter = (reset + time.Second - 1).Truncate(time.Second)
	}
	return d
}
