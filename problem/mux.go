package problem

import "net/http"

// Mux answers by mux; what mux has no pattern for, or not for that method, is a problem that nobody keeps.
func Mux(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h, pattern := mux.Handler(r); pattern == "" {
			h.ServeHTTP(&refusal{ResponseWriter: w}, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// A refusal writes the mux's own 404 and 405 as problems, with the Allow that it has set; a redirect stays one.
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
