package listen

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/iconedge/iconedge/edge/h1"
)

// A connection makes room in the order of the rule: the client that holds most loses a resting
// connection, else a slow one, and nobody loses a place to a client that holds more.
func TestRoomOfLargestHolder(t *testing.T) {
	client := func(name string) netip.Prefix {
		if name == "proxy" {
			return netip.Prefix{}
		}
		return netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 0, 2, name[0]}), 32)
	}
	for name, tt := range map[string]struct {
		held     string // by each client, those that can't be closed among them
		list     string // client, r for resting or s for slow, and since when
		newcomer string
		most     int
		want     string
	}{
		"nobody can go": {"a3 b1", "", "c", 4, ""},
		"the heaviest's, though others rest longer": {"a3 b1", "a-r9 b-r1", "c", 1, "a-r9"},
		"its oldest first":                          {"a3 b1", "a-r9 a-r3 a-r5", "c", 2, "a-r3 a-r5"},
		"its slow ones, though others rest":         {"a3 b1", "a-s9 b-r1", "c", 1, "a-s9"},
		"resting before slow":                       {"a3 b1", "a-s1 a-r9", "c", 2, "a-r9 a-s1"},
		"until another holds as many":               {"a3 b2", "a-r7 a-r8 a-r9 b-r1 b-r2", "c", 4, "a-r7 b-r1 a-r8 b-r2"},
		"among equals, the oldest":                  {"a1 b1 d1", "a-r3 b-r1 d-r2", "c", 2, "b-r1 d-r2"},
		"among equals, resting before slow":         {"a1 b1", "a-s1 b-r3", "c", 1, "b-r3"},
		"the heaviest is busy":                      {"a3 b2", "b-r1", "c", 1, "b-r1"},
		"the newcomer is the heaviest":              {"a3 b1", "a-r9 b-r1", "a", 4, "a-r9"},
		"and is busy: nobody pays for it":           {"a3 b1", "b-r1", "a", 4, ""},
		"it takes from a client with as many":       {"a2 b2", "b-r1", "a", 1, "b-r1"},
		"exempt ones last, though they are more":    {"a1 proxy9", "proxy-r1 proxy-r2 a-s9", "c", 2, "a-s9 proxy-r1"},
		"the exempt are no heavy newcomers":         {"a1 b1", "a-r2 b-r1", "proxy", 1, "b-r1"},
		"many of its own, and nobody has more":      {"a16 b16", "a-r1 b-r1", "a", 4, ""},
		"many of its own, and another has more":     {"a16 b20 d18", "a-r1 b-r1 b-r2 b-r3 d-r1", "a", 4, "b-r1 b-r2"},
	} {
		of := perClient{}
		for _, s := range strings.Fields(tt.held) {
			name := strings.TrimRight(s, "0123456789")
			n, err := strconv.Atoi(s[len(name):])
			must(t, err)
			for range n {
				of.enter(client(name))
			}
		}
		var list []holding[string]
		for _, s := range strings.Fields(tt.list) {
			who, what, _ := strings.Cut(s, "-")
			list = append(list, holding[string]{s, client(who), time.Unix(int64(what[1]-'0'), 0), what[0] == 'r'})
		}
		var got []string
		for _, h := range choose(list, of, client(tt.newcomer), (tt.most-1)*roomPart) {
			got = append(got, h.conn)
		}
		if fmt.Sprint(got) != fmt.Sprint(strings.Fields(tt.want)) {
			t.Errorf("%s: %v, want %s", name, got, tt.want)
		}
	}
}

// A client that holds many, and more than any other, is refused without a look at all connections.
func TestRoomForLargestHolder(t *testing.T) {
	a, b := netip.MustParsePrefix("192.0.2.1/32"), netip.MustParsePrefix("192.0.2.2/32")
	for _, tt := range []struct {
		a, b, all int
		want      bool
	}{
		{15, 0, 64, false}, {16, 0, 64, true}, {16, 16, 64, true}, {16, 18, 64, true}, {16, 19, 64, false},
		{63, 1, 4096, false}, {64, 1, 4096, true},
	} {
		if got := (perClient{a: tt.a, b: tt.b}).foremost(a, tt.all); got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}

// The last places are for clients that hold few connections. A client that holds many and returns
// without end does not take the places that become free, so another client needs no search for
// room.
func TestLastPlaces(t *testing.T) {
	const all = 2 * roomPart
	capacity := Capacity{MaxConnections: all, MaxConnectionsPerClient: all}.Filled()
	s := newConns(Options{Capacity: capacity, Memory: capacity.Memory()})
	enter := func(address string) bool {
		ours, theirs := net.Pipe()
		t.Cleanup(func() { ours.Close(); theirs.Close() })
		_, ok := s.enter(&lingeringConn{Conn: h1.NewConn(ours, nil, &s.limits), client: netip.MustParsePrefix(address)})
		return ok
	}
	held := 0
	for enter("192.0.2.1/32") {
		held++
	}
	if want := all - all/roomPart; held != want {
		t.Errorf("one client took %d places, want %d", held, want)
	}
	for i := range all / roomPart {
		if why, hopeless := s.certainlyFull(netip.MustParsePrefix("192.0.2.1/32")); !hopeless || why != refusedTotal {
			t.Errorf("with %d places left, the client that holds most may have another", all-held-i)
		}
		if !enter("192.0.2.2/32") {
			t.Errorf("another client did not get place %d of the last", i)
		}
	}
	if enter("192.0.2.3/32") || s.madeRoom.Load() != 0 {
		t.Error("there is room beyond the limit, although no connection is idle or slow")
	}
}
