package edge

import (
	"fmt"
	"log/slog"
	"strings"

	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/valyala/fasthttp"
)

// newHTTP1 returns the server of HTTP/1.1. It sets no deadlines, because its connections
// (conns.go) enforce those for whole requests and responses. A slow client occupies a connection
// for a bounded time, and nothing else.
func newHTTP1(s *server) *fasthttp.Server {
	return &fasthttp.Server{
		Handler:                      s.serveH1,
		ErrorHandler:                 s.serveUnreadable,
		HeaderReceived:               received,
		ReadBufferSize:               exchange.MaxHead,
		WriteBufferSize:              16 << 10,
		MaxRequestBodySize:           s.options.MaxBody,
		NoDefaultServerHeader:        true,
		NoDefaultDate:                true, // writeH1 writes it
		NoDefaultContentType:         true,
		DisablePreParseMultipartForm: true,
		CloseOnShutdown:              true,
		SecureErrorLogMessage:        true, // the bytes of a request may contain a token
		Logger:                       serverLog{s.options.Log},
	}
}

// received removes Expect from a request in HTTP/1.0, whose client does not know a 100 (RFC 9110,
// section 10.1.1). It also removes it from a request with a long body, because the connection (h1)
// has already sent the 100.
func received(h *fasthttp.RequestHeader) (defaults fasthttp.RequestConfig) {
	if !h.IsHTTP11() || h.ContentLength() > exchange.MaxBody && strings.EqualFold(string(h.Peek(fasthttp.HeaderExpect)), "100-continue") {
		h.Del(fasthttp.HeaderExpect)
	}
	return defaults
}

type serverLog struct{ log *slog.Logger }

// Printf logs the server's messages about broken connections. Most of them are caused by clients.
func (l serverLog) Printf(format string, args ...any) {
	l.log.Debug("http server", "said", fmt.Sprintf(format, args...))
}
