//go:build unix

package main

import (
	"cmp"
	"errors"
	"os"
	"syscall"
)

// listens returns nil if the socket listens. With Accept=yes systemd passes a connection instead,
// and accepting from that fails only later.
func listens(f *os.File) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	accepts := 0
	controlled := raw.Control(func(fd uintptr) {
		accepts, err = syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_ACCEPTCONN)
	})
	if err = cmp.Or(controlled, err); err == nil && accepts == 0 {
		err = errors.New("it does not listen: it must be a listening stream socket, with Accept=no")
	}
	return err
}
