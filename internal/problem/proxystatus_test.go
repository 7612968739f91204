package problem

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/dunglas/httpsfv"
)

func TestProxyStatus(t *testing.T) {
	t.Parallel()
	long := errors.New(strings.Repeat("a", 10_000))
	for _, row := range []struct {
		problem *Problem
		node    string
		want    string // for a client that the operator trusts
	}{
		{New(502, "").OfType(DNSError), "iconedge", "iconedge; error=dns_error"},
		{New(504, "").OfType(ConnectionTimeout), "fra-1", "fra-1; error=connection_timeout"},
		{New(504, "").OfType(ConnectionTimeout), "1.fra", `"1.fra"; error=connection_timeout`},
		{New(502, "").OfType(TLSCertificateError).Because(errors.New("x509: \"a\\\"\r\nX: é")), "a",
			`a; error=tls_certificate_error; details="x509: \"a\\\"X: "`},
		{New(502, "").OfType(DNSError).Because(long), "a", `a; error=dns_error; details="` + strings.Repeat("a", 256) + `"`},
		{New(http.StatusForbidden, ""), "a", "a; error=http_request_denied"},
		{New(http.StatusTooManyRequests, ""), "a", "a; error=http_request_denied"},
		{New(http.StatusBadRequest, ""), "a", "a; error=http_request_error"},
		{New(http.StatusInternalServerError, "").Because(errors.New("b")), "a", `a; error=proxy_internal_error; details="b"`},
	} {
		got := row.problem.ProxyStatus(row.node, true)
		if got != row.want {
			t.Errorf("%+v: %s, want %s", row.problem, got, row.want)
		}
		if _, err := httpsfv.UnmarshalList([]string{got}); err != nil {
			t.Errorf("%s is no list: %v", got, err)
		}
		public, _, _ := strings.Cut(row.want, "; details")
		if got := row.problem.ProxyStatus(row.node, false); got != public {
			t.Errorf("%+v: others get %s, want %s", row.problem, got, public)
		}
	}
}
