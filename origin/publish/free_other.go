//go:build !linux && !darwin

package publish

// freeBytes is not known on this system.
func freeBytes(string) (n int64, ok bool) { return 0, false }
