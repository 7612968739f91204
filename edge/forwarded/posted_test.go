package forwarded

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// The response to a POST that is stored for later GETs is not stored if a purge, or another POST,
// has invalidated its address since the request was sent.
func TestPostedInFlight(t *testing.T) {
	t.Parallel()
	for name, between := range map[string]func(t *testing.T, e *test){
		"nothing": nil,
		"a purge": func(t *testing.T, e *test) { e.purge("/page", false) },
		"a POST":  func(t *testing.T, e *test) { e.do(t, http.MethodPost, "/page") },
	} {
		var n atomic.Int64
		first, answer := make(chan struct{}), make(chan struct{})
		e, _ := newTest(t, map[string]http.HandlerFunc{"/page": func(w http.ResponseWriter, r *http.Request) {
			i := n.Add(1)
			if i == 1 && between != nil {
				close(first)
				<-answer
			}
			if r.Method == http.MethodPost && i == 1 {
				w.Header().Set("Cache-Control", "max-age=600")
				w.Header().Set("Content-Location", "/page")
			}
			fmt.Fprint(w, i)
		}})
		posted := make(chan struct{})
		go func() {
			defer close(posted)
			e.do(t, http.MethodPost, "/page")
		}()
		if between != nil {
			<-first
			between(t, e)
			close(answer)
		}
		<-posted
		a := e.get(t, "/page")
		if hit := strings.Contains(a.Header.Get("Cache-Status"), "hit"); hit != (between == nil) {
			t.Errorf("%s in between: the GET after it gets %q, %s", name, a.Body, a.Header.Get("Cache-Status"))
		}
	}
}
