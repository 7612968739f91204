package wire

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// An exchange that lasts for too long closes its connection, at its own limit, whatever limits the
// exchanges before had. An idle connection has none.
func TestLimit(t *testing.T) {
	for _, row := range []struct {
		why    string
		limits []time.Duration // of exchanges that take a second each
		lasts  time.Duration   // the last one
		inTime bool
	}{
		{"in time", []time.Duration{10 * time.Second}, 9 * time.Second, true},
		{"too late", []time.Duration{10 * time.Second}, 11 * time.Second, false},
		{"in time, after others", []time.Duration{10 * time.Second, 10 * time.Second, 10 * time.Second}, 9 * time.Second, true},
		{"too late, after others", []time.Duration{10 * time.Second, 10 * time.Second, 10 * time.Second}, 11 * time.Second, false},
		{"a shorter limit", []time.Duration{time.Minute, 3 * time.Second}, 4 * time.Second, false},
		{"a longer limit", []time.Duration{3 * time.Second, time.Minute}, 50 * time.Second, true},
		{"a longer limit, too late", []time.Duration{3 * time.Second, time.Minute}, 61 * time.Second, false},
	} {
		t.Run(row.why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				near, far := net.Pipe()
				c := NewConn(near, pipe{near}, 0)
				for i, limit := range row.limits {
					c.Begin(time.Now().Add(limit))
					if i < len(row.limits)-1 {
						time.Sleep(time.Second)
						if !c.End() {
							t.Fatal("an earlier exchange was too late")
						}
						time.Sleep(20 * time.Second)
					}
				}
				time.Sleep(row.lasts)
				synctest.Wait()
				open := make(chan bool)
				go func() { _, err := far.Write([]byte("x")); open <- err == nil }()
				if row.inTime {
					c.Read(make([]byte, 1))
				}
				if inTime, isOpen := c.End(), <-open; inTime != row.inTime || isOpen != row.inTime {
					t.Errorf("in time: %v, open: %v; want %v", inTime, isOpen, row.inTime)
				}
				c.Close()
			})
		})
	}
}

// A connection ends with the context that it follows, and with no earlier one.
func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		c := NewConn(near, pipe{near}, 0)
		first, end := context.WithCancel(t.Context())
		second, endSecond := context.WithCancel(t.Context())
		for _, ctx := range []context.Context{first, first, second} {
			if !c.Follow(ctx) {
				t.Fatal("the contexts have not ended")
			}
		}
		end()
		synctest.Wait()
		go far.Write([]byte("x"))
		if _, err := c.Read(make([]byte, 1)); err != nil {
			t.Errorf("it ended with an earlier context: %v", err)
		}
		endSecond()
		synctest.Wait()
		if _, err := c.Read(make([]byte, 1)); err == nil {
			t.Error("it has not ended with its context")
		}
		if c.Unfollow() {
			t.Error("its context has ended")
		}
		c.Close()
	})
}
