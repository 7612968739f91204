package fleet

import (
	"errors"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// ErrURL says that a string is no address of a Redis. It does not repeat the string, which may hold a password.
var ErrURL = errors.New("must be redis://[USER:PASSWORD@]HOST[:PORT][/DB], rediss://... over TLS, or unix:///PATH[?db=N]")

const (
	dialIn   = 600 * time.Millisecond // TCP and TLS; less than the second after which a lost SYN is sent again, so that an attempt made just before Redis is back does not hold up the next
	answerIn = 5 * time.Second        // at the most: every call has a shorter time of its own
	poolSize = 128                    // connections for checks, made ahead: each is busy for a round trip, which makes 1,600 checks a second where that takes 80 ms
	buffer   = 4 << 10                // bytes, for reading and for writing: a check and its answer are short
)

// ParseURL reads the address of a Redis. The error is ErrURL.
func ParseURL(s string) (*redis.Options, error) {
	u, err := url.Parse(s)
	if err == nil && u.Port() != "" {
		_, err = strconv.ParseUint(u.Port(), 10, 16)
	}
	if err != nil || u.Scheme == "unix" && (u.Path == "" || u.Host != "") || u.Scheme != "unix" && u.Hostname() == "" {
		return nil, ErrURL
	}
	o, err := redis.ParseURL(s)
	if err != nil {
		return nil, ErrURL
	}
	// A call that is sent twice may count twice; who waits for a check is better off with the edge's own window.
	o.MaxRetries, o.DialerRetries = -1, 1
	o.ContextTimeoutEnabled, o.DialTimeout, o.ReadTimeout, o.WriteTimeout = true, dialIn, answerIn, answerIn
	o.PoolSize, o.PipelinePoolSize, o.ReadBufferSize, o.WriteBufferSize = poolSize, -1, buffer, buffer
	o.ConnMaxIdleTime = -1 // they stay
	// Nothing that the oldest server does not know: what it answers to that names the words, and the password is among those of HELLO.
	o.Protocol, o.DisableIdentity = 2, true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return o, nil
}

// plain is an error without the password, which a server repeats that does not know the command it came with.
func (f *Fleet) plain(err error) error {
	if p := f.server.Password; p != "" && strings.Contains(err.Error(), p) {
		return errors.New(strings.ReplaceAll(err.Error(), p, "*"))
	}
	return err
}

// connect makes a client, which connects when it is used.
func (f *Fleet) connect() *redis.Client {
	o := *f.server
	return redis.NewClient(&o)
}
