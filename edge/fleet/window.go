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

// windowScript needs one round trip; only a server that does not know the script yet gets its text.
var windowScript = redis.NewScript(windowSource)

// A Window is a limit that the edges of a region share. It is exact as long as Redis answers.
type Window struct {
	fleet  *Fleet
	own    *ratelimit.Limiter
	prefix string
	args   []any
	script *redis.Script
}

// expiryMargin is added to the lifetime of a window's key, because Redis expires keys by a clock of
// milliseconds.
const expiryMargin = time.Second

// SharedWindow returns a window shared in Redis with the limit of own, which must not be off. The
// name is a class or PLAN:CLASS.
func (f *Fleet) SharedWindow(name string, own *ratelimit.Limiter) *Window {
	l := own.Limit()
	return &Window{
		fleet: f, own: own, prefix: "iconedge:w:" + f.Region + ":" + name + ":" + l.String() + ":",
		args:   []any{l.N, l.Window.Microseconds(), (l.Window + expiryMargin).Milliseconds()},
		script: windowScript,
	}
}

// Allow counts a call of a client as ratelimit.Limiter does. The edge's own window uses now; Redis
// uses the server's clock.
func (w *Window) Allow(client netip.Addr, now time.Time) ratelimit.Decision {
	return w.decide(ratelimit.ClientKey(client).String(), func() ratelimit.Decision { return w.own.Allow(client, now) })
}

// AllowKey is Allow for a client identified by something other than its address.
func (w *Window) AllowKey(client [16]byte, now time.Time) ratelimit.Decision {
	return w.decide(hex.EncodeToString(client[:]), func() ratelimit.Decision { return w.own.AllowKey(client, now) })
}

// decide lets Redis decide, or the edge's own window if Redis is down. A call that Redis lets
// through counts in the own window too, so that it has counted the earlier calls when Redis fails.
func (w *Window) decide(client string, own func() ratelimit.Decision) ratelimit.Decision {
	f := w.fleet
	if !f.down.Load() {
		calls, began := f.calls.Load(), time.Now()
		d, err := w.check(calls, client, f.Timeout)
		if err == nil {
			f.counts.shared.Add(1)
			f.Checked(time.Since(began))
			if d.OK {
				own()
			}
			return d
		}
		f.markDown(calls, err)
	}
	f.counts.local.Add(1)
	return own()
}

// check makes one call in Redis.
func (w *Window) check(calls *checks, client string, patience time.Duration) (d ratelimit.Decision, err error) {
	ctx, cancel := context.WithTimeout(w.fleet.ctx, patience)
	defer cancel()
	reply, err := calls.run(ctx, &check{script: w.script, key: w.prefix + client, args: w.args})
	if err != nil {
		return d, err
	}
	if len(reply) != 3 {
		return d, errors.New("checking a limit: redis did not return the three numbers of the script")
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
