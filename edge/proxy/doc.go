// Package proxy is the entry and the end of the pipeline, which answers the requests that the hit
// path (package hit) leaves to it. ServeRequest takes a request through these steps:
//
//  1. It refuses a malformed request: an invalid host, conflicting lengths, a target that no route
//     can have.
//  2. It finds the client: the peer, or the address that a trusted proxy names. A request from
//     another edge of our own is proved by a secret or a certificate.
//  3. It finds the site of the host, and answers with a redirect if the site is for TLS alone.
//  4. It decides whether to trace the request, checks the address lists, and refuses a request that
//     has come through this edge before.
//  5. It tells the hit path the spelling of the host, which that path then knows.
//  6. The rules of the site may answer: with a redirect, a text, a 403, a 401 or a 429. Else their
//     decision goes with the request.
//  7. The table of routes names the answerer: own for the edge's own routes, iconset for icon data,
//     forwarded for paths of other applications. The limit of its class is checked.
//  8. The answerer finds or fetches the response (package fetch), and writes it (package pipeline).
//  9. The end is the same for all: the response is counted, logged, and its trace is closed.
//
// # Vocabulary
//
// A request of the pipeline is a pipeline.Request: the exchange.Request of its protocol, with what
// the steps have found. An outcome (exchange.Outcome) says how it was answered, for metrics and the
// log. A problem is an error as a response (RFC 9457). A panic in any step is logged, and answered
// with 500.
package proxy
