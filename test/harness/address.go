package harness

import (
	"testing"

	"github.com/iconedge/iconedge/test/listening"
)

// FreeAddress returns a loopback address that nothing listens on, for a program that does not
// report which port the kernel gave it, or whose address must survive a restart.
func FreeAddress(t *testing.T) string {
	t.Helper()
	addresses, err := listening.FreeAddresses(1)
	if err != nil {
		t.Fatal(err)
	}
	return addresses[0]
}
