// Package exchange holds one request as the rooms of the edge see it, whatever protocol brought it.
//
// The adapter of each protocol fills a Request once, from the bytes and the connection of the
// client. All other code reads it, and asks no connection what it is: facts that only one protocol
// has, such as a malformed first line of HTTP/1.1, are fields here. Package exchange decides
// nothing, and imports only the standard library.
package exchange

import (
	"iter"
	"net/netip"
	"time"
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
	Secure   bool       // it came over TLS
	Peer     netip.Addr // the other end of the connection, or the client that a PROXY header names
	Arrived  time.Time  // when its header fields had been read

	Malformed bool // a line of it breaks the grammar of HTTP/1.1 (RFC 9112), which the server tolerates
	Ambiguous bool // it names its host twice, or differently in Host and :authority (RFC 9113, section 8.3.1)
	Bodyless  bool // it is a HEAD that could not be parsed, so that its response has no body
	LongLine  bool // its first line does not fit into the buffer
	Sampled   bool // the fast path has left it to the pipeline, to be traced

	Fields iter.Seq2[[]byte, []byte] // its header fields as they came, cookie crumbs joined (RFC 9113, section 8.2.3)
	Body   func() []byte             // takes its body, which nothing else retains; to be called once
	Conn   Conn

	// Access fills these before any other room reads them, because they depend on what the operator trusts.
	Client netip.Addr // Peer, or the client that a trusted proxy names
	Tier   bool       // it is of an edge behind this one, by certificate or by secret; the adapter sets it for a certificate
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
	Serve(now time.Time)         // the request has been read: its deadline ends, and the connection is not idle
	CloseAfter()                 // close the connection after the response, although bytes of the client may be unread
	ResponseLength(length int64) // the response's body has so many bytes, which decides about its deadline
	Left() bool                  // reports whether the client has gone, as far as is known
	Exempt()                     // the connection counts against no client: it is of an edge behind this one
}

// Stream is the Conn of a request on a stream of HTTP/2 or HTTP/3.
type Stream struct{}

// Serve does nothing.
func (Stream) Serve(time.Time) {}

// CloseAfter does nothing.
func (Stream) CloseAfter() {}

// ResponseLength does nothing.
func (Stream) ResponseLength(int64) {}

// Left returns false.
func (Stream) Left() bool { return false }

// Exempt does nothing.
func (Stream) Exempt() {}
