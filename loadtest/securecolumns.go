//go:build linux

package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/quic-go/quic-go/http3"

	"github.com/iconedge/iconedge/loadtest/h2load"
	"github.com/iconedge/iconedge/loadtest/load"
	"github.com/iconedge/iconedge/loadtest/mix"
	"github.com/iconedge/iconedge/loadtest/report"
)

// A secureColumn is one kind of request over TLS.
type secureColumn struct {
	name           string
	protocol       string
	conns, streams int
	fields         []string // request header lines
	allPacks       bool     // requests all icons, not only those of one page
}

// secureColumns are the columns that have targets: first with only the fields that h2load sends,
// then with those of a browser, then for the icons of all packs.
var secureColumns = withAllPacks(withBrowser([]secureColumn{
	{name: report.Secure1, protocol: h2load.HTTP1, conns: 64, streams: 1},
	{name: report.Streams1, conns: 64, streams: 1},
	{name: report.Streams10, conns: 16, streams: 10},
	{name: report.Streams50, conns: 4, streams: 50},
	{name: report.Quic1, protocol: h2load.HTTP3, conns: 64, streams: 1},
	{name: report.Quic10, protocol: h2load.HTTP3, conns: 16, streams: 10},
	{name: report.Quic50, protocol: h2load.HTTP3, conns: 4, streams: 50},
}))

func withAllPacks(columns []secureColumn) []secureColumn {
	for _, c := range slices.Clone(columns) {
		if c.protocol != h2load.HTTP1 && c.fields == nil {
			c.name, c.allPacks = report.AllPacks(c.name), true
			columns = append(columns, c)
		}
	}
	return columns
}

func withBrowser(columns []secureColumn) []secureColumn {
	for _, c := range slices.Clone(columns) {
		c.name = report.Browsing(c.name)
		c.fields = slices.DeleteFunc(slices.Clone(mix.Browser), func(line string) bool {
			// HTTP/2 and HTTP/3 have no such field (RFC 9113, section 8.2.2; RFC 9114, section 4.2)
			return strings.HasPrefix(line, "Connection:")
		})
		columns = append(columns, c)
	}
	return columns
}

// config returns the configuration of h2load, without the number of requests.
func (c secureColumn) config(urls string) h2load.Config {
	return h2load.Config{URLs: urls, Protocol: c.protocol, Conns: c.conns, Streams: c.streams, Fields: c.fields}
}

// compare fetches every path with Go's own client and compares the decoded responses with the
// origin's. The first pass fills the cache; the second returns the length of each body.
func (s *secureBench) compare(ctx context.Context, c *secureServer, column secureColumn) (lengths []int64, err error) {
	client := s.client(column.protocol)
	defer client.CloseIdleConnections()
	for pass := range 2 {
		lengths = nil
		for _, p := range s.pathsOf(column) {
			a, err := askSecure(ctx, client, "https://"+c.server.Listen.String()+p, column)
			if err == nil {
				err = s.check(c.name, p, a)
			}
			if err == nil && pass == 1 && isEdge(c.name) && !isHit(a) {
				err = fmt.Errorf("Cache-Status %q: %w", a.Header.Get("Cache-Status"), errFetched)
			}
			if err != nil {
				return nil, fmt.Errorf("GET %s: %w", p, err)
			}
			lengths = append(lengths, int64(len(a.Body)))
		}
	}
	return lengths, nil
}

// check compares a response with the origin's. The smallest server sends other bytes, but as many.
func (s *secureBench) check(server, path string, a load.Answer) error {
	if server == report.Smallest && a.Status == 200 && len(a.Body) == hitBody {
		return nil
	}
	return s.b.reference.check(path, a)
}

// client returns a client that speaks one protocol and trusts the certificate of the bench.
func (s *secureBench) client(protocol string) *http.Client {
	config := &tls.Config{RootCAs: s.pool, MinVersion: tls.VersionTLS13}
	if protocol == h2load.HTTP3 {
		return &http.Client{Timeout: restTime, Transport: &http3.Transport{DisableCompression: true, TLSClientConfig: config}}
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(protocol == h2load.HTTP1)
	protocols.SetHTTP2(protocol != h2load.HTTP1)
	return &http.Client{Timeout: restTime, Transport: &http.Transport{Protocols: protocols, DisableCompression: true,
		TLSClientConfig: config}}
}

// majorOf has the major version of a response by protocol.
var majorOf = map[string]int{h2load.HTTP1: 1, h2load.HTTP2: 2, h2load.HTTP3: 3}

func askSecure(ctx context.Context, client *http.Client, url string, column secureColumn) (a load.Answer, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return a, err
	}
	for _, line := range column.fields {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Set(name, value)
	}
	resp, err := client.Do(r)
	if err != nil {
		return a, err
	}
	defer resp.Body.Close()
	if resp.ProtoMajor != majorOf[cmp.Or(column.protocol, h2load.HTTP2)] {
		return a, fmt.Errorf("the response is in %s: %w", resp.Proto, errWrong)
	}
	a = load.Answer{Status: resp.StatusCode, Header: resp.Header}
	a.Body, err = io.ReadAll(resp.Body)
	return a, err
}
