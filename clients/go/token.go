package client

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"

	"github.com/iconedge/iconedge/internal/files"
)

// A tokenSource provides the licence token of a client: a setting, or the content of a file, which
// is read again when it has changed. If the file can't be used, the previous token stays.
type tokenSource struct {
	mark *files.Mark // nil: there is no file
	path string
	log  *slog.Logger

	mu    sync.Mutex
	value string
}

func newTokenSource(cfg *Config) *tokenSource {
	t := &tokenSource{path: cfg.TokenFile, value: cfg.Token, log: cfg.Log}
	if t.path != "" {
		t.mark = files.NewMark(t.path)
	}
	return t
}

// current returns the token, or "" if there is none.
func (t *tokenSource) current() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mark != nil && t.mark.Changed() {
		t.mark.Reading()
		if value, err := readToken(t.path); err != nil {
			t.log.Error("invalid file; the previous content stays in use", "flag", "--license-token-file", "err", err)
		} else {
			t.value = value
		}
	}
	return t.value
}

// readToken returns the first line of a file. Its errors reveal nothing of the content.
func readToken(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	value, rest, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	if value = strings.TrimSpace(value); value == "" || rest != "" {
		return "", fmt.Errorf("%s: it must have one line with the token", path)
	}
	return value, nil
}
