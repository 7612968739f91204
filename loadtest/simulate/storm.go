//go:build linux

package simulate

import (
	"context"
	"time"

	"github.com/iconedge/iconedge/loadtest/load"
)

// A storm is what a Redis gets that has started again.
type storm struct {
	connections  float64         // accepted until all edges were back
	perSecond    float64         // the most connections in a second
	commands     float64         // the most commands in a second
	noticed      int             // edges whose checks found Redis gone
	dropped      int             // edges that dropped their caches
	logs, checks []time.Duration // until the edges read the log, and check limits there
}

const watchInterval = 100 * time.Millisecond

// watch reads the counts of Redis until ctx ends.
func (s *server) watch(ctx context.Context) (peak storm) {
	var all []usage
	for load.Pause(ctx, watchInterval) == nil {
		u, err := s.read()
		if err != nil {
			continue
		}
		all = append(all, u)
		peak.connections = u.connections
		from := 0 // a second ago
		for i := range all {
			if u.at.Sub(all[i].at) > time.Second {
				from = i
			}
		}
		if seconds := u.at.Sub(all[from].at).Seconds(); seconds > 0.5 {
			peak.perSecond = max(peak.perSecond, (u.connections-all[from].connections)/seconds)
			peak.commands = max(peak.commands, (u.commands-all[from].commands)/seconds)
		}
	}
	return peak
}
