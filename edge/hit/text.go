package hit

import "unsafe"

// texts returns bytes as a string that is valid as long as they are.
func texts(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
