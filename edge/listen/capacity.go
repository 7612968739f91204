package listen

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/iconedge/iconedge/edge/bodies"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/internal/units"
)

// Capacity bounds the connections, the time and the places before the origin that clients may take
// of an edge. Zero values have their defaults.
type Capacity struct {
	IdleTimeout    time.Duration // until a connection on which no request begins is closed
	RequestTimeout time.Duration // for each MiB of a request, from its first byte to its last
	AnswerTimeout  time.Duration // for each MiB of a response, until the client has taken it

	MaxConnections int // at a time; 0: depends on the descriptors of the process
	// MaxConnectionsPerClient bounds the connections of one address; trusted proxies and edges
	// behind this one may have more. 0: half of MaxConnections or of its default, the lesser.
	MaxConnectionsPerClient int
	MaxWaiting              int // requests that wait for the origin at a time
	// ClientMemory bounds the bytes that the requests and the unread responses of all clients
	// hold, half for each. 0: a quarter of the memory limit, of which requests get at most
	// mostRequests.
	ClientMemory int64

	// MaxHeader bounds a request's line and fields together, in bytes, of which one line may have
	// all.
	MaxHeader int64

	// Loop says whether event loops serve HTTP/1.1 and HTTP/2.
	Loop Loop

	// Limits without flags; 0: the default.
	MaxBodies        int64         // bytes of long request bodies in memory at a time
	ClientBytes      int64         // bytes of memory that one client may hold
	HandshakeTimeout time.Duration // for a handshake of TLS or QUIC
	// MaxQUIC and MaxQUICPerClient bound the connections of HTTP/3, which need no descriptors but
	// more memory: MaxConnections and MaxConnectionsPerClient if those are set, unless quicPart of
	// the memory limit is too little for them. By default one client may have quicEach, or half of
	// all if that is less.
	MaxQUIC, MaxQUICPerClient int

	// Now is the clock by which the idle times of connections are measured; nil: time.Now.
	Now func() time.Time
	// Neighbours says that other edges run in this process. Each would collect the garbage of all
	// to return memory to the system, so none does.
	Neighbours bool
}

const (
	defaultIdle    = 20 * time.Second
	defaultRequest = 20 * time.Second
	defaultAnswer  = 30 * time.Second
	defaultWaiting = 2000
	defaultLoop    = LoopOn // where the system has loops

	mostConnections = 16384 // by default: each takes up to about 70 kB
	// Of the process's descriptors one in otherDescriptors is left for the origin, the disk, the
	// listeners and the admin listener, and at least leastOthers, because an origin may have 256
	// connections, but at most one in scarceOthers.
	otherDescriptors = 4
	leastOthers      = 320
	scarceOthers     = 2

	// By default clients may hold one part in memoryPart of the memory limit.
	memoryPart   = 4
	mostRequests = 48 << 20 // bytes of requests by default
	leastMemory  = 16 << 20 // bytes of all clients

	leastHeader, mostHeader = 8 << 10, 1 << 20 // bytes of MaxHeader

	// HTTP/3 gets one part in quicPart of the memory limit, at most mostQUIC bytes: three quarters
	// for connections, each with the garbage of its handshake, an eighth for streams, and an eighth
	// for receive windows. One client may have quicEach connections and mostWindowsEach bytes of
	// windows.
	quicPart        = 4
	mostQUIC        = 2 << 30
	quicConnCosts   = 112 << 10
	quicStreamsPart = 8
	quicWindowsPart = 8
	mostWindows     = 64 << 20
	mostWindowsEach = 16 << 20
	quicEach        = 1280 // 1,000 at once, although handshakes that begin again have two places
)

// Flags defines the flags of Capacity on fs.
func (c *Capacity) Flags(fs *flag.FlagSet) {
	fs.DurationVar(&c.IdleTimeout, "idle-timeout", defaultIdle,
		"`time` after which the edge closes a connection on which no request begins")
	fs.DurationVar(&c.RequestTimeout, "request-timeout", defaultRequest, "`time` for a whole request, from its first "+
		"byte to its last; each further MiB of a request longer than 1 MiB adds as much again")
	fs.DurationVar(&c.AnswerTimeout, "answer-timeout", defaultAnswer, "`time` that a client has to take a whole "+
		"response; each further MiB of a response longer than 1 MiB adds as much again")
	fs.IntVar(&c.MaxConnections, "max-connections", 0, "`number` of connections at a time; beyond it the edge closes "+
		"an idle or slow connection of the client that holds most (default three quarters of the descriptors that the "+
		"process may open, less if those are fewer than 1280, at most 16384)")
	fs.IntVar(&c.MaxConnectionsPerClient, "max-connections-per-client", 0, "`number` of connections of one client at "+
		"a time, an address or an IPv6 /64; trusted proxies and edges behind this one may have more (default half of "+
		"--max-connections or of its default, whichever is less; of HTTP/3 at most 1280)")
	fs.Var(&c.Loop, "loop", "on Linux, `on|off`: whether connections of HTTP/1.1 and HTTP/2 rest on event loops, with "+
		"and without TLS, which needs less memory and processor time than a goroutine for each (default "+string(defaultLoop)+")")
	fs.Var((*units.Size)(&c.ClientMemory), "client-memory", "`bytes` that the requests and the unread responses of "+
		"all clients may hold in memory, half for requests without a response, half for responses that clients do not "+
		"take; beyond it the edge ends those of the client that holds most, and refuses others with 503 or "+
		"REFUSED_STREAM, but still answers hits (default a quarter of GOMEMLIMIT, of the control group's memory or of "+
		"the machine's, of which at most 48MiB for requests)")
	fs.Var((*units.Size)(&c.MaxHeader), "max-header", "`bytes` that a request's line and header fields may have together, "+
		"from 8KiB to 1MiB; one field, such as Cookie, may have all of them; beyond it the edge answers 431 (default 32KiB)")
	fs.IntVar(&c.MaxWaiting, "max-waiting", defaultWaiting, "`number` of requests that wait for the origin at a time; "+
		"beyond it the edge answers 503 at once unless the cache has the response")
}

// A Loop says whether event loops serve connections: on, off, or empty for the default of the
// system.
type Loop string

// The values of Loop.
const (
	LoopOn  Loop = "on"
	LoopOff Loop = "off"
)

// String implements flag.Value.
func (l *Loop) String() string { return string(*l) }

// Set implements flag.Value.
func (l *Loop) Set(s string) error {
	if *l = Loop(s); *l != LoopOn && *l != LoopOff {
		return errors.New("must be on or off")
	}
	return nil
}

func (c *Capacity) Validate() error {
	var errs []error
	if min(c.IdleTimeout, c.RequestTimeout, c.AnswerTimeout) < 0 {
		errs = append(errs, errors.New("--idle-timeout, --request-timeout and --answer-timeout must not be negative"))
	}
	if c.ClientMemory != 0 && c.ClientMemory < leastMemory {
		errs = append(errs, fmt.Errorf("--client-memory must be at least %d", leastMemory))
	}
	if c.MaxHeader != 0 && (c.MaxHeader < leastHeader || c.MaxHeader > mostHeader) {
		errs = append(errs, fmt.Errorf("--max-header must be from %d to %d", leastHeader, mostHeader))
	}
	if min(c.MaxConnections, c.MaxConnectionsPerClient, c.MaxWaiting) < 0 {
		errs = append(errs, errors.New("--max-connections, --max-connections-per-client and --max-waiting must not be negative"))
	}
	return errors.Join(errs...)
}

// Filled returns c with the defaults in place of zero values.
func (c Capacity) Filled() Capacity {
	c.IdleTimeout = cmp.Or(c.IdleTimeout, defaultIdle)
	c.RequestTimeout = cmp.Or(c.RequestTimeout, defaultRequest)
	c.AnswerTimeout = cmp.Or(c.AnswerTimeout, defaultAnswer)
	places := shareOf(descriptors())
	quic := int(quicBytes() * 3 / 4 / quicConnCosts)
	c.MaxQUIC = max(1, min(cmp.Or(c.MaxQUIC, c.MaxConnections, mostConnections), quic))
	c.MaxQUICPerClient = min(cmp.Or(c.MaxQUICPerClient, c.MaxConnectionsPerClient, min(halfOf(c.MaxQUIC), quicEach)), c.MaxQUIC)
	// An operator that allows one client many connections allows it the memory of those connections
	// too, but not more for requests.
	c.ClientBytes = cmp.Or(c.ClientBytes, max(maxEach, int64(c.MaxConnectionsPerClient)*secureCosts))
	requests, _ := c.pools(debug.SetMemoryLimit(-1))
	c.MaxBodies = cmp.Or(c.MaxBodies, min(maxBodies, requests*3/4))
	c.MaxConnections = cmp.Or(c.MaxConnections, places)
	c.MaxConnectionsPerClient = cmp.Or(c.MaxConnectionsPerClient, halfOf(min(c.MaxConnections, places)))
	c.MaxHeader = cmp.Or(c.MaxHeader, exchange.MaxHead)
	c.MaxWaiting = cmp.Or(c.MaxWaiting, defaultWaiting)
	c.HandshakeTimeout = cmp.Or(c.HandshakeTimeout, handshakeTimeout)
	c.Loop = cmp.Or(c.Loop, defaultLoop)
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// Memory returns the budget of the memory that clients may hold. c must be filled.
func (c *Capacity) Memory() *bodies.Budget {
	requests, responses := c.pools(debug.SetMemoryLimit(-1))
	return &bodies.Budget{
		Max: c.MaxBodies, Each: c.ClientBytes, EachRequests: min(c.ClientBytes, maxEach), Requests: requests, Responses: responses,
	}
}

// pools returns how many bytes requests and unread responses may hold in a process with a memory
// limit. By default requests get no more than mostRequests, however large the machine is, because a
// client makes the edge hold hundreds of kilobytes with a few bytes.
func (c *Capacity) pools(limit int64) (requests, responses int64) {
	if c.ClientMemory > 0 {
		return c.ClientMemory / 2, c.ClientMemory - c.ClientMemory/2
	}
	all := max(limit/memoryPart, leastMemory)
	requests = min(all/2, mostRequests)
	return requests, all - requests
}

// quicBytes returns the number of bytes that HTTP/3 may take.
func quicBytes() int64 { return min(debug.SetMemoryLimit(-1)/quicPart, mostQUIC) }

// quicMemory returns the budget of the connections and streams of HTTP/3. A client may have all its
// connections in handshakes, and a stream for each of them, on whichever. c must be filled.
func (c *Capacity) quicMemory() *bodies.Budget {
	all := quicBytes() / quicStreamsPart
	streams := min(max(int64(c.MaxQUICPerClient), quicEach)*QUICStreamBytes, all/2)
	return &bodies.Budget{Max: all, Each: int64(c.MaxQUICPerClient)*quicHandshakeBytes + streams, EachRequests: streams}
}

// quicWindows returns the budget for the growth of receive windows, of which a client gets at most
// half.
func (c *Capacity) quicWindows() *bodies.Budget {
	all := min(quicBytes()/quicWindowsPart, mostWindows)
	return &bodies.Budget{Max: all, Each: min(all/2, mostWindowsEach)}
}

// shareOf returns the default maximum of connections for a number of descriptors; 0: that number is
// unknown.
func shareOf(descriptors int) int {
	if descriptors == 0 {
		return mostConnections
	}
	others := max(descriptors/otherDescriptors, min(leastOthers, descriptors/scarceOthers))
	return max(1, min(descriptors-others, mostConnections))
}

// halfOf returns the default maximum of connections of one client. The other half of the places is
// left for all other clients.
func halfOf(places int) int { return max(1, places/2) }
