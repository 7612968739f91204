package h2_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"

	"github.com/iconedge/iconedge/edge/h2"
	"github.com/iconedge/iconedge/edge/request"
)

// prebuilt answers requests for one path without a goroutine: head and body are bytes that it has.
type prebuilt struct{}

func (prebuilt) AnswerH2(dst []byte, r *request.Request, _ *h2.ClientTable) (out []byte, block int, ok bool) {
	if string(r.Target) != "/ready" {
		return dst, 0, false
	}
	start := len(dst)
	dst = h2.AppendField(h2.AppendStatus(dst, http.StatusOK), "content-type", "text/plain")
	block = len(dst) - start
	return append(append(dst, make([]byte, h2.Gap)...), "prebuilt"...), block, true
}

// computed handles all other requests, each on a goroutine of its own.
type computed struct{}

func (computed) Handle(w *h2.Writer, r *h2.Request) {
	if r.Refuse != 0 {
		w.Header(h2.AppendStatus(nil, r.Refuse), true)
		return
	}
	w.Header(h2.AppendField(h2.AppendStatus(nil, http.StatusOK), "content-type", "text/plain"), false)
	fmt.Fprintf(w, "%s %s", r.Method, r.Path)
	w.End()
}

// A server of HTTP/2 has an Answerer for eligible requests, and a Handler for all others.
func Example() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	server := h2.New(prebuilt{}, computed{}, h2.Config{})
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			link := h2.NewLink(conn, false, nil)
			go server.NewConn(link, link, conn.RemoteAddr().(*net.TCPAddr).AddrPort().Addr()).Serve()
		}
	}()

	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true) // without TLS, by prior knowledge
	client := http.Client{Transport: transport}
	for _, path := range []string{"/ready", "/other"} {
		resp, err := client.Get("http://" + listener.Addr().String() + path)
		if err != nil {
			log.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		fmt.Println(resp.Proto, resp.StatusCode, string(body), err)
	}
	client.CloseIdleConnections()
	listener.Close()
	fmt.Println(server.Shutdown(context.Background()))
	// Output:
	// HTTP/2.0 200 prebuilt <nil>
	// HTTP/2.0 200 GET /other <nil>
	// <nil>
}
