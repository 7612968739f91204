package ratio

import "container/heap"

// An optimum knows the future: it removes the object whose next request is farthest, which may be
// the new one. No policy has more hits if all objects have the same size.
type optimum struct {
	costs
	free int64
	next []int // index of the next request for the object of each request
	now  int
	at   map[uint32]int // next requests of the objects in the cache
	far  farthest
}

// A use is the next request for an object.
type use struct {
	at     int
	object uint32
}

type farthest []use

func (f farthest) Len() int           { return len(f) }
func (f farthest) Less(i, j int) bool { return f[i].at > f[j].at }
func (f farthest) Swap(i, j int)      { f[i], f[j] = f[j], f[i] }
func (f *farthest) Push(x any)        { *f = append(*f, x.(use)) }
func (f *farthest) Pop() any {
	last := (*f)[len(*f)-1]
	*f = (*f)[:len(*f)-1]
	return last
}

func newOptimum(t *Trace, c costs, capacity int64) policy {
	o := &optimum{costs: c, free: capacity, next: make([]int, len(t.Requests)), at: map[uint32]int{}}
	later := make([]int, t.Objects)
	for object := range later {
		later[object] = len(t.Requests) // never
	}
	for i := len(t.Requests) - 1; i >= 0; i-- {
		object := t.Requests[i]
		o.next[i], later[object] = later[object], i
	}
	return o
}

func (o *optimum) request(object uint32) bool {
	next := o.next[o.now]
	o.now++
	_, hit := o.at[object]
	if !hit {
		o.free -= o.costs[object]
	}
	o.at[object] = next
	heap.Push(&o.far, use{next, object})
	for o.free < 0 {
		u := heap.Pop(&o.far).(use)
		if at, ok := o.at[u.object]; ok && at == u.at { // otherwise it was requested since
			delete(o.at, u.object)
			o.free += o.costs[u.object]
		}
	}
	return hit
}
