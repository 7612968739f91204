//go:build !linux

package netloop

import (
	"context"
	"errors"
	"net"
	"time"
)

// There are no loops on this system: epollCreate fails, so nothing else is called.

type event struct{}

func (*event) of() (index, generation uint32) { return 0, 0 }
func (*event) kinds() Events                  { return 0 }

func epollCreate() (int, error)               { return -1, errors.ErrUnsupported }
func eventCreate() (int, error)               { return -1, errors.ErrUnsupported }
func timerCreate() (int, error)               { return -1, errors.ErrUnsupported }
func eventSignal(int)                         {}
func timerSet(int, time.Duration)             {}
func epollAdd(int, int, uint32, uint32) error { return errors.ErrUnsupported }
func epollPoll(int, []event) int              { return 0 }
func readNow(int, []byte) (int, error)        { return 0, errors.ErrUnsupported }
func writeNow(int, []byte) (int, error)       { return 0, errors.ErrUnsupported }
func readSome(int, []byte) (int, error)       { return 0, errors.ErrUnsupported }
func writeSome(int, []byte) (int, error)      { return 0, errors.ErrUnsupported }
func sendFile(int, int, int64) (int, error)   { return 0, errors.ErrUnsupported }
func closeDescriptor(int)                     {}
func closeWrite(int) error                    { return errors.ErrUnsupported }
func setLinger(int, int) error                { return errors.ErrUnsupported }
func localAddr(int) net.Addr                  { return nil }

// A Listener accepts connections for loops.
type Listener struct{ net.Listener }

// Listen fails, because this system has no loops.
func Listen(net.Listener, []*Loop) (*Listener, error) { return nil, errors.ErrUnsupported }

// OpenEach fails, because this system has no loops.
func OpenEach(context.Context, string, int) ([]net.Listener, error) {
	return nil, errors.ErrUnsupported
}

// ListenAlone fails, because this system has no loops.
func ListenAlone(net.Listener, *Loop) (*Listener, error) { return nil, errors.ErrUnsupported }
