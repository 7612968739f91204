// Package exchange holds one request as the rooms of the edge see it, whatever protocol brought it.
//
// The adapter of each protocol fills a Request once, from the bytes and the connection of the
// client. Package proxy adds who the client is, and the code that answers it the Response. No other
// code changes it or asks a connection what it is: facts that only one protocol has, such as a
// malformed first line of HTTP/1.1, are fields here. Package exchange decides nothing, and imports
// only the standard library.
package exchange

import (
	"io"
	"iter"
	"net"
	"net/netip"
	"time"
)

// Limits of a request, in all protocols.
const (
	MaxTarget = 8 << 10  // bytes of a request target
	MaxHead   = 32 << 10 // bytes of a request's line and fields together, by default
	MaxFields = 100      // lines of fields
	MaxBody   = 64 << 10 // bytes of a body that is held in memory: any, without --proxy-all

	MaxForwarded = 8 << 20 // bytes of a response of unknown length to HTTP/1.0
)

// A Protocol is the version of HTTP of a request.
type Protocol uint8

// The protocols. Protocols is their number.
const (
	H1 Protocol = iota
	H2
	H3
	Protocols
)

var (
	protocolNames    = [Protocols]string{"h1", "h2", "h3"}
	protocolVersions = [Protocols]string{"1.1", "2", "3"}
)

// String returns the name of a protocol in metrics and logs: h1, h2 or h3.
func (p Protocol) String() string { return protocolNames[p] }

// Version returns the version of HTTP for traces (OpenTelemetry's network.protocol.version).
func (p Protocol) Version() string { return protocolVersions[p] }

// A Request is one request of a client.
type Request struct {
	Protocol Protocol
	Secure   bool // it came over TLS

	// Peer is the other end of the connection, or the client that a PROXY header names.
	Peer    netip.Addr
	Arrived time.Time // when its header fields had been read

	// Malformed: a line of it breaks the grammar of HTTP/1.1 (RFC 9112), and the server tolerates
	// that.
	Malformed bool
	// Ambiguous: it names its host twice, or differently in Host and :authority (RFC 9113, section
	// 8.3.1).
	Ambiguous bool
	// Bodyless: it is a HEAD that could not be parsed, so that its response has no body.
	Bodyless   bool
	LongTarget bool // its first line does not fit into the buffer
	// Fetched is the result of a fetch that the hit path has begun for the request; nil: none.
	Fetched any
	// Upgrade lists the protocols that the client asks to switch to (RFC 9110, section 7.8),
	// without versions of HTTP and TLS, which a proxy must not pass on. Empty: none.
	Upgrade string

	// Fields are its header fields as they came, cookie crumbs joined (RFC 9113, section 8.2.3).
	Fields iter.Seq2[[]byte, []byte]
	// Lines returns all lines of a header field. They stay valid until the next call.
	Lines func(name string) [][]byte
	// Body takes its body, which nothing else retains. It is to be called once.
	Body func() []byte
	// Upload is its body, if that is long, or its length unknown, or the client waits for a 100.
	// Body then returns only the beginning of it. nil: Body returns all of it.
	Upload *Upload
	// Trailer returns the trailer fields of its body, as lines like those of a Response, after all
	// of the body has been read. nil: it has none.
	Trailer func() []byte
	Conn    Conn

	// Client is Peer, or the client that a trusted proxy names. Package proxy fills it, by package
	// access, before any other room reads it: it depends on the proxies that the operator trusts.
	Client netip.Addr
	// Tier: it is of an edge behind this one, by certificate or by secret. The adapter knows the
	// certificate, access the secret.
	Tier bool

	Interims Interims
	// Response holds the header fields of the response.
	Response Response
}

// An Upload is the body of a request while it arrives. It is read by one goroutine at a time.
type Upload struct {
	io.Reader             // returns io.EOF only at the end of the whole body
	Length    int64       // as announced; -1: unknown
	Expects   bool        // the client waits for a 100, which the first call of Read sends
	Whole     func() bool // reports whether all of it has arrived
	// Relax lets the client pause for a time between two parts, instead of the time that it has for
	// all of them; nil: it can't.
	Relax func(pause time.Duration)
}

// Scheme returns the scheme of the request's address: https over TLS, else http.
func (r *Request) Scheme() string {
	if r.Secure {
		return "https"
	}
	return "http"
}

// A Conn is the connection of a request, as far as the edge acts on it. Protocols with streams use
// Stream, because their loops do all of this themselves.
type Conn interface {
	// Serve ends the time that the client has for its request, which has been read at now.
	Serve(now time.Time)
	// CloseAfter closes the connection after the response, although bytes of the client may be
	// unread.
	CloseAfter()
	// ResponseLength sets the length of the response's body in bytes; its deadline depends on it.
	ResponseLength(length int64)
	// ClientGone reports whether the client has gone, as far as is known.
	ClientGone() bool
	// Exempt makes the connection count against no client: it is of an edge behind this one.
	Exempt()
}

// Stream is the Conn of a request on a stream of HTTP/2 or HTTP/3.
type Stream struct {
	Ended <-chan struct{} // closed when the client has reset the stream or left; nil: unknown
}

// Serve does nothing.
func (Stream) Serve(time.Time) {}

// CloseAfter does nothing.
func (Stream) CloseAfter() {}

// ResponseLength does nothing.
func (Stream) ResponseLength(int64) {}

// ClientGone reports whether the stream has ended.
func (s Stream) ClientGone() bool {
	select {
	case <-s.Ended:
		return true
	default:
		return false
	}
}

// Exempt does nothing.
func (Stream) Exempt() {}

// Texts returns lines as strings.
func Texts(lines [][]byte) []string {
	list := make([]string, len(lines))
	for i, line := range lines {
		list[i] = string(line)
	}
	return list
}

// Address returns the address of the other end of a TCP or QUIC connection. For other connections
// it returns the unspecified address.
func Address(remote net.Addr) netip.Addr {
	switch a := remote.(type) {
	case *net.TCPAddr:
		return a.AddrPort().Addr().Unmap()
	case *net.UDPAddr:
		return a.AddrPort().Addr().Unmap()
	}
	return netip.IPv4Unspecified()
}
