package slabs

import (
	"testing"
	"unsafe"
)

// A part of huge pages is aligned, whole, within the memory, and zero.
func TestHuge(t *testing.T) {
	for _, size := range []int{1, HugePage - 1, HugePage, 2*HugePage + 4096, 5 * HugePage} {
		all := Map(size)
		b := Huge(all)
		if len(b)%HugePage != 0 || len(b) > len(all) || len(all)-len(b) >= 2*HugePage {
			t.Errorf("%d bytes have %d in huge pages", size, len(b))
		}
		if len(b) > 0 && uintptr(unsafe.Pointer(&b[0]))%HugePage != 0 {
			t.Errorf("%d bytes: the part begins at %p", size, &b[0])
		}
		for i := range b {
			if b[i] != 0 {
				t.Fatalf("byte %d is %d", i, b[i])
			}
			b[i] = 1
		}
		Unmap(all)
	}
	if len(Huge(nil)) != 0 {
		t.Error("nothing has huge pages")
	}
}
