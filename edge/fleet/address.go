package fleet

import (
	"errors"
	"net/url"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// ErrURL means that a string is not the address of a Redis. It does not repeat the string, which
// may hold a password.
var ErrURL = errors.New("must be redis://[USER:PASSWORD@]HOST[:PORT][/DB], rediss://... over TLS, or unix:///PATH[?db=N]")

const (
	// dialTimeout covers TCP and TLS. It is shorter than the second after which TCP sends a lost
	// SYN again, so that an attempt made just before Redis is back does not delay the next one.
	dialTimeout = 600 * time.Millisecond

	// ioTimeout is an upper bound: every call has a shorter deadline of its own.
	ioTimeout = 5 * time.Second

	// mostConns is the number of connections for events: reading, and purges of this edge.
	mostConns = 16

	eventConns = 2 // of these that stay open: one reads, and the other writes

	buffer = 4 << 10 // bytes, for reading and for writing; a check and its reply are short
)

// ParseURL reads the address of a Redis. The error is ErrURL.
func ParseURL(s string) (*redis.Options, error) {
	u, err := url.Parse(s)
	if err == nil && u.Port() != "" {
		_, err = strconv.ParseUint(u.Port(), 10, 16)
	}
	if err != nil {
		return nil, ErrURL
	}
	named := u.Hostname() != ""
	if u.Scheme == "unix" {
		named = u.Path != "" && u.Host == ""
	}
	if !named {
		return nil, ErrURL
	}
	o, err := redis.ParseURL(s)
	if err != nil {
		return nil, ErrURL
	}
	// A call is never sent twice, because it might count twice; instead of waiting longer, a check
	// falls back to the edge's own window.
	o.MaxRetries, o.DialerRetries = -1, 1
	o.ContextTimeoutEnabled, o.DialTimeout, o.ReadTimeout, o.WriteTimeout = true, dialTimeout, ioTimeout, ioTimeout
	o.PoolSize, o.PipelinePoolSize, o.ReadBufferSize, o.WriteBufferSize = mostConns, -1, buffer, buffer
	o.ConnMaxIdleTime = -1 // connections stay open
	// The client sends nothing that the oldest supported server does not know: the error reply to
	// an unknown command repeats its arguments, and the password is an argument of HELLO.
	o.Protocol, o.DisableIdentity = 2, true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return o, nil
}
