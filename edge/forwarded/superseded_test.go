package forwarded

import (
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/iconedge/iconedge/edge/fetch/fetchtest"
)

// A response that may not be stored ends the use of an earlier, stored response, unless it is for
// one client, or an error that may be over soon (RFC 9111, section 4.3.3).
func TestSuperseded(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		status int
		fields []string // of the later response
		cookie string   // of the request that revalidates
		stays  bool
	}{
		{"no-store", 200, []string{"Cache-Control", "no-store"}, "", false},
		{"private", 200, []string{"Cache-Control", "private"}, "", false},
		{"private in a 304", 304, []string{"Cache-Control", "private"}, "", false},
		{"a redirect without a lifetime", 302, nil, "", false},
		{"not found, without a lifetime", 404, nil, "", false},
		{"gone", 410, []string{"Cache-Control", "no-store"}, "", false},
		{"a new session", 200, []string{"Set-Cookie", "session=1"}, "", true},
		{"a new session in a 304", 304, []string{"Set-Cookie", "session=1"}, "", true},
		{"the page of a user", 200, []string{"Cache-Control", "private"}, "session=1", true},
		{"forbidden", 403, nil, "", true},
		{"overloaded", 503, nil, "", true},
	} {
		var later atomic.Bool
		e, s := newTest(t, map[string]http.HandlerFunc{"/page": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("ETag", `"1"`)
			if !later.Load() {
				w.Header().Set("Cache-Control", "max-age=60, stale-while-revalidate=86400")
				io.WriteString(w, "stored")
				return
			}
			if row.status != http.StatusNotModified {
				w.Header().Del("ETag")
			}
			for i := 0; i < len(row.fields); i += 2 {
				w.Header().Set(row.fields[i], row.fields[i+1])
			}
			w.WriteHeader(row.status)
		}})
		e.get(t, "/page")
		e.age(t, "/page", time.Hour)
		later.Store(true)
		var fields []string
		if row.cookie != "" {
			fields = []string{"Cookie", row.cookie}
		}
		if a := e.get(t, "/page", fields...); a.Body != "stored" {
			t.Errorf("%s: while it revalidates the edge answers %d %q", row.name, a.StatusCode, a.Body)
		}
		fetchtest.Settled(t, row.name+": the edge has asked",
			func() bool { return len(s.Requests("/page")) == 2 && e.Cache.Callers() == 0 })
		if stays := e.Cache.Get("http://edge.test/page") != nil; stays != row.stays {
			t.Errorf("%s: the stored response is still there: %v, want %v", row.name, stays, row.stays)
		}
	}
}
