package listen

import (
	"net/netip"
	"sync"
	"sync/atomic"
)

// isNearlyUsed reports whether more than three quarters of a limit are used. The last quarter is
// for clients that have read of HTTP/3 and have not come yet, and for handshakes that a client
// begins again, which take two places.
func isNearlyUsed[N int | int64](n, limit N) bool { return 4*n > 3*limit }

// nearClients are the clients that are near one of their limits. One goroutine at a time may call
// set.
type nearClients struct {
	number atomic.Int64
	mu     sync.RWMutex
	known  map[netip.Prefix]struct{}
}

// any reports whether there are any.
func (n *nearClients) any() bool { return n.number.Load() > 0 }

// has reports whether a client is one of them.
func (n *nearClients) has(client netip.Prefix) bool {
	n.mu.RLock()
	defer n.mu.RUnlock()
	_, ok := n.known[client]
	return ok
}

// set makes a client one of them, or not, and reports whether it has become one.
func (n *nearClients) set(client netip.Prefix, near bool) (became bool) {
	if n.has(client) == near {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if near {
		n.known[client] = struct{}{}
	} else {
		delete(n.known, client)
	}
	n.number.Store(int64(len(n.known)))
	return near
}
