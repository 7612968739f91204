//go:build linux

package relay

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// A Wire carries the packets of two ends on this machine over a Path, whatever their protocol. Lost
// packets are really lost, so that the kernel's TCP and a program's QUIC recover as they do on the
// internet. It needs root, because it is a network interface (tun(4)).
//
// Servers listen on Near. What a client sends to Far arrives at Near, and seems to come from Far:
// the wire exchanges the addresses of every packet, which changes no checksum. So both ends can be
// on one machine, although the kernel delivers packets between its own addresses directly.
type Wire struct {
	Near, Far netip.Addr
	path      *Path
	device    *os.File
	transit   chan packet
	open      sync.WaitGroup
	ended     context.Context
	end       context.CancelFunc
}

// A packet is an IP packet in transit.
type packet struct {
	bytes   []byte
	arrives time.Time
}

const (
	// wires is how many wires a machine may have at a time: each has a /30 of the network for
	// benchmarks (RFC 2544).
	wires = 64
	// mostPackets is how many packets may be in transit. Further ones are lost, as in a router.
	mostPackets = 1 << 14
	wireMTU     = 1500
)

// OpenWire makes the interface.
func OpenWire(path *Path) (*Wire, error) {
	device, near, err := openDevice()
	if err != nil {
		return nil, fmt.Errorf("opening a network interface: %w", err)
	}
	w := &Wire{Near: near, Far: near.Next(), path: path, device: device, transit: make(chan packet, mostPackets)}
	w.ended, w.end = context.WithCancel(context.Background())
	w.open.Go(w.load)
	w.open.Go(w.deliver)
	return w, nil
}

// Close removes the interface.
func (w *Wire) Close() error {
	w.end()
	err := w.device.Close()
	w.open.Wait()
	return err
}

// load reads packets, loses some, and gives the others their arrival times.
func (w *Wire) load() {
	for {
		b := make([]byte, wireMTU)
		n, err := w.device.Read(b)
		if err != nil {
			return
		}
		if b = b[:n]; !exchange(b) || w.path.loses() {
			continue
		}
		select {
		case w.transit <- packet{b, time.Now().Add(w.path.delay)}:
		default:
		}
	}
}

// deliver writes packets at their arrival times, which are in order.
func (w *Wire) deliver() {
	for {
		select {
		case p := <-w.transit:
			wait := time.NewTimer(time.Until(p.arrives))
			select {
			case <-wait.C:
			case <-w.ended.Done():
				return
			}
			w.device.Write(p.bytes) // what the kernel does not take is lost
		case <-w.ended.Done():
			return
		}
	}
}

// exchange exchanges source and destination of an IPv4 packet (RFC 791, section 3.1), and reports
// whether it is one.
func exchange(b []byte) bool {
	const source, destination, head = 12, 16, 20
	if len(b) < head || b[0]>>4 != 4 {
		return false
	}
	from, to := binary.BigEndian.Uint32(b[source:]), binary.BigEndian.Uint32(b[destination:])
	binary.BigEndian.PutUint32(b[source:], to)
	binary.BigEndian.PutUint32(b[destination:], from)
	return true
}

// openDevice makes an interface with the first network that no other one has.
func openDevice() (device *os.File, near netip.Addr, err error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, near, fmt.Errorf("/dev/net/tun: %w", err)
	}
	r, err := unix.NewIfreq("iconedge%d") // the kernel puts a number there
	if err == nil {
		r.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, r)
	}
	if err == nil {
		near, err = freeNetwork()
	}
	if err == nil {
		err = configure(r.Name(), near)
	}
	if err != nil {
		return nil, near, errors.Join(err, unix.Close(fd))
	}
	// Not before: the runtime's poller takes no device without an interface.
	return os.NewFile(uintptr(fd), r.Name()), near, nil
}

// freeNetwork returns the first address of a network that no interface has.
func freeNetwork() (netip.Addr, error) {
	taken, err := net.InterfaceAddrs()
	if err != nil {
		return netip.Addr{}, err
	}
search:
	for i := range wires {
		near := netip.AddrFrom4([4]byte{198, 18, 0, byte(4*i + 1)})
		for _, t := range taken {
			if ip, ok := t.(*net.IPNet); ok && ip.Contains(near.AsSlice()) {
				continue search
			}
		}
		return near, nil
	}
	return netip.Addr{}, errors.New("all networks for wires are taken")
}

// configure gives an interface its address and brings it up (netdevice(7)).
func configure(name string, near netip.Addr) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	for _, set := range []struct {
		request uint
		value   func(*unix.Ifreq) error
	}{
		{unix.SIOCSIFADDR, func(r *unix.Ifreq) error { return r.SetInet4Addr(near.AsSlice()) }},
		{unix.SIOCSIFNETMASK, func(r *unix.Ifreq) error { return r.SetInet4Addr(net.CIDRMask(30, 32)) }},
		{unix.SIOCSIFMTU, func(r *unix.Ifreq) error { r.SetUint32(wireMTU); return nil }},
		{unix.SIOCSIFFLAGS, func(r *unix.Ifreq) error { r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING); return nil }},
	} {
		r, err := unix.NewIfreq(name)
		if err == nil {
			err = set.value(r)
		}
		if err == nil {
			err = unix.IoctlIfreq(fd, set.request, r)
		}
		if err != nil {
			return fmt.Errorf("configuring %s: %w", name, err)
		}
	}
	return nil
}
