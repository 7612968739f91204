// Package upstream sends an edge's requests to its origins. It builds each request anew, checks the
// response and streams it, or returns an error that is itself a response (502, 504). It follows no
// redirects, decodes no content codings and stores nothing. Do takes a request through these steps:
//
//  1. It checks the request, and starts the deadline for the first byte of the response.
//  2. The policy (package balance) ranks the origins for the key of the request: healthy ones
//     first, then groups, then scores.
//  3. The first origin whose circuit breaker admits the request gets it, once it has a slot.
//  4. The request is written: without hop-by-hop fields, with Via and CDN-Loop, and for an origin
//     of our own with the tier secret. A lean exchange, which costs less, is a GET over HTTP/1.1
//     without TLS; net/http's Transport sends any other request.
//  5. The response is checked: framing, fields, 1xx responses. Bytes that arrive before a request
//     was sent end the connection.
//  6. A lost request is repeated with one or two other origins, if its method allows it.
//  7. The outcome is recorded: failures open the breaker of an origin, and a probe closes it again.
//  8. The body streams to the caller, with a deadline for every read and for the whole exchange.
//
// # Vocabulary
//
// An origin is one URL, with its state of health; a group has the origins that are used while those
// of the groups before it are not healthy. A try is one request to one origin; an exchange is all
// tries and the body. A slot is a place among the simultaneous exchanges of an origin. A
// destination is an origin with the Host and the TLS name of one try. Patience has the deadlines of
// a request.
package upstream
