package balance

import (
	"fmt"
	"math"
	"testing"
)

// In every policy a URL of weight 0 has the lowest score, and each URL has one.
func TestZeroWeight(t *testing.T) {
	for _, row := range Rows() {
		p := row.New()
		for i := range 100 {
			origins := []Origin{{Score: math.NaN(), Seed: Seed("http://a"), Weight: 1, Healthy: true},
				{Score: math.NaN(), Index: 1, Seed: Seed("http://b"), Healthy: true}}
			p.Score(fmt.Sprint("/", i), origins)
			if !(origins[0].Score > origins[1].Score) {
				t.Fatalf("%s: scores %v and, with weight 0, %v", row.Name, origins[0].Score, origins[1].Score)
			}
		}
	}
}

// The table has each name once, with its help, and the empty name is that of the default.
func TestTable(t *testing.T) {
	for _, row := range Rows() {
		if found, ok := Find(row.Name); !ok || found.Help == "" || found.New() == nil {
			t.Errorf("%s: found %v, help %q", row.Name, ok, found.Help)
		}
	}
	if row, ok := Find(""); !ok || row.Name != Default {
		t.Errorf("the empty name is %q", row.Name)
	}
	if _, ok := Find("nearest"); ok {
		t.Error("a name that no row has is found")
	}
	defer func() {
		if recover() == nil {
			t.Error("two policies have one name")
		}
	}()
	Add(Row{Name: Default})
}
