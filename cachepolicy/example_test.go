package cachepolicy_test

import (
	"fmt"
	"net/http"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
)

// A cache stores a response, and asks later what it may do with it.
func Example() {
	request := cachepolicy.Request{Method: http.MethodGet, Target: "/page"}
	response := http.Header{"Cache-Control": {"max-age=60, stale-while-revalidate=30"}, "Date": {"Sat, 28 Nov 2026 12:00:00 GMT"}}
	arrived := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

	if !cachepolicy.Storable(request, http.StatusOK, response, arrived) {
		return
	}
	entry := cachepolicy.NewEntry(http.StatusOK, response, arrived, arrived)
	for _, later := range []time.Duration{10 * time.Second, 70 * time.Second, 100 * time.Second} {
		now := arrived.Add(later)
		fmt.Printf("age %v: %v\n", entry.AgeAt(now), cachepolicy.Decide(entry, request, now))
	}
	// Output:
	// age 10s: fresh
	// age 1m10s: stale while revalidate
	// age 1m40s: revalidate
}

// Responses with Vary are stored for each value of the fields that it names.
func ExampleVaryKey() {
	names, _ := cachepolicy.VaryNames(http.Header{"Vary": {"Accept-Language, Origin"}})
	request := http.Header{"Accept-Language": {"de, en;q=0.5"}}
	fmt.Printf("%q %q\n", names, cachepolicy.VaryKey(names, func(name string) []string { return request[name] }))
	// Output: ["Accept-Language" "Origin"] "Accept-Language=11:de,en;q=0.5;Origin;"
}

// The codings are those that the server has, in the order of its preference.
func ExampleEncoding() {
	fmt.Println(cachepolicy.Encoding("gzip, deflate, br, zstd", "br", "zstd", "gzip"))
	fmt.Println(cachepolicy.Encoding("br;q=0.1, gzip", "br", "zstd", "gzip"))
	fmt.Println(cachepolicy.Encoding("*;q=0, identity", "br", "zstd", "gzip"))
	// Output:
	// br
	// gzip
	// identity
}

// Cache-Status says what each cache on the way did (RFC 9211).
func ExampleAppendCacheStatus() {
	fmt.Printf("%s\n", cachepolicy.AppendCacheStatus(nil,
		cachepolicy.CacheStatus{Cache: "shop", Hit: true, HasTTL: true, TTL: 30 * time.Second}))
	// Output: shop; hit; ttl=30
}
