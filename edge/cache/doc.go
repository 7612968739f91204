// Package cache stores complete responses, ready to send: status, header fields and the body in
// every content coding. It decides which entries are stored and found; its packages decide how. A
// response takes these steps:
//
//  1. A caller that misses a key joins the collapsed fetch of the key, or begins it (package
//     collapse). A Spool lets several callers read one body while it arrives.
//  2. Put gives the response to its shard, unless an invalidation has come since its fetch began
//     (package invalidation): the generation of the fetch tells.
//  3. The response is encoded into a slot of an arena that the garbage collector does not scan; the
//     header text that many responses share is interned (package memory).
//  4. Ristretto admits it by the frequency of its requests, or not. The recency window keeps it for
//     the next request either way, and an entry that ristretto has not admitted goes when newer
//     ones have filled the window.
//  5. Find reads an entry as a copy (package entry), and View in place. Vary selects among the
//     variants of a key.
//  6. Codings are added to a stored entry when they are made.
//  7. A purge or a drop invalidates entries by key, prefix or surrogate key at once; their memory
//     is freed later, in batches.
//  8. An entry that is evicted may go to a log on disk, from which it returns when it is requested,
//     also after a restart (package disk).
//
// # Vocabulary
//
// An entry is a stored response; a variant is one by Vary, a coding its body in a content coding. A
// shard has a part of the keys, and a lock. A slot is the memory of one entry. A label is the hash
// of a key or of a surrogate key, which is a name by which many entries are purged. A generation
// numbers the invalidations in order.
//
// The package makes no decision that HTTP makes: package cachepolicy decides whether a response may
// be reused, and the server consults it.
package cache
