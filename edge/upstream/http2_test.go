package upstream

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// A quietOrigin speaks HTTP/2, begins a response, and is silent from then on. It records when PINGs
// come.
func quietOrigin(c net.Conn, pings *[]time.Time) {
	out := make(queue, 100) // a pipe has no buffer
	defer close(out)
	go func() {
		for b := range out {
			c.Write(b)
		}
	}()
	f := http2.NewFramer(out, c)
	io.ReadFull(c, make([]byte, len(http2.ClientPreface)))
	f.WriteSettings()
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			return
		}
		switch frame := frame.(type) {
		case *http2.SettingsFrame:
			if !frame.IsAck() {
				f.WriteSettingsAck()
			}
		case *http2.HeadersFrame:
			var head bytes.Buffer
			hpack.NewEncoder(&head).WriteField(hpack.HeaderField{Name: ":status", Value: "200"})
			f.WriteHeaders(http2.HeadersFrameParam{StreamID: frame.StreamID, BlockFragment: head.Bytes(), EndHeaders: true})
		case *http2.PingFrame:
			*pings = append(*pings, time.Now())
			f.WritePing(true, frame.Data)
		}
	}
}

type queue chan []byte

func (q queue) Write(p []byte) (int, error) {
	q <- bytes.Clone(p)
	return len(p), nil
}

// While a stream is silent, the edge asks its origin rarely whether it lives: servers of gRPC end
// the connection, with all of its streams, at the third PING that comes within five minutes of the
// one before.
func TestFewPings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		var pings []time.Time
		go quietOrigin(theirs, &pings)
		c := newClient(Config{Origins: [][]*url.URL{{{Scheme: "h2c", Host: "origin"}}}})
		c.http2.DialContext = func(context.Context, string, string) (net.Conn, error) { return ours, nil }
		last := time.Now()
		a, err := c.Do(t.Context(), Request{Method: "GET", Target: "/", Patience: &Patience{FirstByte: time.Minute, Idle: time.Hour}})
		if err != nil {
			t.Fatal(err)
		}
		go a.Body.Read(make([]byte, 1))
		time.Sleep(30 * time.Minute)
		a.Body.Close()
		theirs.Close()
		ours.Close()
		synctest.Wait()
		for _, at := range pings {
			if after := at.Sub(last); after <= 5*time.Minute {
				t.Errorf("a PING after %v", after)
			}
			last = at
		}
		if len(pings) == 0 {
			t.Error("the edge does not ask at all")
		}
	})
}
