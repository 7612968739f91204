//go:build linux

package main

import (
	"math"
	"testing"
	"time"
)

// A fleet has two nodes in each region, and more where half of their cores do not suffice; traffic
// beyond the share that nodes include is paid by the GB.
func TestMoney(t *testing.T) {
	n := node{cores: 4, hit: 10 * time.Microsecond, miss: 200 * time.Microsecond, dollars: 40, included: 1000, gigabyte: .01}
	d := demand{wire: 2000, missed: .1, peak: 2, regions: 3, objects: 1e6}
	for _, row := range []struct {
		requests                float64
		nodes                   int
		cores, dollars, a, gigs float64
	}{
		{1e9, 6, .022, 240, 170 + 1000, 2000},
		{1e11, 6, 2.206, 240 + (200_000+20_000-6000)*.01, 17_000 + 100_000, 200_000},
		{1e13, 111, 220.6, 111*40 + (20_000_000+2_000_000-111_000)*.01, 1_700_000 + 10_000_000, 20_000_000},
	} {
		d.requests = row.requests
		got := d.takes(n)
		near := func(a, b float64) bool { return math.Abs(a-b) <= .01*b }
		if got.nodes != row.nodes || !near(got.cores, row.cores) || !near(got.dollars, row.dollars) {
			t.Errorf("%g: %+v, want %+v", row.requests, got, row)
		}
		if a := (bill{.085, 1}).of(d); !near(a, row.a) || !near(d.traffic(), row.gigs) {
			t.Errorf("%g: a service costs %.0f for %.0f GB", row.requests, a, d.traffic())
		}
	}
}
