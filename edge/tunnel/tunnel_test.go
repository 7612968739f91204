package tunnel

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/netip"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// A pair is the two halves of a connection in memory, each direction of which ends by itself.
type half struct {
	r *io.PipeReader
	w *io.PipeWriter
}

func pair() (half, half) {
	r1, w1 := io.Pipe()
	r2, w2 := io.Pipe()
	return half{r1, w2}, half{r2, w1}
}

func (h half) Read(p []byte) (int, error)  { return h.r.Read(p) }
func (h half) Write(p []byte) (int, error) { return h.w.Write(p) }
func (h half) CloseWrite() error           { return h.w.Close() }
func (h half) Close() error                { h.w.CloseWithError(net.ErrClosed); return h.r.Close() }

// start runs a tunnel, and returns the other halves of its ends and its result.
func start(t *testing.T, s *Set) (client, origin half, result chan Result) {
	t.Helper()
	place := s.Reserve(netip.Prefix{})
	if place == nil {
		t.Fatal("no place for a tunnel")
	}
	client, inner := pair()
	origin, outer := pair()
	result = make(chan Result, 1)
	go place.Run(inner, outer, func(r Result) { result <- r })
	return client, origin, result
}

func newSet(idle time.Duration) *Set {
	return NewSet(Limits{MaxTunnels: 4, TunnelIdle: idle})
}

// Every byte arrives, whatever the size of the parts, and the end of one direction leaves the other
// one open.
func TestCopiesBothDirections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSet(time.Minute)
		client, origin, result := start(t, s)
		long := bytes.Repeat([]byte("0123456789"), 20_000)
		go func() {
			for _, size := range []int{1, waiting - 1, waiting, waiting + 1, moving, moving + 1, len(long)} {
				client.Write(long[:size])
			}
			client.CloseWrite()
		}()
		got, err := io.ReadAll(origin)
		if want := 1 + 3*waiting + 2*moving + 1 + len(long); err != nil || len(got) != want || !bytes.HasSuffix(got, long) {
			t.Errorf("the origin got %d bytes (%v), want %d", len(got), err, want)
		}
		go func() { origin.Write([]byte("answer")); origin.CloseWrite() }()
		back, err := io.ReadAll(client)
		if err != nil || string(back) != "answer" {
			t.Errorf("after its end the client got %q (%v)", back, err)
		}
		if r := <-result; r.FromClient != int64(len(got)) || r.FromOrigin != 6 {
			t.Errorf("%+v", r)
		}
		synctest.Wait()
		if st := s.Stats(); st.Open != 0 || st.Opened != 1 || st.FromClient != int64(len(got)) || st.FromOrigin != 6 || st.Idle != 0 {
			t.Errorf("%+v", st)
		}
	})
}

// A tunnel ends when both directions have been silent for too long, and not while one of them
// moves.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSet(time.Minute)
		client, origin, result := start(t, s)
		go io.Copy(io.Discard, client)
		for range 10 {
			time.Sleep(59 * time.Second)
			if _, err := origin.Write([]byte("x")); err != nil {
				t.Fatalf("a tunnel that moved was closed: %v", err)
			}
		}
		before := time.Now()
		<-result
		if took := time.Since(before); took != time.Minute {
			t.Errorf("the silent tunnel lived for %v, want a minute", took)
		}
		synctest.Wait()
		if st := s.Stats(); st.Idle != 1 || st.Open != 0 {
			t.Errorf("%+v", st)
		}
	})
}

// An end that takes no bytes does not keep the tunnel.
func TestStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSet(time.Minute)
		client, _, result := start(t, s)
		go client.Write(make([]byte, 100)) // the origin reads nothing
		before := time.Now()
		<-result
		if took := time.Since(before); took != time.Minute {
			t.Errorf("the stuck tunnel lived for %v, want a minute", took)
		}
	})
}

func TestFailureEndsBoth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSet(time.Minute)
		client, origin, result := start(t, s)
		origin.Close()
		if _, err := client.Read(make([]byte, 1)); err == nil {
			t.Error("the client can read although the origin has failed")
		}
		<-result
	})
}

func TestPlaces(t *testing.T) {
	s := newSet(time.Minute)
	a, b := netip.MustParsePrefix("192.0.2.1/32"), netip.MustParsePrefix("192.0.2.2/32")
	first, second := s.Reserve(a), s.Reserve(a)
	if first == nil || second == nil || s.Reserve(a) != nil {
		t.Error("one client may have half of all tunnels, and no more")
	}
	if s.Reserve(b) == nil || s.Reserve(netip.Prefix{}) == nil {
		t.Error("other clients have the other half")
	}
	if s.Reserve(netip.Prefix{}) != nil {
		t.Error("there are more tunnels than allowed")
	}
	first.Release()
	first.Release()
	if s.Reserve(a) == nil || s.Reserve(a) != nil {
		t.Error("a place that was given back can be taken once")
	}
	if st := s.Stats(); st.Refused != 3 || st.Open != 4 {
		t.Errorf("%+v", st)
	}
}

func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSet(time.Minute)
		_, _, result := start(t, s)
		synctest.Wait()
		s.Close(t.Context())
		select {
		case <-result:
		default:
			t.Error("Close returned before the tunnel had ended")
		}
		if s.Reserve(netip.Prefix{}) != nil {
			t.Error("a closed Set opens tunnels")
		}
	})
}

// Close does not wait for ever for a place that a request to the origin holds.
func TestCloseWaitsForContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSet(time.Minute)
		defer s.Reserve(netip.Prefix{}).Release()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		s.Close(ctx)
		if ctx.Err() == nil {
			t.Error("Close returned while a place was taken")
		}
	})
}

// A thousand idle tunnels hold two small buffers each, whatever they have carried before.
func TestIdleMemory(t *testing.T) {
	const n = 1000
	s := NewSet(Limits{MaxTunnels: n, TunnelIdle: time.Hour})
	memory := func() int64 {
		for range 3 { // empties the pools as well
			runtime.GC()
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapInuse + m.StackInuse)
	}
	before := memory()
	ends := make([]half, 0, 2*n)
	for range n {
		client, origin, _ := start(t, s)
		go client.Write(make([]byte, moving))
		if _, err := io.ReadFull(origin, make([]byte, moving)); err != nil {
			t.Fatal(err)
		}
		ends = append(ends, client, origin)
	}
	each := (memory() - before) / n
	t.Logf("%d bytes for each idle tunnel, with the connections of the test", each)
	if each > 24<<10 {
		t.Errorf("%d bytes for each idle tunnel, want at most 24 KiB", each)
	}
	s.Close(t.Context())
	runtime.KeepAlive(ends)
}
