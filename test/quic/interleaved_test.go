package quic

import (
	"strings"
	"sync"
	"testing"

	"github.com/quic-go/quic-go"
)

// The heads of requests that arrive in pieces, in turns, do not wait for each other: the bytes
// that have come make room for the rest, though together they are more than the edge takes unread.
func TestInterleavedHeads(t *testing.T) {
	e := startEdge(t)
	for size, requests := range map[int]int{7_500: 40, 15_000: 20} {
		a, err := newAttacker(t.Context(), e, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer a.leave()
		head := request("GET", "/hot", "x: "+strings.Repeat("y", size))
		var begun, all sync.WaitGroup
		for range requests {
			s, err := a.conn.OpenStreamSync(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			begun.Add(1)
			all.Go(func() {
				var first sync.Once
				defer first.Do(begun.Done)
				if err := writeInTurns(s, head, begun.Wait, func() { first.Do(begun.Done) }); err != nil {
					t.Errorf("%d bytes: %v", size, err)
					return
				}
				if got := read(s); got != ok {
					t.Errorf("%d bytes: %s", size, got)
				}
			})
		}
		all.Wait()
	}
}

// writeInTurns writes most of a head, and the rest when the others have written as much.
func writeInTurns(s *quic.Stream, head []byte, others, done func()) error {
	most := len(head) - 1000
	if _, err := s.Write(head[:most]); err != nil {
		return err
	}
	done()
	others()
	if _, err := s.Write(head[most:]); err != nil {
		return err
	}
	return s.Close()
}
