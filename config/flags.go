package config

import (
	"fmt"
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"
)

// flag decodes a key that is a flag. It reports whether the key is one.
func (d *decoder) flag(key, path string, n *yaml.Node) bool {
	for name, form := range d.options.Flags {
		if snake(name) != key {
			continue
		}
		d.file.Flags[name] = d.flagValues(path, n, form)
		return true
	}
	return false
}

func (d *decoder) flagValues(path string, n *yaml.Node, f Flag) (values Values) {
	n, ok := d.enter(path, n)
	defer d.leave()
	if !ok {
		return nil
	}
	one := func(path string, n *yaml.Node, prefix string) {
		text, ok := d.text(path, n)
		if !ok {
			return
		}
		value, err := f.value(text)
		if err == nil && f.Check != nil {
			err = f.Check(prefix + value)
		}
		if err != nil {
			d.find(path, n, err.Error())
			return
		}
		values = append(values, prefix+value)
	}
	switch {
	case f.Form == Table && n.Kind == yaml.MappingNode:
		d.mapping(path, n, "a map", func(name, path string, _, n *yaml.Node) { one(path, n, name+"=") })
	case f.Repeatable && n.Kind == yaml.SequenceNode:
		d.list(path, n, "a list", func(path string, n *yaml.Node) { one(path, n, "") })
	default:
		one(path, n, "")
	}
	return values
}

// value returns the text of a flag on the command line.
func (f Flag) value(text string) (string, error) {
	switch f.Form {
	case Time:
		v, err := ParseDuration(text)
		return time.Duration(v).String(), err
	case Bytes:
		v, err := ParseSize(text)
		return strconv.FormatInt(int64(v), 10), err
	case Boolean, Switch:
		on, known := map[string]bool{"true": true, "on": true, "false": false, "off": false}[text], text == "true" ||
			text == "on" || text == "false" || text == "off"
		if !known {
			return "", fmt.Errorf("%q is unknown; must be true or false", clip(text))
		}
		if f.Form == Boolean {
			return strconv.FormatBool(on), nil
		}
		return map[bool]string{true: "on", false: "off"}[on], nil
	case Whole:
		if _, err := strconv.ParseInt(text, 10, 64); err != nil {
			return "", fmt.Errorf("%q is no whole number; must be one", clip(text))
		}
	}
	return text, nil
}
