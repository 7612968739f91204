package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	client "github.com/iconedge/iconedge/clients/go"
	"github.com/iconedge/iconedge/icon"
)

// arguments are the unchecked arguments of one call. Error messages never repeat a value, because
// it may be hostile.
type arguments map[string]json.RawMessage

// parseArguments reads an object and rejects members that the tool does not know.
func parseArguments(raw json.RawMessage, tool string, known ...string) (arguments, error) {
	args := arguments{}
	if raw = bytes.TrimSpace(raw); len(raw) == 0 {
		return args, nil
	}
	if err := json.Unmarshal(raw, &args); err != nil {
		return nil, refusef("The arguments of %s must be an object.", tool)
	}
	for _, name := range slices.Sorted(maps.Keys(args)) {
		if !slices.Contains(known, name) {
			return nil, refusef("%s has an unknown argument; it takes: %s.", tool, strings.Join(known, ", "))
		}
	}
	return args, nil
}

// text reads a string; ok is false if the argument is absent.
func (a arguments) text(name string) (value string, ok bool, err error) {
	raw, given := a[name]
	if !given {
		return "", false, nil
	}
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &value) != nil {
		return "", false, refusef("%s must be a string.", name)
	}
	return value, true, nil
}

// key reads a required key of a pack or name of an icon.
func (a arguments) key(name, example string) (string, error) {
	value, ok, err := a.text(name)
	if err == nil && !ok {
		err = refusef("%s is required, such as %s.", name, example)
	}
	if err == nil && !icon.ValidKey(value) {
		err = refusef("%s must be lower-case letters, digits and single hyphens, such as %s; search_icons finds a name in code.",
			name, example)
	}
	return value, err
}

// query reads the required text of a search.
func (a arguments) query() (string, error) {
	value, ok, err := a.text("query")
	if err != nil {
		return "", err
	}
	value = strings.TrimFunc(value, unicode.IsSpace)
	if !ok || value == "" || len([]rune(value)) > icon.MaxText {
		return "", refusef("query is required: 1 to %d characters that say what the icon shows.", icon.MaxText)
	}
	return value, nil
}

// whole reads an integer from 1 to most; if it is absent, the result is def. As in JSON Schema, 5.0
// is an integer.
func (a arguments) whole(name string, def, most int) (int, error) {
	raw, given := a[name]
	if !given {
		return def, nil
	}
	f, err := strconv.ParseFloat(string(raw), 64) // strings, true and null do not parse
	if err != nil || f != float64(int(f)) || f < 1 || f > float64(most) {
		return 0, refusef("%s must be a whole number from 1 to %d.", name, most)
	}
	return int(f), nil
}

// refusef returns an error that the caller can act on.
func refusef(format string, args ...any) error {
	return &client.Error{Sentence: fmt.Sprintf(format, args...)}
}
