package config

import (
	"errors"
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
	content, err := ReadFile(path, maxSecret)
	if err != nil {
		return "", fmt.Errorf("reading ${file:%s}: %s; must be a readable file of at most %d bytes", clip(path), reason(err), maxSecret)
	}
	return strings.TrimSpace(string(content)), nil
}

// ReadFile returns the content of a file that has at most limit bytes. It refuses devices and
// pipes, because they may have no end, or keep a reload waiting for their beginning.
func ReadFile(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, &os.PathError{Op: "read", Path: path, Err: errors.New("is a folder")}
	case !info.Mode().IsRegular():
		return nil, &os.PathError{Op: "read", Path: path, Err: errors.New("is no regular file")}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(content)) > limit {
		err = &os.PathError{Op: "read", Path: path, Err: fmt.Errorf("has more than %d bytes", limit)}
	}
	return content, err
}

// reason returns the innermost text of an error about a file, without its path.
func reason(err error) string {
	if p, ok := err.(*os.PathError); ok {
		return p.Err.Error()
	}
	return err.Error()
}
