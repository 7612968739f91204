// Package tier is how an edge proves itself to the tiers that it asks, other edges and origins: by a secret that all of them read from
// a file, in a field of each request. The other proof is a certificate, which TLS looks at (package certs).
//
// A file has one line, or two while a secret is replaced: the first is sent, both are taken. Round by round through all tiers it goes from the old one to old
// and new, to new and old, to the new one alone: so nobody sends what another does not take yet, or no more.
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
	// Field carries the secret, from an edge to what it asks and no further.
	Field = "Iconedge-Tier-Secret"
	// FieldWanted is ?1 (RFC 9651) on the answer to a request that proved nothing where that was wanted: it tells an edge that lacks the secret
	// from a client who may not have what it asked for.
	FieldWanted = "Iconedge-Tier-Wanted"
)

const (
	minSecret = 16      // bytes: shorter ones can be tried out
	maxSecret = 1 << 10 // bytes: it is a part of every request's head
	maxFile   = 8 << 10 // bytes
)

// Secrets are those of a file, as it was when it was last read and understood. Nil ones are none: nothing is sent, nothing proves.
type Secrets struct {
	*files.Kept
	path    string
	current atomic.Pointer[secrets]
}

type secrets struct {
	sent  string
	taken [][sha256.Size]byte
}

// Open reads the secrets of a file. Its errors name the file, and nothing of what is in it.
func Open(path string) (*Secrets, error) {
	s := &Secrets{path: path}
	s.Kept = files.NewKept(s.read, path)
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
		next.taken = append(next.taken, sha256.Sum256([]byte(line)))
	}
	s.current.Store(next)
	return nil
}

var (
	errEmpty = errors.New("there is no secret in it")
	errLines = errors.New("it has more than two lines: the secret that is sent, and perhaps another that is taken as well")
	errShort = fmt.Errorf("a secret must have at least %d bytes, such as 32 from a random generator in base64", minSecret)
	errLong  = fmt.Errorf("a secret must have at most %d bytes", maxSecret)
	errBytes = errors.New("a secret is of visible ASCII characters, without spaces")
)

// parse reads one secret or two, each on a line of its own.
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

// Sent is the secret for requests; empty: there is none.
func (s *Secrets) Sent() string {
	if s == nil {
		return ""
	}
	return s.current.Load().sent
}

// Prove reports whether the lines of Field that came with a request are the one line that proves a tier, in a time that tells nothing of
// the secrets.
func (s *Secrets) Prove(lines ...string) bool {
	if s == nil || len(lines) != 1 {
		return false
	}
	given, ok := sha256.Sum256([]byte(lines[0])), 0
	for _, taken := range s.current.Load().taken {
		ok |= subtle.ConstantTimeCompare(given[:], taken[:])
	}
	return ok == 1
}

// Refused is the answer to who proved nothing.
func Refused() *problem.Problem {
	return problem.New(http.StatusForbidden, "this is for the edges of this service alone").With("Cache-Control", "no-store").With(FieldWanted, "?1")
}
