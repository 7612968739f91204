// Package tier authenticates an edge to the tiers behind it, other edges and origins, with a shared
// secret. Each tier reads the secret from a file, and the edge sends it in a field of each request.
// The alternative is a client certificate, which TLS verifies (package certs).
//
// A file has one line, or two while the operator replaces a secret. Requests carry the first, and
// both are accepted. The operator changes the files of all tiers from the old secret to old and
// new, then to new and old, then to the new one alone. In this order, no tier sends a secret that
// another does not accept.
package tier

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/iconedge/iconedge/internal/files"
	"github.com/iconedge/iconedge/internal/problem"
)

const (
	// Field carries the secret from an edge to the next tier, which does not pass it on.
	Field = "Iconedge-Tier-Secret"
	// FieldWanted is ?1 (RFC 9651) on the refusal of a request that lacks valid proof. It lets an
	// edge distinguish its own missing secret from a client's missing permission.
	FieldWanted = "Iconedge-Tier-Wanted"
)

// minSecret is the least number of bytes of a secret; shorter ones can be guessed.
const minSecret = 16

// Secrets holds the secrets of a file, as of the last successful reading. A nil *Secrets has none:
// it sends nothing and accepts nothing.
type Secrets struct {
	*files.Watched
	path    string
	current atomic.Pointer[secrets]
}

type secrets struct {
	sent     string
	accepted [][sha256.Size]byte
}

// Open reads the secrets of a file. Its errors name the file, and reveal nothing of its content.
func Open(path string) (*Secrets, error) {
	s := &Secrets{path: path}
	s.Watched = files.Watch(s.read, path)
	return s, s.Reload(time.Now())
}

func (s *Secrets) read(time.Time) error {
	lines, err := files.ReadSecrets(s.path, minSecret)
	if err != nil {
		return err
	}
	next := &secrets{sent: lines[0]}
	for _, line := range lines {
		next.accepted = append(next.accepted, sha256.Sum256([]byte(line)))
	}
	s.current.Store(next)
	return nil
}

// Sent returns the secret for requests, or "" if there is none.
func (s *Secrets) Sent() string {
	if s == nil {
		return ""
	}
	return s.current.Load().sent
}

// Prove reports whether the values of Field in a request are exactly one valid secret. Its running
// time does not depend on the secrets.
func (s *Secrets) Prove(lines ...string) bool {
	if s == nil || len(lines) != 1 {
		return false
	}
	given, ok := sha256.Sum256([]byte(lines[0])), 0
	for _, accepted := range s.current.Load().accepted {
		ok |= subtle.ConstantTimeCompare(given[:], accepted[:])
	}
	return ok == 1
}

// Refused is the answer to a request without valid proof.
func Refused() *problem.Problem {
	return problem.New(http.StatusForbidden, "only the edges of this service may use this address").With(
		"Cache-Control", "no-store").With(FieldWanted, "?1")
}
