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

	"github.com/iconedge/iconedge/files"
)

const maxToken = 8 << 10 // bytes of a token

// A token is the admin token, from the last time that its file was read and could be used.
type token struct {
	*files.Watched
	path   string
	sum    atomic.Pointer[[sha256.Size]byte] // of the token, which is not stored itself
	failed atomic.Bool                       // the last reading of the file failed
}

// openToken reads the token from a file. Its errors name the file, but quote none of its content.
func openToken(path string) (*token, error) {
	t := &token{path: path}
	t.Watched = files.Watch(t.read, path)
	return t, t.Reload(time.Now())
}

// read replaces the token by the content of the file. If the file can't be used, the previous token
// stays.
func (t *token) read(time.Time) error {
	sum, err := readToken(t.path)
	if t.failed.Store(err != nil); err != nil {
		return err
	}
	t.sum.Store(&sum)
	return nil
}

var (
	errEmpty = errors.New("there is no token in it")
	errLong  = fmt.Errorf("a token must have at most %d bytes", maxToken)
	errLine  = errors.New("a token must be one line, without control characters")
)

func readToken(path string) (sum [sha256.Size]byte, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return sum, err
	}
	token, err := parseToken(text)
	if err != nil {
		return sum, fmt.Errorf("%s: %w", path, err)
	}
	return sha256.Sum256([]byte(token)), nil
}

// parseToken returns the token in the text of a file, without the white space around it.
func parseToken(text []byte) (string, error) {
	token := strings.TrimSpace(string(text))
	switch {
	case token == "":
		return "", errEmpty
	case len(token) > maxToken:
		return "", errLong
	case strings.ContainsFunc(token, unicode.IsControl):
		return "", errLine
	}
	return token, nil
}

// matches reports whether there is exactly one Authorization line and it holds the token (RFC 6750,
// section 2.1). It compares checksums in constant time, so that its duration reveals nothing.
func (t *token) matches(lines []string) bool {
	if len(lines) != 1 {
		return false
	}
	scheme, given, ok := strings.Cut(lines[0], " ")
	got := sha256.Sum256([]byte(strings.TrimLeft(given, " ")))
	return ok && strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare(got[:], t.sum.Load()[:]) == 1
}
