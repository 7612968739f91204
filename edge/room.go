package edge

import (
	"cmp"
	"container/heap"
	"net/netip"
	"slices"
	"time"
)

// A holding is a connection that may be closed to make room for another.
type holding[C any] struct {
	conn    C
	client  netip.Prefix // zero: it is exempt, being a trusted proxy's or an edge's behind this one
	since   time.Time    // it rests, or is slow
	resting bool         // no request is in flight on it
}

// A holder is a client and its holdings, those first that are to be closed first.
type holder[C any] struct {
	client netip.Prefix
	held   int // connections in all; of the exempt -1, so that they come last
	list   []holding[C]
}

// manyOf is how many of so many connections make a client one that holds many.
func manyOf(all int) int { return max(leastMany, all/roomPart) }

const leastMany = 16 // more than a browser has

// least is how many of so many connections another client must hold to lose one to this one.
func (n perClient) least(client netip.Prefix, all int) int {
	held := n[client]
	if held < manyOf(all) {
		return held
	}
	return held + held/8 + 1
}

// foremost reports whether a client holds many of so many connections, and nobody clearly more: no room is made for another of its own.
func (n perClient) foremost(client netip.Prefix, all int) bool {
	least := n.least(client, all)
	if least == n[client] {
		return false
	}
	for _, held := range n {
		if held >= least {
			return false
		}
	}
	return true
}

// choose is which connections are closed to make room for one more of newcomer: always one of the client that holds most then, a resting one
// if it has any, else a slow one, the oldest first; at most a part of all, at a time. A client never takes the place of one that holds fewer
// than itself; where it holds many, only of one that holds clearly more, and not its own: two that hold about as many would take places from
// each other without end, and each time costs a look at all. Those that are exempt lose connections only where nobody else has any to lose.
func choose[C any](list []holding[C], of perClient, newcomer netip.Prefix, all int) []holding[C] {
	queue := holdersOf(list, of)
	heap.Init(&queue)
	least := of.least(newcomer, all)
	var chosen []holding[C]
	for len(queue) > 0 && len(chosen) < all/roomPart+1 {
		h := queue[0]
		if h.client.IsValid() && h.held < least && (h.client != newcomer || least > of[newcomer]) {
			heap.Pop(&queue)
			continue
		}
		chosen = append(chosen, h.list[0])
		if h.client.IsValid() {
			h.held--
		}
		if h.list = h.list[1:]; len(h.list) > 0 {
			heap.Fix(&queue, 0)
		} else {
			heap.Pop(&queue)
		}
	}
	return chosen
}

// holdersOf groups holdings by client.
func holdersOf[C any](list []holding[C], of perClient) holders[C] {
	by := map[netip.Prefix]*holder[C]{}
	var all holders[C]
	for _, one := range list {
		h := by[one.client]
		if h == nil {
			h = &holder[C]{client: one.client, held: -1}
			if one.client.IsValid() {
				h.held = of[one.client]
			}
			by[one.client], all = h, append(all, h)
		}
		h.list = append(h.list, one)
	}
	for _, h := range all {
		slices.SortFunc(h.list, sooner)
	}
	return all
}

// sooner orders holdings: resting ones before slow ones, and then by age.
func sooner[C any](a, b holding[C]) int {
	if a.resting != b.resting {
		if a.resting {
			return -1
		}
		return 1
	}
	return a.since.Compare(b.since)
}

// holders are a heap with the client on top that holds most.
type holders[C any] []*holder[C]

func (q holders[C]) Len() int { return len(q) }

func (q holders[C]) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(q[j].held, q[i].held), sooner(q[i].list[0], q[j].list[0])) < 0
}

func (q holders[C]) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

func (q *holders[C]) Push(h any) { *q = append(*q, h.(*holder[C])) }

func (q *holders[C]) Pop() any {
	last := len(*q) - 1
	h := (*q)[last]
	*q = (*q)[:last]
	return h
}
