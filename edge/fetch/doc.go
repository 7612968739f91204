// Package fetch gets the responses of the pipeline. Find takes a request through states, and pure
// functions decide which state follows another:
//
//  1. Lookup: the key of the request is looked up in the cache, and Vary selects an entry. A fresh
//     entry is delivered; one that may be served stale is delivered while a fetch in the background
//     revalidates it.
//  2. Miss: no entry can be used as it is. If the key has a hit-for-pass marker, the request is
//     sent by itself, because the responses of this key can't be shared.
//  3. Join: the request begins the collapsed fetch of its key, or waits for the one in flight.
//  4. Fetch: the request goes to the origin, as a conditional one if there is a stale entry. A 304
//     confirms that entry, and a response that may be stored becomes a new entry, or slices if it
//     is large.
//  5. Result: requests that have joined get the response if they may share it, by its fields and
//     theirs; else they look the key up again, at most twice, and then are sent by themselves.
//  6. Failure: if the origin fails, a stale entry is delivered where the response allows it, and
//     else the error.
//
// # Vocabulary
//
// A Request has the key, the policy and the fields of one fetch: the differences between the edge's
// own routes and forwarded ones are values of it. A collapsed fetch is one fetch for all requests
// with the same key; its Result is what each of them gets. A hit-for-pass marker says that requests
// for a key are not collapsed. A doorkeeper lets a form of an icon, such as one of its sizes, be
// stored at its second request, because clients can invent any number of forms.
package fetch
