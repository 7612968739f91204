package icon

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A ParamError says which parameter of a call is wrong, and how to mend it; Parameter is empty where the query as a whole
// can't be read. It never repeats what was sent.
type ParamError struct{ Parameter, Detail string }

func (e *ParamError) Error() string { return e.Detail }

// BadParameter gives the parameter's name and the words for the caller; package problem makes the answer of it.
func (e *ParamError) BadParameter() (name, detail string) { return e.Parameter, e.Detail }

// Params are the parameters of a call that its route knows, decoded. A parameter that was not given is absent.
type Params map[string]string

// ParseQuery reads a raw query (application/x-www-form-urlencoded). Parameters that are not among known are ignored,
// whatever is in them; a known one that is given twice, that is not UTF-8 or that is wrongly percent-encoded is an error.
func ParseQuery(raw string, known ...string) (Params, error) {
	p := Params{}
	for raw != "" {
		var pair string
		pair, raw, _ = strings.Cut(raw, "&")
		key, value, _ := strings.Cut(pair, "=")
		key, err := url.QueryUnescape(key)
		if err != nil || !slices.Contains(known, key) {
			continue
		}
		if _, twice := p[key]; twice {
			return nil, &ParamError{key, key + " is given more than once"}
		}
		value, err = url.QueryUnescape(value)
		if err != nil {
			return nil, &ParamError{key, key + " is not percent-encoded correctly"}
		}
		if !utf8.ValidString(value) {
			return nil, &ParamError{key, key + " is not valid UTF-8"}
		}
		p[key] = value
	}
	return p, nil
}

// Int reads a whole number from min to max; absent, it is def.
func (p Params) Int(name string, min, max, def int) (int, error) {
	s, given := p[name]
	if !given {
		return def, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < min || n > max || s[0] == '+' || s[0] == '-' {
		return 0, &ParamError{name, fmt.Sprintf("%s must be a whole number from %d to %d", name, min, max)}
	}
	return n, nil
}

// Key reads a pack's key; absent, it is "".
func (p Params) Key(name string) (string, error) {
	s, given := p[name]
	if given && !ValidKey(s) {
		return "", &ParamError{name, name + " must be the key of a pack, such as mdi"}
	}
	return s, nil
}

// Bool reads true or false; absent, it is false.
func (p Params) Bool(name string) (bool, error) {
	switch s, given := p[name]; {
	case !given, s == "false":
		return false, nil
	case s == "true":
		return true, nil
	}
	return false, &ParamError{name, name + " must be true or false"}
}
