// Package hit answers requests from fresh stored responses, on the event loop that has read them:
// of HTTP/1.1, 2 and 3, for the edge's own routes and for forwarded paths of any site. A request
// takes these steps, the first five of which are find:
//
//  1. The Host names the site, in the spelling of the client: the pipeline has validated it before.
//     The client is the peer, or the address that a trusted proxy names.
//  2. If the site has rules, the set of those that match gives the outcome, which was decided once.
//     Rules that check passwords or signatures leave the request to the pipeline.
//  3. The target gives the key: of one of the edge's own routes, or of a forwarded path, by the
//     recipe of the site and its rules. Vary selects the entry, which is viewed in place.
//  4. The status, the coding and the part of the response are chosen (package represent).
//  5. The request is counted against its limits.
//  6. fill describes the head, and package respond writes it behind the responses before it.
//  7. The response is counted and logged, and may be chosen for a trace.
//
// Responses that are joined from pieces of icon data differ in steps 3 and 4. Those without an
// entry, the answers of rules and the refusals of limits, have no steps 3 and 4.
//
// # Vocabulary
//
// A hit is a request that the hit path answers, with everything that the steps find out about it. A
// host is a spelling of Host with its site. A target is a path and query whose key is known. A view
// reads an entry in place, under the lock of its shard, until it is released.
//
// Whatever find does not decide, the pipeline does (package proxy), which gives the same bytes for
// the requests that both can answer. The package allocates nothing for a hit, and never waits.
//
// # What leaves the hit path
//
// A request whose response is not stored, or is neither fresh nor being revalidated, and these,
// with the reason:
//
//   - fields that only the pipeline knows (package request): If-Match, If-Unmodified-Since, Expect,
//     Upgrade, a body, a second line of a field that has one, Connection besides keep-alive. They
//     are rare, or the connection ends.
//   - requests of edges behind this one, which get more fields, and those that have passed this
//     edge before.
//   - requests without TLS that are redirected to it, and health checks.
//   - rules that check passwords or signatures, which is slow, or refuse the client by its address,
//     which is rare; early_hints, which are responses of their own; mirror; cache: bypass and
//     never; origins that share requests at random, because a second draw would change their parts;
//     more than 256 rules or maxTolls limits.
//   - limits that edges share, and licence tokens, because their check waits for another server.
//   - Vary by fields that the origin does not get as the client has sent them.
//   - soft-purged entries, error pages of sites, objects in slices, bodies longer than maxTaken,
//     statuses without a body, ranges that lie outside of the body, and codings that are being
//     made.
//   - requests with cookies that bypass the cache, and searches with a dictionary (RFC 9842).
//   - targets with a query on the edge's own routes that the pipeline has not parsed lately.
package hit
