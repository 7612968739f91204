// Package cachepolicy decides, from header fields and the time, what a shared cache may do: store, reuse, revalidate, serve
// stale, update, make invalid, choose among variants, answer 304, a part or a coding (RFC 9110, 9111, 5861, 9211, 9213). Its
// functions are pure: no clock, no I/O, no logging; one import, a structured-fields library. The keys of a header are spelt as
// net/http spells them. It leaves to the caller what a route adds to the standards, such as icon routes that ignore a client's
// no-cache.
package cachepolicy
