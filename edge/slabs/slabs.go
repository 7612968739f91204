// Package slabs gets memory for tables without pointers outside of the heap, where the garbage
// collector neither scans it nor counts it towards its next run. It decides which pages it has: a
// random access to memory in pages of 4 KiB mostly waits for the address, not for the data.
package slabs

import "unsafe"

// HugePage is the size of a huge page in bytes.
const HugePage = 2 << 20

// Huge returns the largest part of b that consists of aligned huge pages, and asks the system to
// use such pages for it. A system that has none uses its own. Each page that is touched is resident
// whole.
func Huge(b []byte) []byte {
	start := int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) % HugePage)
	b = b[min(start, len(b)):]
	b = b[:len(b)&^(HugePage-1)]
	advise(b)
	return b
}
