package bodies

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
)

func TestRoom(t *testing.T) {
	r := &Room{Max: 300 << 10}
	var one, two atomic.Int64
	for _, row := range []struct {
		name   string
		held   *atomic.Int64
		length int64
		err    error
		used   int64
	}{
		{"a short one", &one, Free, nil, 0},
		{"it grows", &one, 100 << 10, nil, 100 << 10},
		{"what it has it need not take", &one, 80 << 10, nil, 100 << 10},
		{"another", &two, 200 << 10, nil, 300 << 10},
		{"there is no more", &one, 101 << 10, ErrCrowded, 300 << 10},
		{"but for short ones", new(atomic.Int64), Free, nil, 300 << 10},
	} {
		if err := r.Take(row.held, row.length); !errors.Is(err, row.err) || r.Used() != row.used {
			t.Errorf("%s: %v, %d bytes are taken; want %v, %d", row.name, err, r.Used(), row.err, row.used)
		}
	}
	for _, held := range []*atomic.Int64{&one, &one, &two} {
		r.Give(held)
	}
	if r.Used() != 0 {
		t.Errorf("%d bytes are taken when all is given back", r.Used())
	}
	var none *Room
	if err := none.Take(&one, 1<<40); err != nil {
		t.Errorf("where there is no bound: %v", err)
	}
	none.Give(&one)
}

// However many come at once, no more is taken than there is, and all comes back.
func TestRoomOfMany(t *testing.T) {
	r := &Room{Max: 10 << 20}
	var all sync.WaitGroup
	var now atomic.Int64
	for range 50 {
		all.Go(func() {
			for range 200 {
				var held atomic.Int64
				if r.Take(&held, 1<<20) == nil {
					if n := now.Add(1); n > 10 {
						t.Errorf("%d have room for one MiB each", n)
					}
					now.Add(-1)
				}
				r.Give(&held)
			}
		})
	}
	all.Wait()
	if r.Used() != 0 {
		t.Errorf("%d bytes are taken when all is given back", r.Used())
	}
}
