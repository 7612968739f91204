//go:build linux

package peers

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/iconedge/iconedge/loadtest/load"
	"github.com/iconedge/iconedge/loadtest/mix"
)

// Metric reads a metric of an edge, and adds up its values for all labels.
func (s *Server) Metric(ctx context.Context, name string) (sum float64, err error) {
	m := mix.Maker{Host: s.Admin.String()}
	err = load.Ask(ctx, s.Admin, 1, func(int) []byte { return m.Get("/metrics") }, func(_ int, a load.Answer) error {
		found := false
		for line := range strings.Lines(string(a.Body)) {
			of, value, _ := strings.Cut(strings.TrimSpace(line), " ")
			if of, _, _ = strings.Cut(of, "{"); of != name {
				continue
			}
			n, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return fmt.Errorf("metric %s: %w", name, err)
			}
			found, sum = true, sum+n
		}
		if !found {
			return fmt.Errorf("status %d, and no %s among the metrics", a.Status, name)
		}
		return nil
	})
	return sum, err
}

// Ready waits until /readyz of the admin listener says that the server is ready.
func (s *Server) Ready(ctx context.Context) error {
	for {
		response, err := http.Get("http://" + s.Admin.String() + "/readyz")
		if err == nil {
			response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return nil
			}
		}
		if err := s.Ended(); err != nil {
			return err
		}
		if err := load.Pause(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
}
