package listen

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
	client  netip.Prefix // zero: exempt, as a trusted proxy or an edge behind this one
	since   time.Time    // start of the idle or slow period
	resting bool         // no request is in flight on it
}

// A holder is a client and its holdings, in the order in which they are closed.
type holder[C any] struct {
	client netip.Prefix
	held   int // connections in all; -1 for the exempt, so that they come last
	list   []holding[C]
}

// manyOf returns the number of connections, out of a limit of all, from which a client holds many.
func manyOf(all int) int { return max(leastMany, all/roomPart) }

const leastMany = 16 // more than a browser opens

// least returns how many connections another client must hold before it loses one to this client,
// out of a limit of all.
func (n perClient) least(client netip.Prefix, all int) int {
	held := n[client]
	if held < manyOf(all) {
		return held
	}
	return held + held/8 + 1
}

// foremost reports whether a client holds many of the connections and no other client holds clearly
// more. No room is made for another connection of such a client.
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

// choose returns the connections that are closed to make room for one more of newcomer. Each time
// it takes one from the client that then holds most: an idle one if there is any, else a slow one,
// the oldest first. It returns at most one part in roomPart of all.
//
// A client never takes the place of a client that holds fewer connections than itself. If it holds
// many, it takes only from a client that holds clearly more, and not from itself: otherwise two
// clients with about the same number would take places from each other without end, and each time
// costs a scan of all connections. Exempt clients lose connections only if no other client can.
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

// sooner orders holdings: idle ones before slow ones, then the oldest first.
func sooner[C any](a, b holding[C]) int {
	if a.resting != b.resting {
		if a.resting {
			return -1
		}
		return 1
	}
	return a.since.Compare(b.since)
}

// holders are a heap with the client that holds most connections on top.
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
