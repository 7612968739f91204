//go:build linux

// Package h3load loads a server over HTTP/3, which Debian's h2load cannot. It shares Config and
// Result with package h2load: connections, each with concurrent streams, each of which sends its
// next request as soon as it has a response.
package h3load

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"github.com/iconedge/iconedge/loadtest/h2load"
)

// Run loads a server until all requests are answered. The measurement includes opening and closing
// the connections, as that of h2load does.
func Run(ctx context.Context, c h2load.Config) (*h2load.Result, error) {
	requests, err := requestsOf(ctx, &c)
	if err != nil {
		return nil, err
	}
	before, err := c.Meter()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	r := &h2load.Result{Protocol: h2load.HTTP3, Total: int64(c.Requests), Started: int64(c.Requests)}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	for range c.Conns {
		wg.Go(func() {
			one := load{config: &c, requests: requests}
			err := one.run(ctx)
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
			one.addTo(r)
		})
	}
	wg.Wait()
	r.Time = time.Since(began)
	after, err := c.Meter()
	r.CPU = after - before
	if err := errors.Join(append(errs, err)...); err != nil {
		return nil, fmt.Errorf("loading over HTTP/3: %w", err)
	}
	if r.Done > 0 {
		r.Mean /= time.Duration(r.Done) // the sum until now
	}
	return r, nil
}

// requestsOf reads the file of URLs, and makes a request of each. Streams share them, because a
// client only reads its requests.
func requestsOf(ctx context.Context, c *h2load.Config) (requests []*http.Request, err error) {
	list, err := os.ReadFile(c.URLs)
	if err != nil {
		return nil, err
	}
	for url := range strings.FieldsSeq(string(list)) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return nil, err
		}
		for _, line := range c.Fields {
			name, value, _ := strings.Cut(line, ": ")
			r.Header.Set(name, value)
		}
		requests = append(requests, r)
	}
	if len(requests) == 0 {
		return nil, errors.New(c.URLs + " has no URLs")
	}
	return requests, nil
}

// A load is one connection, with its counters.
type load struct {
	config         *h2load.Config
	requests       []*http.Request
	tls            tls.ConnectionState
	next           atomic.Int64
	done, ok, data atomic.Int64
	mu             sync.Mutex
	sum, max       time.Duration // of latencies
}

// run opens the connection and sends its share of the requests, the first URL first.
func (l *load) run(ctx context.Context) error {
	config := &tls.Config{RootCAs: l.config.Roots, MinVersion: tls.VersionTLS13, NextProtos: []string{http3.NextProtoH3}}
	conn, err := quic.DialAddr(ctx, l.requests[0].URL.Host, config, nil)
	if err != nil {
		return err
	}
	defer conn.CloseWithError(quic.ApplicationErrorCode(http3.ErrCodeNoError), "")
	l.tls = conn.ConnectionState().TLS
	client := (&http3.Transport{DisableCompression: true}).NewClientConn(conn)
	errs := make(chan error, l.config.Streams)
	for range l.config.Streams {
		go func() { errs <- l.stream(client) }()
	}
	for range l.config.Streams {
		err = errors.Join(err, <-errs)
	}
	return err
}

// stream sends one request after the other.
func (l *load) stream(client *http3.ClientConn) error {
	var sum, longest time.Duration
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.sum, l.max = l.sum+sum, max(l.max, longest)
	}()
	share := int64(l.config.Requests / l.config.Conns)
	for i := l.next.Add(1) - 1; i < share; i = l.next.Add(1) - 1 {
		began := time.Now()
		resp, err := client.RoundTrip(l.requests[i%int64(len(l.requests))])
		if err != nil {
			return err
		}
		n, err := io.Copy(io.Discard, resp.Body)
		if err := errors.Join(err, resp.Body.Close()); err != nil {
			return err
		}
		took := time.Since(began)
		sum, longest = sum+took, max(longest, took)
		l.done.Add(1)
		l.data.Add(n)
		if resp.StatusCode/100 == 2 {
			l.ok.Add(1)
		}
	}
	return nil
}

// addTo adds the counters of the connection to those of all. Mean becomes the sum of the latencies.
func (l *load) addTo(r *h2load.Result) {
	r.Done += l.done.Load()
	r.Succeeded += l.done.Load()
	r.OK += l.ok.Load()
	r.Data += l.data.Load()
	r.Mean, r.Max = r.Mean+l.sum, max(r.Max, l.max)
	r.TLS, r.Cipher = strings.ReplaceAll(tls.VersionName(l.tls.Version), " ", "v"), tls.CipherSuiteName(l.tls.CipherSuite)
}
