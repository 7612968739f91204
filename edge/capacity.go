package edge

import (
	"cmp"
	"errors"
	"flag"
	"time"
)

// Capacity bounds what clients may take of an edge: connections, time, places before the origin. What is zero has its default.
type Capacity struct {
	IdleTimeout    time.Duration // of a connection on which no request has begun
	RequestTimeout time.Duration // for each MiB of a request, from its first byte to its last
	AnswerTimeout  time.Duration // for each MiB of an answer, until the client has taken it

	MaxConnections          int // at a time; 0: by the descriptors that the process may have
	MaxConnectionsPerClient int // of them, of one address; trusted proxies and edges behind this one may have more; 0: half of them
	MaxWaiting              int // requests that wait for the origin at a time

	clientBytes int64 // memory that one client may hold; filled sets it
}

const (
	defaultIdle    = 20 * time.Second
	defaultRequest = 20 * time.Second
	defaultAnswer  = 30 * time.Second
	defaultWaiting = 2000

	mostConnections  = 16384 // by default: each costs up to some 70 kB
	otherDescriptors = 4     // one in so many is left for the origin, the disk, the listeners and the admin,
	leastOthers      = 320   // and at least so many: an origin may have 256
	scarceOthers     = 2     // but no more than one in so many
)

// flags defines them on fs.
func (c *Capacity) flags(fs *flag.FlagSet) {
	fs.DurationVar(&c.IdleTimeout, "idle-timeout", defaultIdle, "`time` after which a connection is closed on which no request begins")
	fs.DurationVar(&c.RequestTimeout, "request-timeout", defaultRequest, "`time` for a whole request, from its first byte to its last; one longer than 1 MiB has as much again for each further MiB")
	fs.DurationVar(&c.AnswerTimeout, "answer-timeout", defaultAnswer, "`time` that a client has to take a whole answer; for one longer than 1 MiB as much again for each further MiB")
	fs.IntVar(&c.MaxConnections, "max-connections", 0, "`number` of connections at a time; beyond, the client that holds most loses one on which it asks for nothing (default three in four of the descriptors that the process may have, less where those are fewer than 1280, at most 16384)")
	fs.IntVar(&c.MaxConnectionsPerClient, "max-connections-per-client", 0, "`number` of connections of one client at a time, an address or an IPv6 /64; trusted proxies and edges behind this one may have more (default half of all)")
	fs.IntVar(&c.MaxWaiting, "max-waiting", defaultWaiting, "`number` of requests that wait for the origin at a time; beyond, what the cache can't answer is a 503 at once")
}

func (c *Capacity) validate() error {
	var errs []error
	if min(c.IdleTimeout, c.RequestTimeout, c.AnswerTimeout) < 0 {
		errs = append(errs, errors.New("--idle-timeout, --request-timeout and --answer-timeout must not be negative"))
	}
	if min(c.MaxConnections, c.MaxConnectionsPerClient, c.MaxWaiting) < 0 {
		errs = append(errs, errors.New("--max-connections, --max-connections-per-client and --max-waiting must not be negative"))
	}
	return errors.Join(errs...)
}

// filled is c with the defaults in place of what is zero.
func (c Capacity) filled() Capacity {
	c.IdleTimeout = cmp.Or(c.IdleTimeout, defaultIdle)
	c.RequestTimeout = cmp.Or(c.RequestTimeout, defaultRequest)
	c.AnswerTimeout = cmp.Or(c.AnswerTimeout, defaultAnswer)
	places := shareOf(descriptors())
	// An operator who allows one client so many connections allows it their memory, too.
	c.clientBytes = max(maxEach, int64(c.MaxConnectionsPerClient)*secureCosts)
	c.MaxConnections = cmp.Or(c.MaxConnections, places)
	c.MaxConnectionsPerClient = cmp.Or(c.MaxConnectionsPerClient, halfOf(min(c.MaxConnections, places)))
	c.MaxWaiting = cmp.Or(c.MaxWaiting, defaultWaiting)
	return c
}

// shareOf is how many connections there may be by default, of so many descriptors; 0: that is not known.
func shareOf(descriptors int) int {
	if descriptors == 0 {
		return mostConnections
	}
	others := max(descriptors/otherDescriptors, min(leastOthers, descriptors/scarceOthers))
	return max(1, min(descriptors-others, mostConnections))
}

// halfOf is how many of so many places one client may take by default: the other half is left for all others.
func halfOf(places int) int { return max(1, places/2) }
