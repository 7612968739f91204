package files

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

const (
	maxSecret     = 1 << 10 // bytes: the head of a request may have to hold it
	maxSecretFile = 8 << 10 // bytes
)

var (
	errNoSecret    = errors.New("there is no secret in it")
	errSecretLines = errors.New("it has more than two lines; it must have the secret to use, and may have a second one to accept")
	errLongSecret  = fmt.Errorf("a secret must have at most %d bytes", maxSecret)
	errSecretBytes = errors.New("a secret must consist of visible ASCII characters, without spaces")
)

// ReadSecrets returns the one or two secrets of a file, each on a line of its own. The first is the
// one to use; both are accepted, so that an operator can replace a secret machine by machine. A
// secret has at least so many bytes. The errors name the file, and reveal nothing of its content.
func ReadSecrets(path string, least int) ([]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	secrets, err := parseSecrets(text, least)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return secrets, nil
}

// parseSecrets reads one or two secrets, each on a line of its own.
func parseSecrets(text []byte, least int) (secrets []string, err error) {
	if len(text) > maxSecretFile {
		return nil, errLongSecret
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if err := checkSecret(line, least); err != nil {
			return nil, err
		}
		secrets = append(secrets, line)
	}
	switch {
	case len(secrets) == 0:
		return nil, errNoSecret
	case len(secrets) > 2:
		return nil, errSecretLines
	}
	return secrets, nil
}

func checkSecret(secret string, least int) error {
	switch {
	case len(secret) < least:
		return fmt.Errorf("a secret must have at least %d bytes, such as 32 from a random generator in base64", least)
	case len(secret) > maxSecret:
		return errLongSecret
	case strings.ContainsFunc(secret, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		return errSecretBytes
	}
	return nil
}
