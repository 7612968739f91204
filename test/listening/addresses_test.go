package listening

import "testing"

// TestFreeAddresses: a port is not returned twice, although nothing listens there yet.
func TestFreeAddresses(t *testing.T) {
	given := map[string]bool{}
	for range 300 {
		two, err := FreeAddresses(2)
		if err != nil || len(two) != 2 {
			t.Fatal(two, err)
		}
		for _, address := range two {
			if given[address] {
				t.Fatalf("%s was returned twice", address)
			}
			given[address] = true
		}
	}
}
