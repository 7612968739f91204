package h2

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"golang.org/x/net/http2/hpack"
)

// A client decodes every block correctly, whatever the size of its table, and whenever it empties
// the table.
func TestClientTable(t *testing.T) {
	var all []*SharedField
	var want []hpack.HeaderField
	for i := range 2 * maxShared { // more than there are numbers, and more than fit into a table
		f := hpack.HeaderField{Name: fmt.Sprintf("x-test-%d", i), Value: fmt.Sprintf("%0*d", 1+i*3, i)}
		all, want = append(all, NewSharedField([]byte("X-Test-"+fmt.Sprint(i)), []byte(f.Value))), append(want, f)
	}
	for range 200 {
		var m ClientTable
		m.open()
		d := hpack.NewDecoder(tableSize, nil)
		literal, indexed := 0, 0
		for n := range 50 {
			var block []byte
			if n == 40 && rand.N(2) == 0 {
				m.close()
				block = append(block, 0x20)
			}
			var picked []int
			for range 1 + rand.N(20) {
				i := rand.N(len(all))
				picked = append(picked, i)
				before := len(block)
				if block = m.Append(block, all[i]); len(block) == before+1 {
					indexed++
				} else {
					literal++
				}
			}
			got, err := d.DecodeFull(block)
			if err != nil || len(got) != len(picked) {
				t.Fatalf("block %d: %d fields of %d, %v", n, len(got), len(picked), err)
			}
			for i, f := range got {
				if f != want[picked[i]] {
					t.Fatalf("block %d: %v, want %v", n, f, want[picked[i]])
				}
			}
		}
		if indexed == 0 || literal == 0 {
			t.Fatalf("%d fields indexed, %d literal: both must occur", indexed, literal)
		}
	}
}

func TestShareIsTheSame(t *testing.T) {
	if a, b := NewSharedField([]byte("Vary"), []byte("Origin")), NewSharedField([]byte("vary"), []byte("Origin")); a.number > 0 && a != b {
		t.Error("Share returns two values for the same field")
	}
}
