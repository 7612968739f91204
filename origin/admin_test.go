package origin

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/iconedge/iconedge/internal/admin"
)

// call sends a request with a Host and header fields to the admin listener. It returns the status.
func (p *process) call(path, host string, fields ...string) int {
	p.Helper()
	r, err := http.NewRequest(http.MethodGet, "http://"+p.admin+path, nil)
	if err != nil {
		p.Fatal(err)
	}
	r.Host = host
	for i := 0; i+1 < len(fields); i += 2 {
		r.Header.Set(fields[i], fields[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		p.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

// The admin listener refuses requests that pages in browsers cause, and reads the token again after
// a signal. Package admin tests the individual cases.
func TestAdmin(t *testing.T) {
	file := filepath.Join(t.TempDir(), "admin-token")
	token := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	token("first")
	signals := make(chan os.Signal, 1)
	p := prepare(t)
	p.run(func(c *Config) {
		c.Admin = admin.Config{TokenFile: file, Hosts: admin.Hosts{"*.svc.cluster.local"}, ProtectMetrics: true}
		c.Reload = signals
	})
	for _, path := range []string{"/healthz", "/readyz", "/metrics", "/nothing"} {
		for _, row := range []struct {
			host   string
			fields []string
			passes bool
		}{
			{p.admin, nil, true},
			{"localhost:8083", nil, true},
			{"origin.web.svc.cluster.local:8083", nil, true},
			{"rebound.example", nil, false},
			{p.admin, []string{"Origin", "null"}, false},
			{p.admin, []string{"Sec-Fetch-Site", "same-site"}, false},
		} {
			if got := p.call(path, row.host, append(row.fields, "Authorization", "Bearer first")...); (got != 403) != row.passes {
				t.Errorf("%s, Host %s, fields %v: status %d, want 403: %v", path, row.host, row.fields, got, !row.passes)
			}
		}
	}
	if health, metrics := p.call("/healthz", p.admin), p.call("/metrics", p.admin); health != 200 || metrics != 401 {
		t.Errorf("without the token: /healthz %d, /metrics %d; want 200 and 401", health, metrics)
	}
	token("second")
	signals <- syscall.SIGHUP
	for deadline := time.Now().Add(2 * time.Minute); p.call("/metrics", p.admin, "Authorization",
		"Bearer second") != 200; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the second token is still refused")
		}
	}
	if got := p.call("/metrics", p.admin, "Authorization", "Bearer first"); got != 401 {
		t.Errorf("the first token: %d, want 401", got)
	}
}

// An origin does not start if its admin token can't be read, or if --admin-protect-metrics is set
// without a token.
func TestAdminAtStart(t *testing.T) {
	for _, wrong := range []admin.Config{{TokenFile: filepath.Join(t.TempDir(), "none")}, {ProtectMetrics: true}} {
		p := prepare(t)
		p.run(func(c *Config) { c.Admin = wrong })
		if err := <-p.ended; err == nil || !strings.Contains(err.Error(), "--admin-") {
			t.Errorf("%+v: %v, want an error that names the flag", wrong, err)
		}
	}
}
