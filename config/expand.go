package config

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// maxSecret is the length of a file whose content ${file:PATH} stands for, in bytes.
const maxSecret = 64 << 10

// expand replaces ${NAME}, ${NAME:-DEFAULT} and ${file:PATH} in a text. It does not expand the
// values again.
func (o *Options) expand(s string) (string, error) {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(s, "${")
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		inside, after, closed := strings.Cut(rest, "}")
		if !closed {
			return "", fmt.Errorf("%q has no end; must be ${NAME}, ${NAME:-DEFAULT} or ${file:PATH}", clip("${"+inside))
		}
		value, err := o.variable(inside)
		if err != nil {
			return "", err
		}
		b.WriteString(value)
		s = after
	}
}

// variable returns the value of the text between ${ and }.
func (o *Options) variable(inside string) (string, error) {
	if path, ok := strings.CutPrefix(inside, "file:"); ok {
		return readSecret(path)
	}
	name, fallback, has := strings.Cut(inside, ":-")
	if !isName(name) {
		return "", fmt.Errorf("%q is no name of a variable; must be ${NAME}, ${NAME:-DEFAULT} or ${file:PATH}", clip("${"+inside+"}"))
	}
	lookup := o.Lookup
	if lookup == nil {
		lookup = os.LookupEnv
	}
	value, set := lookup(name)
	switch {
	case has && value == "":
		return fallback, nil
	case !set:
		return "", fmt.Errorf("the variable %s is not set; set it, or give a default with ${%s:-DEFAULT}", name, name)
	}
	return value, nil
}

// isName reports whether s can be the name of an environment variable.
func isName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !(c == '_' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' || i > 0 && isDigit(c)) {
			return false
		}
	}
	return s != ""
}

// readSecret returns the trimmed content of a file.
func readSecret(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("reading ${file:%s}: %s; must be a readable file", clip(path), reason(err))
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return "", fmt.Errorf("${file:%s} is a folder; must be a file", clip(path))
	}
	content, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("reading ${file:%s}: %s; must be a readable file", clip(path), reason(err))
	case len(content) > maxSecret:
		return "", fmt.Errorf("${file:%s} has more than %d bytes; must have fewer", clip(path), maxSecret)
	}
	return strings.TrimSpace(string(content)), nil
}

// reason returns the innermost text of an error about a file, without its path.
func reason(err error) string {
	if p, ok := err.(*os.PathError); ok {
		return p.Err.Error()
	}
	return err.Error()
}
