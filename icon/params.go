package icon

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A ParamError says which request parameter is wrong, and which values are valid. Parameter is
// empty if the query as a whole can't be read. The error never repeats the client's input.
type ParamError struct{ Parameter, Detail string }

func (e *ParamError) Error() string { return e.Detail }

// BadParameter returns the name of the parameter and the text for the client. Package problem makes
// the answer from it.
func (e *ParamError) BadParameter() (name, detail string) { return e.Parameter, e.Detail }

// Params holds the decoded parameters of a request that its route knows. A parameter that the
// request lacks is absent.
type Params map[string]string

// aliases are other names of parameters, as people know them from CSS, SVG and other services. A
// request with an alias is the same request as one with the name.
var aliases = map[string]string{"colour": "color", "fill": "color", "w": "width", "h": "height",
	"stroke-width": "stroke"}

// ParseQuery reads a raw query (application/x-www-form-urlencoded). It ignores parameters that are
// not in known, even malformed ones, and reads aliases as the names of parameters. A known
// parameter that is repeated, is not UTF-8 or is wrongly percent-encoded is an error.
func ParseQuery(raw string, known ...string) (Params, error) {
	p := Params{}
	for raw != "" {
		var pair string
		pair, raw, _ = strings.Cut(raw, "&")
		key, value, _ := strings.Cut(pair, "=")
		key, err := url.QueryUnescape(key)
		if name, is := aliases[key]; is {
			key = name
		}
		if err != nil || !slices.Contains(known, key) {
			continue
		}
		if _, twice := p[key]; twice {
			return nil, &ParamError{key, givenTwice(key)}
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

// givenTwice says that a parameter is repeated, and by which names it may be.
func givenTwice(name string) string {
	names := []string{name}
	for alias, of := range aliases {
		if of == name {
			names = append(names, alias)
		}
	}
	slices.Sort(names[1:])
	switch len(names) {
	case 1:
		return name + " is given more than once"
	case 2:
		return name + " is given more than once; " + names[1] + " is the same parameter"
	}
	return name + " is given more than once; " + strings.Join(names[1:], " and ") + " are the same parameter"
}

// Int reads a whole number from min to max. It returns def if the parameter is absent.
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

// Key reads the key of a pack. It returns "" if the parameter is absent.
func (p Params) Key(name string) (string, error) {
	s, given := p[name]
	if given && !ValidKey(s) {
		return "", &ParamError{name, name + " must be the key of a pack, such as mdi"}
	}
	return s, nil
}

// Bool reads true or false. It returns false if the parameter is absent.
func (p Params) Bool(name string) (bool, error) {
	switch s, given := p[name]; {
	case !given, s == "false":
		return false, nil
	case s == "true":
		return true, nil
	}
	return false, &ParamError{name, name + " must be true or false"}
}
