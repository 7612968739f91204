// Package dictionaries gives clients the difference between a version of a file that they have and
// the one that they ask for (Compression Dictionary Transport, RFC 9842).
//
// A stored response that its origin, or the edge, declares to be a dictionary is kept by its
// SHA-256 in a Table, whose bytes are bounded. A client that has the response names that hash in
// Available-Dictionary. The Table then has the stored response that the client asks for compressed
// against the dictionary: once for all clients that have the same two versions, in the background,
// by the workers that make the other content codings.
//
// A dictionary belongs to a Scope, the site and the origin of its address, and serves no other. A
// hash that is unknown costs one look-up.
package dictionaries
