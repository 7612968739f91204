// Package sequential names the tests that the race detector only disturbs.
package sequential

import "testing"

// Test is the first statement of a long test whose work is done by one goroutine, and of a test
// that counts allocations, because the race detector empties pools. It skips the test if the tests
// run under the race detector and with -short. `make test` runs the tests that call it without the
// race detector, and `make race` under it, without -short.
func Test(t testing.TB) {
	t.Helper()
	if raced && testing.Short() {
		t.Skip("it runs without the race detector")
	}
}
