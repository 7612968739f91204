// Package cachepolicy decides what a shared cache may do with a response: store it, reuse it,
// revalidate it, serve it stale, update or invalidate it, select a variant, and answer with 304, a
// range or a content coding (RFC 9110, 9111, 5861, 9211, 9213).
//
// Its functions are pure: they take header fields and the time, read no clock, do no I/O and log
// nothing. Header maps have keys in the form of http.CanonicalHeaderKey. Rules that a route adds to
// the standards, for example that icon routes ignore a client's no-cache, are left to the caller.
package cachepolicy
