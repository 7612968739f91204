package admin

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/iconedge/iconedge/internal/files"
)

const (
	maxToken = 8 << 10 // bytes of a token
	maxFile  = 2*maxToken + 4
)

// A token holds the admin tokens of a file, as of the last reading that gave a usable one. A file
// has one token, or two while the operator replaces one: both are accepted.
type token struct {
	*files.Watched
	path   string
	sums   atomic.Pointer[[][sha256.Size]byte] // of the tokens, which are not stored themselves
	failed atomic.Bool                         // the last reading of the file failed
}

// openToken reads the tokens of a file. Its errors name the file, but quote none of its content.
func openToken(path string) (*token, error) {
	t := &token{path: path}
	t.Watched = files.Watch(t.read, path)
	return t, t.Reload(time.Now())
}

// read replaces the tokens by those of the file. If the file can't be used, the previous ones stay.
func (t *token) read(time.Time) error {
	tokens, err := ReadTokens(t.path)
	if t.failed.Store(err != nil); err != nil {
		return err
	}
	var sums [][sha256.Size]byte
	for _, token := range tokens {
		sums = append(sums, sha256.Sum256([]byte(token)))
	}
	t.sums.Store(&sums)
	return nil
}

var (
	errEmpty = errors.New("there is no token in it")
	errLong  = fmt.Errorf("a token must have at most %d bytes", maxToken)
	errLines = errors.New("it must have one line with a token, or two while a token is replaced")
	errBytes = errors.New("a token must not contain control characters")
)

// ReadTokens returns the one or two tokens of a file. A client sends the first.
func ReadTokens(path string) ([]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	tokens, err := parseTokens(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return tokens, nil
}

// parseTokens reads one or two tokens, each on a line of its own, without the white space around
// them.
func parseTokens(text []byte) (tokens []string, err error) {
	if len(text) > maxFile {
		return nil, errLong
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		switch {
		case line == "":
			continue
		case len(line) > maxToken:
			return nil, errLong
		case strings.ContainsFunc(line, unicode.IsControl):
			return nil, errBytes
		}
		tokens = append(tokens, line)
	}
	switch {
	case len(tokens) == 0:
		return nil, errEmpty
	case len(tokens) > 2:
		return nil, errLines
	}
	return tokens, nil
}

// matches reports whether there is exactly one Authorization line and it holds a token (RFC 6750,
// section 2.1). It compares checksums in constant time, so that its duration reveals nothing.
func (t *token) matches(lines []string) bool {
	if len(lines) != 1 {
		return false
	}
	scheme, given, ok := strings.Cut(lines[0], " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return false
	}
	got, equal := sha256.Sum256([]byte(strings.TrimLeft(given, " "))), 0
	for _, sum := range *t.sums.Load() {
		equal |= subtle.ConstantTimeCompare(got[:], sum[:])
	}
	return equal == 1
}
