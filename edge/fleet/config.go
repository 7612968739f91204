package fleet

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/iconedge/iconedge/internal/files"
)

// Sharing configures the state that edges share. Without Redis each edge counts and purges alone.
type Sharing struct {
	Redis        string // URL of a Redis or Valkey; empty: none
	PasswordFile string // holds the password of Redis; empty: the URL's
	Node         string // the name of this edge in Proxy-Status; empty: iconedge
	Region       string // edges of one region share limits; purges and releases reach all regions

	RedisTimeout time.Duration // for a check of a limit; 0: the default
}

// Flags defines the flags of Sharing on fs. The URL is a plain string, because the flag package
// would print the invalid text of a typed value, with its password.
func (s *Sharing) Flags(fs *flag.FlagSet) {
	fs.StringVar(&s.Redis, "redis", "", "`URL` of a Redis or Valkey through which edges share limits, purges and "+
		"releases: redis://[USER:PASSWORD@]HOST[:PORT][/DB], rediss://... or unix:///PATH (default none)")
	fs.StringVar(&s.PasswordFile, "redis-password-file", "", "`file` of the password of Redis, instead of one in "+
		"--redis; read again when it changes, for new connections (default none)")
	fs.StringVar(&s.Region, "region", "", "`NAME` of the region whose edges share their limits: letters, digits and "+
		"._- (default the region without a name)")
	fs.StringVar(&s.Node, "node", "", "`NAME` of this edge in the field Proxy-Status of the errors that it makes: letters, "+
		"digits and ._- (default iconedge)")
}

// Validate returns every error of the configuration.
func (s *Sharing) Validate() error {
	var errs []error
	server, err := ParseURL(s.Redis)
	switch {
	case s.Redis == "" && s.PasswordFile != "":
		errs = append(errs, errors.New("--redis-password-file requires --redis"))
	case s.Redis != "" && err != nil:
		errs = append(errs, fmt.Errorf("--redis %w", err))
	case s.Redis != "" && s.PasswordFile != "" && server.Password != "":
		errs = append(errs, errors.New("--redis must have no password beside --redis-password-file"))
	}
	_, err = s.open()
	errs = append(errs, err)
	for _, row := range []struct{ flag, name string }{{"--node", s.Node}, {"--region", s.Region}} {
		if len(row.name) > maxName || strings.Trim(row.name, nameAlphabet) != "" {
			errs = append(errs, fmt.Errorf("%s must consist of letters, digits and ._-, at most %d bytes", row.flag, maxName))
		}
	}
	return errors.Join(errs...)
}

const (
	maxName      = 64
	nameAlphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
)

// credentials are what Redis requires, from files that are read again when they change.
type credentials struct {
	files.Set
	password *Password // nil: that of the URL
}

func (s *Sharing) open() (*credentials, error) {
	c := &credentials{}
	c.Add("--redis-password-file", s.PasswordFile, func(path string) (k *files.Watched, err error) {
		c.password, err = OpenPassword(path)
		return c.password.Watched, err
	})
	return c, c.Err()
}

// Connect opens the connection to Redis. Until ctx ends, it reads the password again when its file
// changes or a signal arrives. It calls checked with the duration of each check of a limit there.
func (s *Sharing) Connect(ctx context.Context, signals <-chan os.Signal, log *slog.Logger, checked func(time.Duration)) (*Fleet, error) {
	c, err := s.open()
	if err != nil {
		return nil, err
	}
	f, err := Open(Options{URL: s.Redis, Password: c.password, Region: s.Region, Timeout: s.RedisTimeout, Log: log, Checked: checked})
	if err != nil {
		return nil, fmt.Errorf("opening --redis: %w", err)
	}
	go c.Run(ctx, signals, log)
	return f, nil
}
