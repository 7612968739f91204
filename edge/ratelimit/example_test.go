package ratelimit_test

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/iconedge/iconedge/edge/ratelimit"
)

// Each client may call twice in a minute, which begins with its own first call.
func Example() {
	limit, err := ratelimit.ParseLimit("2/1m")
	if err != nil {
		fmt.Println(err)
		return
	}
	limiter := ratelimit.New(limit, ratelimit.Options{})
	began := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	for _, call := range []struct {
		client string
		after  time.Duration
	}{{"192.0.2.1", 0}, {"192.0.2.1", 20 * time.Second}, {"192.0.2.1", 30 * time.Second},
		{"192.0.2.2", 30 * time.Second}, {"192.0.2.1", time.Minute}} {
		d := limiter.Allow(netip.MustParseAddr(call.client), began.Add(call.after))
		fmt.Println(call.client, call.after, "allowed:", d.OK, "wait:", d.RetryAfter)
	}
	// Output:
	// 192.0.2.1 0s allowed: true wait: 0s
	// 192.0.2.1 20s allowed: true wait: 0s
	// 192.0.2.1 30s allowed: false wait: 30s
	// 192.0.2.2 30s allowed: true wait: 0s
	// 192.0.2.1 1m0s allowed: true wait: 0s
}

// A client of IPv6 is its network of 64 bits, because it can have any address of it.
func ExampleClientKey() {
	fmt.Println(ratelimit.ClientKey(netip.MustParseAddr("192.0.2.1")))
	fmt.Println(ratelimit.ClientKey(netip.MustParseAddr("2001:db8:0:1:a:b:c:d")))
	// Output:
	// 192.0.2.1/32
	// 2001:db8:0:1::/64
}
