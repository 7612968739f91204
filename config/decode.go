package config

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Bounds of a file. Aliases count each time that they are used, so a file whose anchors multiply
// ends at maxNodes.
const (
	maxFile  = 4 << 20 // bytes
	maxNodes = 200_000 // values
	maxDepth = 64      // of values in values
)

// A decoder makes Go values of YAML nodes, and collects findings.
type decoder struct {
	file     *File
	options  Options
	findings Findings
	nodes    int
	depth    int
	stopped  bool // a bound was exceeded
}

// decodable is a type with a form of its own.
type decodable interface {
	decode(d *decoder, path string, n *yaml.Node)
}

func (d *decoder) find(path string, n *yaml.Node, text string) {
	if d.stopped {
		return
	}
	line := 1
	if n != nil && n.Line > 0 {
		line = n.Line
	}
	if path == "" {
		path = "file"
	}
	d.stopped = !d.findings.Add(Finding{File: d.file.Name, Line: line, Field: path, Text: text})
}

// enter counts a node. It is not ok if the file is too large or too deep. The caller calls leave.
func (d *decoder) enter(path string, n *yaml.Node) (_ *yaml.Node, ok bool) {
	d.depth++
	line := n
	for hops := 0; n.Kind == yaml.AliasNode && n.Alias != nil && hops < maxDepth; hops++ {
		n = n.Alias
	}
	switch d.nodes++; {
	case d.stopped:
		return n, false
	case d.nodes > maxNodes:
		d.find(path, line, fmt.Sprintf("the file has more than %d values with its aliases; must have fewer", maxNodes))
		d.stopped = true
		return n, false
	case d.depth > maxDepth:
		d.find(path, line, fmt.Sprintf("more than %d values inside each other; must be fewer", maxDepth))
		d.stopped = true
		return n, false
	}
	if _, known := d.file.lines[path]; !known {
		d.file.lines[path] = line.Line
	}
	return n, true
}

func (d *decoder) leave() { d.depth-- }

// value decodes a node into the value that to points to.
func (d *decoder) value(path string, n *yaml.Node, to any) {
	d.into(path, n, reflect.ValueOf(to).Elem())
}

func (d *decoder) into(path string, n *yaml.Node, v reflect.Value) {
	n, ok := d.enter(path, n)
	defer d.leave()
	if !ok {
		return
	}
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	if own, ok := v.Addr().Interface().(decodable); ok {
		if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" {
			d.find(path, n, "empty; must have a value, or the field must be left out")
			return
		}
		own.decode(d, path, n)
		if r, ok := own.(*Match); ok {
			r.At = path
		}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		d.structure(path, n, v)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 0, len(n.Content)))
		d.list(path, n, "a list", func(path string, n *yaml.Node) {
			one := reflect.New(v.Type().Elem()).Elem()
			d.into(path, n, one)
			v.Set(reflect.Append(v, one))
		})
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		d.mapping(path, n, "a map", func(name, path string, _, n *yaml.Node) {
			one := reflect.New(v.Type().Elem()).Elem()
			d.into(path, n, one)
			v.SetMapIndex(reflect.ValueOf(name), one)
		})
	default:
		d.scalar(path, n, v)
	}
}

func (d *decoder) scalar(path string, n *yaml.Node, v reflect.Value) {
	text, ok := d.text(path, n)
	if !ok {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Int:
		i, err := strconv.Atoi(text)
		if err != nil {
			d.find(path, n, fmt.Sprintf("%q is no whole number; must be one, such as 1", clip(text)))
			return
		}
		v.SetInt(int64(i))
	case reflect.Float64:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			d.find(path, n, fmt.Sprintf("%q is no number; must be one, such as 0.1", clip(text)))
			return
		}
		v.SetFloat(f)
	case reflect.Bool:
		switch text {
		case "true", "on", "True", "TRUE":
			v.SetBool(true)
		case "false", "off", "False", "FALSE":
			v.SetBool(false)
		default:
			d.find(path, n, fmt.Sprintf("%q is unknown; must be true or false", clip(text)))
		}
	}
}

// structure decodes a mapping into a struct. Unknown fields are findings.
func (d *decoder) structure(path string, n *yaml.Node, v reflect.Value) {
	fields := map[string]reflect.Value{}
	collect(v, fields)
	for _, name := range []string{"Line", "At"} {
		if f := v.FieldByName(name); f.IsValid() && f.CanSet() {
			if name == "At" {
				f.SetString(path)
			} else {
				f.SetInt(int64(n.Line))
			}
		}
	}
	more, extends := v.Addr().Interface().(extendable)
	d.mapping(path, n, "a map of fields", func(name, at string, key, n *yaml.Node) {
		f, known := fields[name]
		switch {
		case known && n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null":
			d.find(at, key, "empty; must have a value, or the field must be left out")
		case known:
			d.into(at, n, f)
		case path == "" && d.flag(name, at, n):
		case extends && more.terms().decode(d, name, at, n):
		default:
			names := make([]string, 0, len(fields))
			for known := range fields {
				names = append(names, known)
			}
			if extends {
				for _, term := range more.terms().of(&d.options) {
					names = append(names, term.Name)
				}
			}
			if path == "" {
				for flag := range d.options.Flags {
					names = append(names, snake(flag))
				}
			}
			d.find(at, key, "unknown field"+nearest(name, names))
		}
	})
}

// collect adds the fields of a struct and of those embedded in it, by name.
func collect(v reflect.Value, fields map[string]reflect.Value) {
	for i := range v.NumField() {
		t := v.Type().Field(i)
		if t.Anonymous {
			collect(v.Field(i), fields)
			continue
		}
		if name, _, _ := strings.Cut(t.Tag.Get("json"), ","); name != "" && name != "-" {
			fields[name] = v.Field(i)
		}
	}
}

// mapping calls each for the entries of a mapping. An entry that is given twice is a finding. With
// the key << an entry merges other mappings, whose entries count less.
func (d *decoder) mapping(path string, n *yaml.Node, form string, each func(name, path string, key, value *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		d.find(path, n, kind(n)+"; must be "+form)
		return
	}
	seen := map[string]bool{}
	d.entries(path, n, seen, true, each)
}

func (d *decoder) entries(path string, n *yaml.Node, seen map[string]bool, own bool, each func(name, path string, key, value *yaml.Node)) {
	var merged []*yaml.Node
	for i := 0; i+1 < len(n.Content) && !d.stopped; i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind == yaml.ScalarNode && key.ShortTag() == "!!merge" {
			merged = append(merged, value)
			continue
		}
		if key.Kind != yaml.ScalarNode {
			d.find(path, key, "a key is no text; must be the name of a field")
			continue
		}
		name, at := key.Value, join(path, key.Value)
		if seen[name] {
			if own {
				d.find(at, key, "given twice; must be given once")
			}
			continue
		}
		seen[name] = true
		if _, known := d.file.lines[at]; !known {
			d.file.lines[at] = key.Line
		}
		each(name, at, key, value)
	}
	for _, m := range merged {
		d.merge(path, m, seen, each)
	}
}

func (d *decoder) merge(path string, n *yaml.Node, seen map[string]bool, each func(name, path string, key, value *yaml.Node)) {
	n, ok := d.enter(path, n)
	defer d.leave()
	switch {
	case !ok:
	case n.Kind == yaml.MappingNode:
		d.entries(path, n, seen, false, each)
	case n.Kind == yaml.SequenceNode:
		for _, one := range n.Content {
			d.merge(path, one, seen, each)
		}
	default:
		d.find(path, n, "<< merges no value; must be a map or a list of maps")
	}
}

// list calls each for the elements of a list.
func (d *decoder) list(path string, n *yaml.Node, form string, each func(path string, n *yaml.Node)) {
	if n.Kind != yaml.SequenceNode {
		d.find(path, n, kind(n)+"; must be "+form)
		return
	}
	for i, one := range n.Content {
		at := fmt.Sprintf("%s[%d]", path, i)
		one, ok := d.enter(at, one)
		if ok {
			each(at, one)
		}
		d.leave()
	}
}

// text returns the expanded text of a scalar.
func (d *decoder) text(path string, n *yaml.Node) (string, bool) {
	for hops := 0; n.Kind == yaml.AliasNode && n.Alias != nil && hops < maxDepth; hops++ {
		n = n.Alias
	}
	if n.Kind != yaml.ScalarNode {
		d.find(path, n, kind(n)+"; must be one value")
		return "", false
	}
	if n.ShortTag() == "!!null" {
		d.find(path, n, "empty; must have a value")
		return "", false
	}
	text, err := d.options.expand(n.Value)
	if err != nil {
		d.find(path, n, err.Error())
		return "", false
	}
	return text, true
}

// kind describes a value whose form is wrong.
func kind(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a map"
	case yaml.SequenceNode:
		return "a list"
	case yaml.ScalarNode:
		return fmt.Sprintf("%q is one value", clip(n.Value))
	}
	return "another form"
}

func join(path, name string) string {
	if path == "" {
		return clip(name)
	}
	return path + "." + clip(name)
}
