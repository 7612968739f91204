package certs

import (
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/tls"
	"sync/atomic"
	"time"

	"github.com/iconedge/iconedge/internal/files"
)

// minTicketSecret is the least number of bytes of a secret for session tickets. It is more than
// that of other secrets, because an attacker with a ticket can try secrets without asking an edge.
const minTicketSecret = 32

// Tickets encrypts and decrypts session tickets with keys that follow from a secret and the date,
// so that edges with the same secret resume each other's sessions. The file of the secret has one
// line, or two while the operator replaces the secret: the first encrypts, both decrypt.
type Tickets struct {
	*files.Watched
	path    string
	now     func() time.Time
	current atomic.Pointer[ticketSecrets]
}

// ticketSecrets are the secrets of a file, and the keys that follow from them today.
type ticketSecrets struct {
	secrets []string
	today   atomic.Pointer[ticketDay]
}

// A ticketDay holds the keys that are in use on one day.
type ticketDay struct {
	date   string
	config *tls.Config // has these keys, and serves nothing
}

// OpenTickets reads the secrets of a file. Its errors name the file, and reveal nothing of its
// content. The keys change with the date of now.
func OpenTickets(path string, now func() time.Time) (*Tickets, error) {
	t := &Tickets{path: path, now: now}
	t.Watched = files.Watch(t.read, path)
	return t, t.Reload(now())
}

func (t *Tickets) read(time.Time) error {
	secrets, err := files.ReadSecrets(t.path, minTicketSecret)
	if err != nil {
		return err
	}
	t.current.Store(&ticketSecrets{secrets: secrets})
	return nil
}

// Use makes config, and the copies that are made of it later, take its session tickets from t. A
// nil *Tickets changes nothing: crypto/tls then makes keys for each configuration and changes them
// daily. A resumed session is checked as before; see Ask for those with a client certificate.
func (t *Tickets) Use(config *tls.Config) {
	if t == nil {
		return
	}
	config.WrapSession = func(c tls.ConnectionState, s *tls.SessionState) ([]byte, error) {
		keys, err := t.current.Load().on(t.now())
		if err != nil {
			return nil, err
		}
		return keys.EncryptTicket(c, s)
	}
	config.UnwrapSession = func(ticket []byte, c tls.ConnectionState) (*tls.SessionState, error) {
		keys, err := t.current.Load().on(t.now())
		if err != nil {
			return nil, err
		}
		return keys.DecryptTicket(ticket, c)
	}
}

// on returns a configuration with the keys that are in use at now. It derives them at the first
// ticket of a day.
func (s *ticketSecrets) on(now time.Time) (*tls.Config, error) {
	date := dateOf(now)
	if d := s.today.Load(); d != nil && d.date == date {
		return d.config, nil
	}
	keys, err := ticketKeys(s.secrets, now)
	if err != nil {
		return nil, err
	}
	config := new(tls.Config)
	config.SetSessionTicketKeys(keys)
	s.today.Store(&ticketDay{date, config})
	return config, nil
}

// ticketKeys returns the keys that are in use at now. The first is that of the first secret for
// today, and encrypts. The others decrypt: those of all secrets for today and yesterday, and for
// tomorrow, because the clock of another edge may be ahead.
func ticketKeys(secrets []string, now time.Time) (keys [][32]byte, err error) {
	for _, secret := range secrets {
		for _, days := range []int{0, -1, 1} {
			key, err := hkdf.Key(sha256.New, []byte(secret), nil, "iconedge session tickets of "+dateOf(now.UTC().AddDate(0, 0, days)), 32)
			if err != nil {
				return nil, err
			}
			keys = append(keys, [32]byte(key))
		}
	}
	return keys, nil
}

// dateOf returns the date in UTC, which is the same on all edges.
func dateOf(now time.Time) string { return now.UTC().Format(time.DateOnly) }
