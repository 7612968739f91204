// Package origin is the service behind the edges. It serves a release of the object store: the CDN
// path, search, icons, packs and licence tokens. It has no rate limits and no response cache, which
// edges have. Run takes these steps:
//
//  1. It opens the store, and the mirror of releases on local disk (package catalog).
//  2. It listens at once. Until the store has given a release, it answers 503.
//  3. The catalog copies the current release into the mirror, checks every hash, and serves it. It
//     watches the object current, and switches to a new release without dropping a request. While
//     the store is out of reach, the mirror suffices.
//  4. A request is admitted if it bears the tier secret or a certificate, where the operator
//     requires that; it is traced, and counted.
//  5. The handler of its endpoint answers it (package api): parameters are parsed to canonical
//     form, the catalog finds the icon by its pack and name, and the answer has ETag, Cache-Control
//     and Surrogate-Key. GETs in the form that edges write reach the handler without the server of
//     net/http (package fastpath).
//  6. When ctx ends, requests in flight are finished, at the latest after Config.Drain.
//
// # Vocabulary
//
// A release is a state of the whole library: an archive for each pack, a search index, a manifest.
// The mirror has the files of a release on local disk. A state names a release and the set of
// withdrawn icons; edges compare states.
//
// The public listener also has /healthz. The admin listener has /healthz, /metrics, and /readyz,
// which is 200 once the origin has a release; before that and while the origin stops, it is 503
// with the reason. The package logs addresses, releases, failures of the store and failed responses
// to Config.Log, but never tokens.
package origin
