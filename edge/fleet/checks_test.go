package fleet

import (
	"testing"
	"time"
)

// A check that nobody waits for any more is not sent: the edge has counted its call itself.
func TestLateChecks(t *testing.T) {
	t.Parallel()
	now := time.Now()
	late, live := &check{deadline: now}, &check{deadline: now.Add(time.Second)}
	c := &checks{waiting: []*check{late, live, late}, sending: 1}
	if got := c.next(now); len(got) != 1 || got[0] != live {
		t.Errorf("the next batch has %d checks, want the live one", len(got))
	}
	c.waiting = []*check{late}
	if got := c.next(now); len(got) != 0 || c.sending != 0 || len(c.waiting) != 0 {
		t.Errorf("%d checks are sent, %d wait, and %d connections are in use, want none", len(got), len(c.waiting), c.sending)
	}
}
