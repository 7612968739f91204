package authority

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

type counted struct {
	failed, missing int
	end             time.Time
}

func (c *counted) AuthorityFailed() { c.failed++ }

func (c *counted) AuthorityCertificates(missing int, end time.Time) { c.missing, c.end = missing, end }

// Hosts without a certificate are ordered at the start and, after a failure, seldom enough for the
// limits of an authority. A renewed certificate is noticed.
func TestKeeper(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		orders, fails, end, seen := map[string]int{}, true, time.Now().Add(90*24*time.Hour), &counted{}
		hosts := []string{"a.test", "b.test"}
		k := &Keeper{Hosts: func() []string { return hosts }, Log: slog.New(slog.NewTextHandler(&log, nil)), Observer: seen,
			Get: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
				orders[hello.ServerName]++
				if hello.ServerName == "a.test" && fails {
					return nil, errors.New("no way to a.test")
				}
				return &tls.Certificate{Leaf: &x509.Certificate{NotAfter: end}}, nil
			}}
		step := func() {
			for _, name := range k.due(time.Now()) {
				k.order(name)
			}
		}
		for range 6 * 60 { // an hour
			step()
			time.Sleep(10 * time.Second)
		}
		if orders["a.test"] > 5 || orders["a.test"] < 3 || seen.missing != 1 ||
			fmt.Sprint(k.Missing()) != "[a.test]" || !seen.end.Equal(end) {
			t.Errorf("%v, %+v, missing %v", orders, seen, k.Missing())
		}
		fails, end = false, end.Add(time.Hour)
		for range 6 * 60 {
			step()
			time.Sleep(10 * time.Second)
		}
		if seen.missing != 0 || len(k.Missing()) != 0 || !seen.end.Equal(end) {
			t.Errorf("%+v, missing %v", seen, k.Missing())
		}
		if n := strings.Count(log.String(), `msg="ACME certificate in use"`); n != 3 {
			t.Errorf("%d lines, want the two certificates and a renewal:\n%s", n, log.String())
		}
		locked, before := true, orders["b.test"]
		k.Lock = func(host string) (func(), bool) { return func() { locked = false }, host == "b.test" }
		step()
		if orders["b.test"] != before+1 || locked || orders["a.test"] != 0 && k.hosts["a.test"].ordered {
			t.Errorf("%v; the lock of b.test is held: %v", orders, locked)
		}
		k.Lock = nil
		hosts = hosts[:1]
		if step(); len(k.hosts) != 1 {
			t.Errorf("a removed host stays: %v", k.hosts)
		}
	})
}

type answers []http.Response

func (a *answers) RoundTrip(*http.Request) (*http.Response, error) {
	if len(*a) == 0 {
		return nil, errors.New("connection refused")
	}
	next := (*a)[0]
	*a = (*a)[1:]
	return &next, nil
}

// Each exchange is a line of the log, and a failed one is counted. The client gets the response as
// it was.
func TestExchanges(t *testing.T) {
	for _, row := range []struct {
		code   int
		body   string
		failed int
		log    string
	}{
		{201, `{"status":"pending"}`, 0, `level=INFO msg="ACME request" method=POST path=/order code=201 status=pending`},
		{200, `{"status":"valid","identifier":{"type":"dns","value":"a.test"}}`, 0, `status=valid host=a.test`},
		{200, `{"status":"invalid","identifier":{"value":"a.test"},"challenges":[{"error":{"detail":"no TLS"}}]}`, 1,
			`level=ERROR msg="ACME request failed" method=POST path=/order code=200 status=invalid host=a.test detail="no TLS"`},
		{400, `{"type":"urn:ietf:params:acme:error:badNonce","detail":"old"}`, 0, `level=INFO`},
		{429, `{"type":"urn:ietf:params:acme:error:rateLimited","detail":"too many"}`, 1, `code=429 detail="too many"`},
		{200, "-----BEGIN CERTIFICATE-----\n" + strings.Repeat("x", 2*maxAnswer), 0, `code=200`},
		{0, "", 1, `level=ERROR msg="ACME authority unreachable" method=POST url=https://authority.test/order err="connection refused"`},
	} {
		var log bytes.Buffer
		seen, next := &counted{}, &answers{}
		if row.code > 0 {
			*next = append(*next, http.Response{StatusCode: row.code, Body: io.NopCloser(strings.NewReader(row.body))})
		}
		e := &Exchanges{Next: next, Log: slog.New(slog.NewTextHandler(&log, nil)), Observer: seen}
		r, _ := http.NewRequest("POST", "https://authority.test/order", nil)
		resp, err := e.RoundTrip(r)
		if seen.failed != row.failed || !strings.Contains(log.String(), row.log) || strings.Count(log.String(), "\n") != 1 {
			t.Errorf("%d %.60s: %d failed, log %s, want %s", row.code, row.body, seen.failed, log.String(), row.log)
		}
		if err != nil {
			continue
		}
		if body, _ := io.ReadAll(resp.Body); string(body) != row.body {
			t.Errorf("%d: the client gets %d bytes of %d", row.code, len(body), len(row.body))
		}
	}
}
