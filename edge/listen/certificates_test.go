package listen

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

func TestACMEHosts(t *testing.T) {
	h := newACMEHosts([]string{"shop.example.org", "*.shop.example.org"})
	for name, want := range map[string]bool{
		"shop.example.org": true, "a.shop.example.org": true, "a.b.shop.example.org": true,
		"": false, ".shop.example.org": false, "ashop.example.org": false, "example.org": false, "shop.example.org.evil.test": false,
	} {
		if got := h.policy(t.Context(), name) == nil; got != want {
			t.Errorf("policy(%q) allows a certificate: %v, want %v", name, got, want)
		}
	}
}

// TestACMEHostsAreBounded: a client that invents names below a wildcard does not use up the
// authority's certificates of a week, and exact names are not affected.
func TestACMEHostsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newACMEHosts([]string{"example.org", "*.example.org"})
		orders := 0
		for hour := range 7 * 24 {
			for i := range 100 {
				if h.policy(t.Context(), fmt.Sprintf("n%d-%d.example.org", hour, i)) == nil {
					orders++
				}
			}
			if err := h.policy(t.Context(), "example.org"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Hour)
		}
		if orders < 40 || orders > 50 {
			t.Errorf("%d certificates in a week, want 40 to 50", orders)
		}
	})
}
