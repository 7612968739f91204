package top

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/iconedge/iconedge/internal/problem"
)

// Path is the path of the report on the admin listener.
const Path = "/top"

const (
	defaultRows = 20
	maxRows     = 1000
)

// Handler returns the handler of GET /top?window=10s&rows=20, which answers a Report as JSON.
func (c *Counts) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		within, rows, err := parameters(r.URL.Query())
		if err != nil {
			err.With("Cache-Control", "no-store").Write(w)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		out := json.NewEncoder(w)
		out.SetEscapeHTML(false)
		out.Encode(c.Report(time.Now(), within, rows))
	})
}

func parameters(q url.Values) (within time.Duration, rows int, p *problem.Problem) {
	within, rows = span, defaultRows
	var err error
	if q.Has("window") {
		if within, err = time.ParseDuration(q.Get("window")); err != nil || within <= 0 || within > Longest {
			return 0, 0, problem.BadParameter("window", "window must be a time of at most "+Longest.String()+", such as 10s")
		}
	}
	if q.Has("rows") {
		if rows, err = strconv.Atoi(q.Get("rows")); err != nil || rows < 1 || rows > maxRows {
			return 0, 0, problem.BadParameter("rows", "rows must be a number from 1 to "+strconv.Itoa(maxRows))
		}
	}
	return within, rows, nil
}
