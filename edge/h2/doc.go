// Package h2 serves HTTP/2 (RFC 9113) for a server that has most responses prebuilt. Frames of a
// connection take these steps:
//
//  1. One goroutine, or an event loop, reads frames, and checks each against the state of its
//     stream and the budgets for floods.
//  2. The header block of a request is decoded without allocation, as views of the buffer.
//  3. An eligible request goes to the Answerer, which appends the response: a header block that was
//     encoded in advance, and the body as DATA, as far as the windows of the client allow.
//  4. Any other request goes to the Handler, on a goroutine of its own, with its body or, for a
//     long one, with an Upload from which the body is read while it arrives. The Writer sends the
//     response through the same buffer.
//  5. Responses are written together when there is nothing left to read. DATA that has no window
//     waits with its stream, by the client's priorities.
//  6. A draining server sends GOAWAY, and closes the connection after the last response.
//
// # Vocabulary
//
// An Answerer has prebuilt responses, a Handler makes others. A ClientTable is the dynamic table of
// HPACK that the client keeps for the fields of responses; a SharedField is one that many responses
// have. A Link is the connection below TLS, which tells how much has not been sent yet. A Tunnel is
// the stream of an extended CONNECT.
//
// The cost of a client is bounded, whatever it does: streams, running handlers, header blocks,
// buffered bodies, responses that wait for a window, frames without content, and the time for each
// whole request and response.
//
// The package knows nothing of caches. From x/net it imports HPACK's static table, and the names of
// frames and errors.
package h2
