package origin

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/internal/trace/tracetest"
)

// An origin traces a request, with its calls to the store, exactly if the edge has decided to. If
// the edge has not decided, the origin samples.
func TestTraced(t *testing.T) {
	t.Parallel() // waits until the spans are sent
	c := tracetest.New(t)
	p := prepare(t)
	p.publish("M1 1h1z")
	p.run(func(cfg *Config) { cfg.Trace.Endpoint, cfg.Trace.Sample = c.URL, 0 })
	p.until(p.admin, "/readyz", 200, "ok")
	token := p.newToken()
	verify := func(flags string) {
		r, err := http.NewRequest(http.MethodPost, "http://"+p.public+"/api/v1/auth/verify", strings.NewReader(`{"token":"`+token+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		if flags != "" {
			r.Header.Set("Traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-"+flags)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	verify("00")
	verify("")
	token = p.newToken() // the origin still remembers the first one, and would not use the store
	verify("01")
	s := c.Find(t, "iconedge-origin", "server", "/api/v1/auth/verify")
	if s.Name != "POST /api/v1/auth/verify" || s.Parent != "00f067aa0ba902b7" ||
		s.Trace != "4bf92f3577b34da6a3ce929d0e0e4736" || s.Attributes["http.response.status_code"] != "200" ||
		s.Attributes["network.protocol.version"] != "1.1" {
		t.Errorf("span of the request: %+v", s)
	}
	if store := c.Find(t, "iconedge-origin", "internal", ""); store.Name != "store open" || store.Parent != s.ID || store.Failed {
		t.Errorf("span of the store: %+v", store)
	}
	metrics, err := http.NewRequest(http.MethodGet, "http://"+p.admin+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	metrics.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
	resp, err := http.DefaultClient.Do(metrics)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if n := strings.Count(string(text), `# {trace_id="4bf92f3577b34da6a3ce929d0e0e4736"}`); n != 1 {
		t.Errorf("the metrics have %d exemplars, want the one traced request", n)
	}
	p.stop()
	<-p.ended
	if strings.Contains(strings.ToLower(p.log.String()), "trac") {
		t.Errorf("the log mentions tracing: %s", p.log.String())
	}
}
