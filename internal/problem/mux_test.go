package problem

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestMux(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ready") })
	mux.HandleFunc("POST /gone/{what}", func(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) })
	for _, row := range []struct {
		call        string
		status      int
		body, allow string
		problem     bool
	}{
		{"GET /readyz", 200, "ready", "", false},
		{"POST /readyz", 405, `"detail":"this address takes GET, HEAD"`, "GET, HEAD", true},
		{"GET /<nothing>", 404, `"status":404`, "", true},
		{"GET //readyz", 307, "", "", false},
		// Mux leaves a handler's answer alone.
		{"POST /gone/x", 404, "404 page not found", "", false},
	} {
		method, path, _ := strings.Cut(row.call, " ")
		w := httptest.NewRecorder()
		Mux(mux).ServeHTTP(w, httptest.NewRequest(method, "http://admin.test"+path, nil))
		h := w.Header()
		if w.Code != row.status || !strings.Contains(w.Body.String(), row.body) ||
			strings.Contains(w.Body.String(), "nothing>") || h.Get("Allow") != row.allow ||
			(h.Get("Content-Type") == ContentType) != row.problem || (h.Get("Cache-Control") == "no-store") != row.problem {
			t.Errorf("%s: %d %v %s", row.call, w.Code, h, w.Body)
		}
	}
}
