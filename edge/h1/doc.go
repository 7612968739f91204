// Package h1 answers eligible requests on an HTTP/1.1 connection before the server that owns the
// connection sees them. Bytes of a connection take these steps:
//
//  1. A Conn reads the bytes that have arrived, into the buffer of the server; on an event loop
//     into that of the loop.
//  2. It parses a head: the request line and the fields, as views of the buffer. A request that is
//     not certain to be eligible, such as one with an unusual field, goes to the server as it came.
//  3. An Answerer appends the whole response to the batch: status line, fields, body.
//  4. Pipelined requests are answered one after another, into the same batch, in order.
//  5. The batch is written at once. Bytes that the client does not take wait in a backlog, which
//     counts against the client's share of memory.
//  6. The first request that is not eligible takes its connection to the server, with the bytes
//     read so far; on an event loop to a goroutine, until requests are eligible again.
//
// # Vocabulary
//
// An eligible request may be answered by the hit path; a Turn is one visit of an event loop to a
// connection. A takeover is the way of a connection to a goroutine. A batch has the responses that
// are written together.
//
// The package knows nothing of caches. An Answerer returns the prebuilt responses.
package h1
