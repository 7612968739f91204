// Package edge is the caching reverse proxy that clients connect to. On its public listener it
// serves
//
//	GET  /{pack}/{name}.svg            an icon (the CDN path)
//	GET  /api/v1/icon/{pack}/{name}    an icon with its metadata
//	GET  /api/v1/search                a search for icons by words
//	GET  /api/v1/suggest               completions of a search while a user types
//	GET  /api/v1/packs[/{pack}]        packs
//	GET  /api/v1/openapi.json          the description of the API
//	POST /api/v1/auth/verify           a licence token's validity; never cached
//	GET  /-/release                    the changes of a release, for other edges
//	GET  /-/names                      the names of all icons, for other edges
//	GET  /, /packs, /icon/…, /docs/…   pages of the site
//	GET  /{pack}.json?icons=, …        the addresses of Iconify's API
//	GET  /healthz                      whether the process is alive
//
// and on its admin listener /healthz, /readyz, /metrics, /config and POST /purge, among others. It
// answers any other path with a problem (RFC 9457), or, with --proxy-all, forwards it to the origin
// and caches the response by RFC 9111. With --proxy-all it has no public paths of its own
// unless --icons is on.
//
// New builds the components, from the origin to the client: upstream sends requests to the origin;
// library follows its releases; access decides which clients may proceed; proxy answers requests
// from the cache or the origin; listen serves connections. purge removes stored responses, fleet
// shares limits, purges and releases with other edges, and observe counts, logs and traces.
//
// The edge speaks only HTTP with the origin, and the origin need not be ours.
package edge
