//go:build linux

package faults

import (
	"net"
	"net/http"
	"time"
)

// A proxy answers bad for an origin that fails, late for an origin that takes too long, and busy
// when it is overloaded.
const bad, late, busy = http.StatusBadGateway, http.StatusGatewayTimeout, http.StatusServiceUnavailable

// answersBy returns a phase in which f answers every request to the origin.
func answersBy(f fault) func(s *scene) func() {
	return func(s *scene) func() {
		s.wire.setFault(f)
		return func() { s.wire.setFault(nil) }
	}
}

// faultPhases returns all phases: those of processes and disks first.
func faultPhases() []*phase {
	failed := []int{bad, busy, late}
	phases := append(processPhases(), []*phase{
		{name: "origin refuses connections", what: "the origin's port is closed", begin: cutWire, cold: failed},
		{name: "origin can't be reached", what: "its queue of connections is full: new connections time out",
			begin: blackhole, cold: failed, hangs: true},
		{name: "origin says nothing", what: "it accepts connections and requests, and never answers; those that hang " +
			"still hang after the fault", begin: answersBy(neverAnswers), cold: failed, hangs: true},
		{name: "origin drips", what: "heads and bodies come at a byte a second", begin: answersBy(drips), cold: failed, hangs: true},
		{name: "origin drips bodies", what: "heads come at once, bodies at a byte a second",
			begin: answersBy(dripsBody), cold: failed, hangs: true},
		{name: "origin is slow", what: "every response takes two seconds, within the deadline", begin: slowOrigin,
			cold: failed, harmless: true},
		{name: "origin resets half-way", what: "half of each body, then a RST", begin: answersBy(halves), cold: failed},
		{name: "Content-Length too long", what: "each body ends 100 bytes before its length", begin: answersBy(tooLong), cold: failed},
		{name: "Content-Length too short", what: "each body is ten bytes longer than its length, on the edge's own paths",
			begin: answersBy(tooShort), cold: failed, own: true},
		{name: "origin sends garbage", what: "bytes that are not HTTP", begin: answersBy(garbage), cold: failed},
		{name: "origin answers 500", what: "every response is a 500 with a page", begin: answersBy(status(500)), cold: append(failed, 500)},
		{name: "origin answers 503", what: "every response is a 503 with Retry-After",
			begin: answersBy(status(503, "Retry-After", "60")), cold: failed},
		{name: "origin answers 429", what: "every response is a 429",
			begin: answersBy(status(429, "Retry-After", "60")), cold: append(failed, 429)},
		{name: "origin denies everything", what: "404 for existing icons: another server answers in its place",
			begin: answersBy(status(404)), cold: append(failed, 404), gone: true},
		{name: "origin closes connections", what: "after each response, unannounced, at once or a moment later",
			begin: answersBy(closes), cold: failed, harmless: true},
		{name: "origin flaps", what: "healthy and faulty in turn, each for 200 ms: drops, garbage, 500",
			begin: flapping, cold: append(failed, 500), harmless: true},
		{name: "origin restarts", what: "connections are reset and refused for short times, repeatedly",
			begin: restarting, cold: failed, harmless: true},
	}...)
	return append(phases, crowdPhases()...)
}

// cutWire closes the wire.
func cutWire(s *scene) func() {
	s.wire.cut()
	return s.wire.listen
}

// slowOrigin delays the origin's responses, within the deadlines.
func slowOrigin(s *scene) func() {
	return answersBy(slow(time.Duration(byForm(2000, 400)) * time.Millisecond))(s)
}

func flapping(s *scene) func() {
	drop := onConn(func(_ *wire, c net.Conn, _ *response) { reset(c) })
	return answersBy(flaps(200*time.Millisecond, drop, garbage, status(500)))(s)
}

// restarting cuts the wire for 100 ms, three times a second.
func restarting(s *scene) func() {
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			s.wire.cut()
			wait(100 * time.Millisecond)
			s.wire.listen()
			select {
			case <-stop:
				return
			case <-time.After(250 * time.Millisecond):
			}
		}
	}()
	return func() { close(stop); <-stopped }
}
