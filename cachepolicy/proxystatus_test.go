package cachepolicy

import (
	"strings"
	"testing"

	"github.com/dunglas/httpsfv"
)

func TestProxyStatus(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		status ProxyStatus
		want   string
	}{
		{ProxyStatus{Error: DNSError}, "iconedge; error=dns_error"},
		{ProxyStatus{Proxy: "fra-1", Error: ConnectionTimeout}, "fra-1; error=connection_timeout"},
		{ProxyStatus{Proxy: "1.fra", Error: ConnectionTimeout}, `"1.fra"; error=connection_timeout`},
		{ProxyStatus{Error: TLSCertificateError, Details: "x509: \"a\"\r\nX: é"},
			`iconedge; error=tls_certificate_error; details="x509: \"a\"X: "`},
		{ProxyStatus{Error: DNSError, Details: strings.Repeat("a", 10_000)}, `iconedge; error=dns_error; details="` + strings.Repeat("a", 256) + `"`},
	} {
		got := string(AppendProxyStatus(nil, row.status))
		if got != row.want {
			t.Errorf("%+v: %s, want %s", row.status, got, row.want)
		}
		if _, err := httpsfv.UnmarshalList([]string{got}); err != nil {
			t.Errorf("%s is no list: %v", got, err)
		}
	}
}
