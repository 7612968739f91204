//go:build linux

package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"github.com/iconedge/iconedge/internal/cli"
)

const smallestHelp = `
Answers every request over HTTP/3 with the same --body bytes, and with no more code than quic-go's http3 needs. No server on
http3 can cost less. It never answers /bench/1000000000.svg, for loadtest quic.

  loadtest smallest --listen 127.0.0.1:8443 --pem FILE --body 1000`

func runSmallest(ctx context.Context, std cli.Streams, args []string) error {
	fs := program.Flags("smallest", "", smallestHelp)
	listen := fs.String("listen", "127.0.0.1:0", "`address` to answer on, by UDP; by TCP it only accepts connections")
	pem := fs.String("pem", "", "`file` of a certificate and its key")
	size := fs.Int("body", 1000, "`bytes` of each response body")
	if err := fs.Parse(std, args); err != nil {
		return err
	}
	if *size < 0 {
		return cli.Usage("--body must not be negative")
	}
	pair, err := tls.LoadX509KeyPair(*pem, *pem)
	if err != nil {
		return cli.Usage("--pem: " + err.Error())
	}
	ready, err := net.Listen("tcp", *listen) // it shows that this process listens
	if err != nil {
		return err
	}
	defer ready.Close()
	conn, err := net.ListenPacket("udp", ready.Addr().String())
	if err != nil {
		return err
	}
	defer conn.Close()
	fmt.Fprintf(std.Err, "listening address=%s\n", ready.Addr())
	kind, length := []string{"image/svg+xml"}, []string{strconv.Itoa(*size)}
	body := bytes.Repeat([]byte("x"), *size)
	server := &http3.Server{
		TLSConfig: http3.ConfigureTLSConfig(&tls.Config{Certificates: []tls.Certificate{pair}}),
		// Allow0RTT is http3's default.
		QUICConfig: &quic.Config{Allow0RTT: true, MaxIdleTimeout: time.Hour},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == waitPath {
				<-r.Context().Done()
			}
			h := w.Header()
			h["Content-Type"], h["Content-Length"] = kind, length
			w.Write(body)
		}),
	}
	defer context.AfterFunc(ctx, func() { server.Close() })()
	if err := server.Serve(conn); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
