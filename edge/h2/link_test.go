package h2

import (
	"io"
	"net"
	"testing"
)

// A Link passes TLS one record at a time, so that it knows whether another whole record is
// buffered.
func TestLinkGivesRecords(t *testing.T) {
	ours, theirs := net.Pipe()
	defer ours.Close()
	record := func(n int) []byte { return append([]byte{23, 3, 3, byte(n >> 8), byte(n)}, make([]byte, n)...) }
	go theirs.Write(append(append(append(record(3), record(0)...), record(300)...), record(10)[:7]...))
	l := NewLink(ours, true, nil)
	p := make([]byte, 4096)
	for i, want := range []struct {
		n     int
		ready bool // afterwards
	}{{5, false}, {3, true}, {5, true}, {5, false}, {300, false}, {5, false}, {2, false}} {
		n, err := l.Read(p)
		if n != want.n || err != nil || l.Ready() != want.ready {
			t.Errorf("read %d: %d bytes, %v, ready %v; want %d, %v", i, n, err, l.Ready(), want.n, want.ready)
		}
	}
	if l.in != nil {
		t.Error("the Link holds an empty buffer")
	}
}

// NewLink's bytes are read first.
func TestLinkAlready(t *testing.T) {
	ours, theirs := net.Pipe()
	go func() {
		io.WriteString(theirs, "world")
		theirs.Close()
	}()
	b, err := io.ReadAll(NewLink(ours, false, []byte("hello ")))
	if string(b) != "hello world" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
}
