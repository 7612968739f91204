//go:build !race

package slabs

import "syscall"

// advise asks for huge pages. The answer does not matter: without them everything is only slower.
func advise(b []byte) {
	if len(b) > 0 {
		syscall.Madvise(b, syscall.MADV_HUGEPAGE)
	}
}
