package netloop

import "time"

const (
	wheelStep  = 250 * time.Millisecond // how late a timer may be
	wheelSlots = 256
)

// A wheel holds connections by the time at which their timer has to be looked at. A timer that is
// moved to a later time stays where it is: when its slot comes, the connection goes to a later one.
// So moving a timer costs a store.
type wheel struct {
	start time.Time // of tick 0
	tick  int64     // of the last slot that was taken
	slots [wheelSlots]*Conn
	held  int
}

// A timed is the place of a connection in a wheel.
type timed struct {
	next, prev *Conn
	tick       int64 // of its slot; 0: in none
}

// tickOf returns the first tick that is not before at.
func (w *wheel) tickOf(at time.Time) int64 {
	return max(1, int64((at.Sub(w.start)+wheelStep-1)/wheelStep))
}

// until returns the time from now to a tick.
func (w *wheel) until(tick int64) time.Duration {
	return time.Until(w.start.Add(time.Duration(tick) * wheelStep))
}

// insert puts c into the slot of a tick, or into the last slot that the wheel has.
func (w *wheel) insert(c *Conn, tick int64) {
	w.remove(c)
	tick = min(max(tick, w.tick+1), w.tick+wheelSlots-1)
	at := &w.slots[tick%wheelSlots]
	c.timed = timed{next: *at, tick: tick}
	if *at != nil {
		(*at).timed.prev = c
	}
	*at = c
	w.held++
	c.scheduled.Store(tick)
}

// remove takes c out of its slot.
func (w *wheel) remove(c *Conn) {
	t := &c.timed
	if t.tick == 0 {
		return
	}
	if t.prev != nil {
		t.prev.timed.next = t.next
	} else {
		w.slots[t.tick%wheelSlots] = t.next
	}
	if t.next != nil {
		t.next.timed.prev = t.prev
	}
	*t = timed{}
	w.held--
	c.scheduled.Store(0)
}

// advance takes the slots up to now, appends the connections whose timer has expired, and puts the
// others into the slots of their timers.
func (w *wheel) advance(now time.Time, expired []*Conn) []*Conn {
	last := int64(now.Sub(w.start) / wheelStep)
	if w.held == 0 {
		w.tick = max(w.tick, last)
	}
	for w.tick < last {
		w.tick++
		for c := w.slots[w.tick%wheelSlots]; c != nil; c = w.slots[w.tick%wheelSlots] {
			w.remove(c)
			switch due := c.due.Load(); {
			case due == 0:
			case due <= w.tick:
				expired = append(expired, c)
			default:
				w.insert(c, due)
			}
		}
	}
	return expired
}

// next returns the tick of the first slot with a connection.
func (w *wheel) next() (tick int64, ok bool) {
	if w.held == 0 {
		return 0, false
	}
	for tick = w.tick + 1; w.slots[tick%wheelSlots] == nil; tick++ {
	}
	return tick, true
}
