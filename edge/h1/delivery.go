package h1

import (
	"errors"
	"net"
	"sync/atomic"
	"time"
)

// A delivery records which bytes the client has to take, and by when. A write deadline does not
// show whether the client takes them, because the kernel accepts megabytes that no client reads.
type delivery struct {
	sent    int64     // bytes of all responses
	due     time.Time // by when the client has to have taken them
	debt    debt
	shown   atomic.Int64              // due of the server's last response, for other goroutines
	unacked func(conn net.Conn) int64 // returns the bytes that the client has not acknowledged
}

// A debt is the number of bytes that the client must have taken by a deadline.
type debt struct {
	upTo int64 // counted from the first response of the connection
	due  time.Time
}

var errOverdue = errors.New("the client has not taken its responses in time")

// add records that n bytes were sent, to be taken by d.due. The deadline of an earlier debt stays.
func (d *delivery) add(n int) {
	d.sent += int64(n)
	if d.debt.upTo == 0 {
		d.debt = debt{d.sent, d.due}
	}
}

// expectBy sets the deadline for a part of the server's response.
func (d *delivery) expectBy(due time.Time) {
	d.due = due
	d.shown.Store(due.UnixMilli())
}

// overdue reports whether the client has left written bytes unread for too long.
func (d *delivery) overdue(unread int64, now time.Time) bool {
	taken := d.sent - unread
	if taken >= d.debt.upTo {
		d.debt = debt{}
		if taken < d.sent {
			d.debt = debt{d.sent, d.due}
		}
	}
	return taken < d.debt.upTo && !now.Before(d.debt.due)
}

// Unread returns the number of written bytes that the client's system has not acknowledged.
func (c *Conn) Unread() int64 { return c.delivery.unacked(c.Conn) }

// Due returns the deadline for the client to take the server's last response.
func (c *Conn) Due() time.Time { return time.UnixMilli(c.delivery.shown.Load()) }

// overdue reports whether the client has left written bytes unread for too long.
func (c *Conn) overdue(now time.Time) bool { return c.delivery.overdue(c.Unread(), now) }

// Abort counts and cuts off a client that has not taken its responses in time.
func (c *Conn) Abort() {
	if c.limits.Overdue != nil {
		c.limits.Overdue.Add(1)
	}
	c.Cut()
}

// Cut closes the connection at once. Bytes that the client has not received are lost.
func (c *Conn) Cut() {
	beneath := socket(c.Conn)
	if tcp, ok := beneath.(interface{ SetLinger(seconds int) error }); ok {
		tcp.SetLinger(0)
	}
	beneath.Close()
}
