package config

import (
	"maps"
	"reflect"
	"slices"

	"go.yaml.in/yaml/v3"
)

// A Term is an entry of matches, or an action of rules: a row of a table in config/rules.
type Term struct {
	Name string
	Help string // what it does, for the schema and the documents
	// Type is that of the value in a file. Its form is that of this package's own types.
	Type reflect.Type
}

// terms decodes the terms that are no fields of the type that embeds it.
type terms struct {
	of   func(*Options) []Term
	more *map[string]any
}

// extendable is a struct that may have terms besides its fields.
type extendable interface{ terms() terms }

func (r *Rule) terms() terms {
	return terms{func(o *Options) []Term { return o.Actions }, &r.More}
}

// entriesOfFile are the entries of a match in the form of a file.
type entriesOfFile struct {
	Entries
	Not  *Match `json:"not,omitempty"`
	more map[string]any
}

func (e *entriesOfFile) terms() terms {
	return terms{func(o *Options) []Term { return o.Matches }, &e.more}
}

// decode decodes a term. It reports whether there is one with the name.
func (t terms) decode(d *decoder, name, path string, n *yaml.Node) bool {
	all := t.of(&d.options)
	at := slices.IndexFunc(all, func(one Term) bool { return one.Name == name })
	if at < 0 {
		return false
	}
	v := reflect.New(all[at].Type).Elem()
	d.into(path, n, v)
	if *t.more == nil {
		*t.more = map[string]any{}
	}
	(*t.more)[name] = v.Interface()
	return true
}

// Given returns the actions of a rule that a file has, by name.
func (r *Rule) Given() map[string]any {
	given := givenFields(reflect.ValueOf(r).Elem())
	delete(given, "match")
	delete(given, "stop")
	maps.Copy(given, r.More)
	return given
}

// Given returns the entries of a match that a file has, by name, without not.
func (m *Match) Given() map[string]any {
	given := givenFields(reflect.ValueOf(&m.Entries).Elem())
	maps.Copy(given, m.More)
	return given
}

// givenFields returns the values of the fields of a struct that are not zero.
func givenFields(v reflect.Value) map[string]any {
	fields, given := map[string]reflect.Value{}, map[string]any{}
	collect(v, fields)
	for name, f := range fields {
		if !f.IsZero() {
			given[name] = f.Interface()
		}
	}
	return given
}
