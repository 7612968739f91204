package tunnel

import (
	"cmp"
	"errors"
	"flag"
	"time"
)

// Limits bounds the tunnels of an edge. Zero values have their defaults.
type Limits struct {
	MaxTunnels int           // at a time
	TunnelIdle time.Duration // until a tunnel is closed in which no bytes move, in either direction
}

const (
	mostTunnels = 4096 // by default
	// Of the connections of clients, one in tunnelPart may be a tunnel by default, because each has
	// another descriptor, of its connection to the origin.
	tunnelPart  = 4
	defaultIdle = 10 * time.Minute
)

// Flags defines the flags of Limits on fs.
func (l *Limits) Flags(fs *flag.FlagSet) {
	fs.IntVar(&l.MaxTunnels, "max-tunnels", 0, "with --proxy-all, `number` of tunnels (WebSocket and other upgrades) "+
		"at a time, each with a connection of its own to the origin; one client may have half of them; beyond it the "+
		"edge answers 503 (default a quarter of --max-connections, at most 4096)")
	fs.DurationVar(&l.TunnelIdle, "tunnel-idle", defaultIdle,
		"`time` after which the edge closes a tunnel in which no bytes have moved in either direction")
}

// Validate reports all errors in l.
func (l *Limits) Validate() error {
	if l.MaxTunnels < 0 || l.TunnelIdle < 0 {
		return errors.New("--max-tunnels and --tunnel-idle must not be negative")
	}
	return nil
}

// Filled returns l with the defaults in place of zero values, for an edge that may have so many
// connections.
func (l Limits) Filled(connections int) Limits {
	return Limits{cmp.Or(l.MaxTunnels, max(1, min(connections/tunnelPart, mostTunnels))), cmp.Or(l.TunnelIdle, defaultIdle)}
}

// PerClient returns the number of tunnels that one client may have at a time. The other half is
// left for all other clients.
func (l Limits) PerClient() int { return max(1, l.MaxTunnels/2) }
