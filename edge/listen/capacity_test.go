package listen

import (
	"math"
	"runtime/debug"
	"testing"
)

// The limits of connections, in all and for each client, follow from the number of descriptors.
// Some descriptors stay free for the origin, the disk and the listeners.
func TestCapacityOfDescriptors(t *testing.T) {
	for descriptors, want := range map[int]int{
		0: mostConnections, 1: 1, 64: 32, 256: 128, 512: 256, 640: 320, 1024: 704, 1280: 960, 4096: 3072,
		20000: 15000, 1 << 20: mostConnections,
	} {
		if got := shareOf(descriptors); got != want {
			t.Errorf("of %d descriptors %d are for connections, want %d", descriptors, got, want)
		}
	}
	places := shareOf(descriptors())
	for _, tt := range []struct{ all, each, wantAll, wantEach int }{
		{0, 0, places, places / 2},
		{200, 0, 200, 100},
		{1, 0, 1, 1},
		{200, 150, 200, 150},
		{1 << 20, 0, 1 << 20, places / 2}, // more than there are descriptors
	} {
		c := Capacity{MaxConnections: tt.all, MaxConnectionsPerClient: tt.each}.Filled()
		if c.MaxConnections != tt.wantAll || c.MaxConnectionsPerClient != tt.wantEach {
			t.Errorf("%+v: %d, and %d of one client", tt, c.MaxConnections, c.MaxConnectionsPerClient)
		}
	}
}

// An operator that allows one client many connections also allows it their memory.
func TestCapacityOfMemory(t *testing.T) {
	for each, want := range map[int]int64{0: maxEach, 100: maxEach, 10000: 10000 * secureCosts} {
		if got := (Capacity{MaxConnectionsPerClient: each}).Filled().ClientBytes; got != want {
			t.Errorf("--max-connections-per-client %d: one client may hold %d bytes, want %d", each, got, want)
		}
	}
}

// HTTP/3 needs no descriptors. By default one client may have a thousand connections of it, and
// each limit that the operator sets holds for them too. A small memory limit allows fewer, of which
// a client still gets at most half.
func TestCapacityOfQUIC(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	for _, tt := range []struct {
		memory            int64
		all, each         int
		wantAll, wantEach int
	}{
		{math.MaxInt64, 0, 0, 14043, 1280},
		{math.MaxInt64, 200, 0, 200, 100},
		{math.MaxInt64, 0, 5000, 14043, 5000},
		{math.MaxInt64, 1, 0, 1, 1},
		{math.MaxInt64, 1 << 20, 0, 14043, 1280},
		{460 << 20, 0, 0, 788, 394},
		{460 << 20, 0, 5000, 788, 788},
	} {
		debug.SetMemoryLimit(tt.memory)
		c := Capacity{MaxConnections: tt.all, MaxConnectionsPerClient: tt.each}.Filled()
		if c.MaxQUIC != tt.wantAll || c.MaxQUICPerClient != tt.wantEach {
			t.Errorf("%+v: %d, and %d of one client", tt, c.MaxQUIC, c.MaxQUICPerClient)
		}
		if room := c.quicMemory(); room.EachRequests > room.Max/2 ||
			room.EachRequests < int64(min(c.MaxQUICPerClient, quicEach))*QUICStreamBytes/2 {
			t.Errorf("%+v: one client may have %d bytes of streams, all %d", tt, room.EachRequests, room.Max)
		}
	}
}

// What all clients may hold follows from the memory limit, or from --client-memory.
func TestClientMemory(t *testing.T) {
	for _, tt := range []struct{ limit, flag, requests, responses int64 }{
		{200 << 20, 0, 25 << 20, 25 << 20},
		{10 << 20, 0, leastMemory / 2, leastMemory / 2},
		{64 << 30, 0, mostRequests, 16<<30 - mostRequests},
		{200 << 20, 1 << 30, 512 << 20, 512 << 20},
	} {
		c := Capacity{ClientMemory: tt.flag}
		if requests, responses := c.pools(tt.limit); requests != tt.requests || responses != tt.responses {
			t.Errorf("%d bytes, --client-memory %d: %d for requests, %d for responses; want %d and %d", tt.limit,
				tt.flag, requests, responses, tt.requests, tt.responses)
		}
	}
	c := Capacity{ClientMemory: leastMemory - 1}
	if c.Validate() == nil {
		t.Error("too little memory is valid")
	}
}
