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

const maxToken = 8 << 10 // bytes of its file

// A token is that of a file, as it was when the file was last read and could be used.
type token struct {
	*files.Kept
	path   string
	sum    atomic.Pointer[[sha256.Size]byte]
	failed atomic.Bool // the file could not be used when it was last read
}

// openToken reads the token of a file. Its errors name the file, and nothing of what is in it.
func openToken(path string) (*token, error) {
	t := &token{path: path}
	t.Kept = files.NewKept(t.read, path)
	return t, t.Reload(time.Now())
}

// read puts the token of the file in place of the one before. What can't be used changes nothing.
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

// parseToken takes the token out of a file, without the white space around it.
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

// proves reports whether lines are one line that bears the token (RFC 6750, section 2.1), in a time that tells nothing of the token.
func (t *token) proves(lines []string) bool {
	if len(lines) != 1 {
		return false
	}
	scheme, given, ok := strings.Cut(lines[0], " ")
	got := sha256.Sum256([]byte(strings.TrimLeft(given, " ")))
	return ok && strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare(got[:], t.sum.Load()[:]) == 1
}
