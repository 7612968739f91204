package fleet

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/iconedge/iconedge/internal/files"
)

const maxPassword = 8 << 10 // bytes of the file

// A Password is the password of a Redis, as of the last reading of its file that gave a usable one.
// New connections authenticate with it; those that are open need no password again.
type Password struct {
	*files.Watched
	path    string
	current atomic.Pointer[string]
}

// OpenPassword reads the password in a file. Its errors name the file, and reveal nothing of its
// content.
func OpenPassword(path string) (*Password, error) {
	p := &Password{path: path}
	p.Watched = files.Watch(p.read, path)
	return p, p.Reload(time.Now())
}

func (p *Password) read(time.Time) error {
	text, err := os.ReadFile(p.path)
	if err != nil {
		return err
	}
	password, err := parsePassword(text)
	if err != nil {
		return fmt.Errorf("%s: %w", p.path, err)
	}
	p.current.Store(&password)
	return nil
}

var errPassword = errors.New("it must have the password on one line, without control characters, of at most 8 kB")

// parsePassword returns the password, which may contain spaces but does not end with a line break.
func parsePassword(text []byte) (string, error) {
	password := strings.TrimRight(string(text), "\r\n")
	if password == "" || len(text) > maxPassword || strings.ContainsFunc(password, unicode.IsControl) {
		return "", errPassword
	}
	return password, nil
}

// secret returns the password.
func (p *Password) secret() string { return *p.current.Load() }
