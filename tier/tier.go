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
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/iconedge/iconedge/files"
	"github.com/iconedge/iconedge/problem"
)

const (
	// Field carries the secret from an edge to the next tier, which does not pass it on.
	Field = "Iconedge-Tier-Secret"
	// FieldWanted is ?1 (RFC 9651) on the refusal of a request that lacks valid proof. It lets an
	// edge distinguish its own missing secret from a client's missing permission.
	FieldWanted = "Iconedge-Tier-Wanted"
)

const (
	minSecret = 16      // bytes: shorter secrets can be guessed
	maxSecret = 1 << 10 // bytes: every request's head holds it
	maxFile   = 8 << 10 // bytes
)

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
	text, err := os.ReadFile(s.path)
	if err != nil {
		return err
	}
	lines, err := parse(text)
	if err != nil {
		return fmt.Errorf("%s: %w", s.path, err)
	}
	next := &secrets{sent: lines[0]}
	for _, line := range lines {
		next.accepted = append(next.accepted, sha256.Sum256([]byte(line)))
	}
	s.current.Store(next)
	return nil
}

var (
	errEmpty = errors.New("there is no secret in it")
	errLines = errors.New("it has more than two lines; it must have the secret to send, and may have a second one to accept")
	errShort = fmt.Errorf("a secret must have at least %d bytes, such as 32 from a random generator in base64", minSecret)
	errLong  = fmt.Errorf("a secret must have at most %d bytes", maxSecret)
	errBytes = errors.New("a secret must consist of visible ASCII characters, without spaces")
)

// parse reads one or two secrets, each on a line of its own.
func parse(text []byte) (lines []string, err error) {
	if len(text) > maxFile {
		return nil, errLong
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if err := check(line); err != nil {
			return nil, err
		}
		lines = append(lines, line)
	}
	switch {
	case len(lines) == 0:
		return nil, errEmpty
	case len(lines) > 2:
		return nil, errLines
	}
	return lines, nil
}

func check(secret string) error {
	switch {
	case len(secret) < minSecret:
		return errShort
	case len(secret) > maxSecret:
		return errLong
	case strings.ContainsFunc(secret, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		return errBytes
	}
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
	return problem.New(http.StatusForbidden, "only the edges of this service may use this address").With("Cache-Control", "no-store").With(FieldWanted, "?1")
}
