//go:build unix

package folder

import "syscall"

// openFlags make opening a FIFO or a terminal return at once.
const openFlags = syscall.O_NONBLOCK | syscall.O_NOCTTY
