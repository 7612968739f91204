// Package listen accepts connections and turns their bytes into exchanges: over HTTP/1.1, HTTP/2
// and HTTP/3, with and without TLS. A connection takes these steps:
//
//  1. A listener accepts it, if the client and the edge have room for one more connection; else an
//     idle connection, or one that waits for its client, makes room.
//  2. The PROXY protocol, where the operator has enabled it, names the client.
//  3. TLS: the certificate of the name, from files or from an ACME authority; ALPN chooses the
//     protocol. A client may prove by a certificate that it is another edge of our own. Over QUIC
//     the handshake is that of the connection.
//  4. The adapter of the protocol (packages h1, h2, h3) answers eligible requests by the hit path.
//     On Linux, connections of HTTP/1.1 and 2 rest on event loops; h3 reads the streams of quic-go.
//  5. Any other request becomes an exchange.Request, filled once, with a fasthttp context for its
//     response: fasthttp's server does that for HTTP/1.1, the handlers of this package for the
//     others. Handler.ServeRequest answers it.
//  6. Deadlines hold for silence, for each MiB of a request, and for each MiB of a response.
//  7. When the edge stops, Drain closes the listeners, asks clients to leave, and waits for the
//     requests in flight.
//
// # Vocabulary
//
// An exchange is a request and its response. Sockets are the listeners that the edge has opened or
// inherited. Capacity has the limits of connections, memory and time. A refused request is one that
// its protocol does not take; an unreadable one can't be parsed.
package listen
