package problem

import "net/http"

// Mux serves requests by mux. If mux has no pattern for a path or its method, Mux answers with a
// problem that caches must not store.
func Mux(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h, pattern := mux.Handler(r); pattern == "" {
			h.ServeHTTP(&refusal{ResponseWriter: w}, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// A refusal turns the mux's own 404 and 405 into problems, with the Allow field that the mux has
// set. Redirects stay as they are.
type refusal struct {
	http.ResponseWriter
	written bool
}

func (w *refusal) WriteHeader(status int) {
	var p *Problem
	switch status {
	case http.StatusNotFound:
		p = NotFound("nothing is at this path")
	case http.StatusMethodNotAllowed:
		p = MethodNotAllowed(w.Header().Get("Allow"))
	default:
		w.ResponseWriter.WriteHeader(status)
		return
	}
	w.written = true
	p.With("Cache-Control", "no-store").Write(w.ResponseWriter)
}

func (w *refusal) Write(b []byte) (int, error) {
	if w.written {
		return len(b), nil
	}
	return w.ResponseWriter.Write(b)
}
