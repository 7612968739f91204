//go:build linux

package load

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// An Answer is a complete response, for use before the measurement.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte // as received, with its content coding
}

const (
	askers   = 8
	askTime  = 30 * time.Second
	attempts = 3
)

// Ask sends n requests over a few connections and calls each for every response, concurrently. It
// stops at the first error. It follows no redirects and decodes nothing.
func Ask(ctx context.Context, target netip.AddrPort, n int, request func(i int) []byte, each func(i int, a Answer) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var wg sync.WaitGroup
	var next atomic.Int64
	for range min(askers, n) {
		wg.Go(func() {
			a := sender{target: target}
			defer a.close()
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				if err := a.sendOne(ctx, request(i), func(answer Answer) error { return each(i, answer) }); err != nil {
					stop(err)
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// A sender is one connection.
type sender struct {
	target netip.AddrPort
	conn   net.Conn
	in     *bufio.Reader
}

func (a *sender) close() {
	if a.conn != nil {
		a.conn.Close()
		a.conn = nil
	}
}

// sendOne sends one request. If the server closed the connection meanwhile, it sends the request
// once more on a new one.
func (a *sender) sendOne(ctx context.Context, request []byte, each func(Answer) error) error {
	line, _, _ := bytes.Cut(request, []byte("\r\n"))
	var errs error
	for range attempts {
		answer, err := a.ask(ctx, request)
		if err == nil {
			if err := each(answer); err != nil {
				return fmt.Errorf("%s: %w", line, err)
			}
			return nil
		}
		a.close()
		errs = fmt.Errorf("requesting from %s %s: %w", a.target, line, err)
		if ctx.Err() != nil || !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
			break
		}
	}
	return errs
}

func (a *sender) ask(ctx context.Context, request []byte) (answer Answer, err error) {
	if a.conn == nil {
		d := net.Dialer{Timeout: dialTime}
		if a.conn, err = d.DialContext(ctx, "tcp", a.target.String()); err != nil {
			return answer, err
		}
		a.in = bufio.NewReader(a.conn)
	}
	a.conn.SetDeadline(time.Now().Add(askTime))
	if _, err := a.conn.Write(request); err != nil {
		return answer, err
	}
	method, _, _ := bytes.Cut(request, []byte(" "))
	r, err := http.ReadResponse(a.in, &http.Request{Method: string(method)})
	if err != nil {
		return answer, err
	}
	defer r.Body.Close()
	answer = Answer{Status: r.StatusCode, Header: r.Header}
	if answer.Body, err = io.ReadAll(r.Body); err == nil && r.Close {
		a.close()
	}
	return answer, err
}
