package config

import (
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/iconedge/iconedge/edge/upstream/balance"
)

type schema = jsonschema.Schema

// Schema returns the JSON Schema (draft 2020-12) of a file that is read with these options, made
// from the Go types.
func Schema(o Options) ([]byte, error) {
	forms, flags := forms(), o.Flags
	s, err := jsonschema.For[File](&jsonschema.ForOptions{TypeSchemas: forms})
	if err != nil {
		return nil, err
	}
	s.Schema = "https://json-schema.org/draft/2020-12/schema"
	s.Title = "configuration file of an iconedge edge"
	s.Properties["version"] = &schema{Const: jsonschema.Ptr(any(1))}
	match, err := jsonschema.For[Entries](&jsonschema.ForOptions{TypeSchemas: forms})
	if err != nil {
		return nil, err
	}
	match.Properties["not"] = reference()
	limitValues(s.Properties["sites"].Items, s.Properties["defaults"])
	rule := s.Properties["sites"].Items.Properties["rules"].Items
	if err := errors.Join(addTerms(match, o.Matches), addTerms(rule, o.Actions)); err != nil {
		return nil, err
	}
	s.Defs = map[string]*schema{"match": {AnyOf: []*schema{
		{Type: "string", Description: "an expression of CEL over request"},
		{Type: "array", Items: reference(), MinItems: jsonschema.Ptr(1)},
		match,
	}}}
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		s.Properties[snake(name)] = flags[name].schema()
	}
	withoutNull(s)
	return json.MarshalIndent(s, "", "  ")
}

// addTerms gives a schema the terms that it lacks, and all terms their descriptions.
func addTerms(s *schema, terms []Term) error {
	for _, term := range terms {
		if s.Properties[term.Name] == nil {
			of, err := jsonschema.ForType(term.Type, &jsonschema.ForOptions{TypeSchemas: forms()})
			if err != nil {
				return err
			}
			s.Properties[term.Name] = of
		}
		if of := s.Properties[term.Name]; of.Ref == "" {
			of.Description = term.Help
		}
	}
	return nil
}

// limitValues limits the values of the fields of sites and defaults that have a type of Go with
// more of them.
func limitValues(site, defaults *schema) {
	origin, rule := site.Properties["origins"].AdditionalProperties, site.Properties["rules"].Items
	origin.AnyOf = []*schema{{Required: []string{"urls"}}, {Required: []string{"dir"}}}
	origin.Properties["precompressed"] = oneOrMore(text(strings.Join(precompressed, "|"), ""))
	origin.Properties["policy"] = text(strings.Join(balance.Names(), "|"), policyHelp())
	origin.Properties["resolve"] = text("all", "")
	for _, of := range []*schema{site, defaults} {
		of.Properties["client_encoding"] = text(strings.Join(encodings, "|"), "")
		of.Properties["cache_groups"] = text(strings.Join(cacheGroups, "|"), "")
	}
	rule.Properties["cache"] = text(strings.Join(caches, "|"), "")
	rule.Properties["cookies"] = text(strings.Join(cookies, "|"), "")
	rule.Properties["limit"].Properties["key"] = text("client|path|header .+", "")
	auth := rule.Properties["auth"]
	auth.MinProperties, auth.MaxProperties = jsonschema.Ptr(1), jsonschema.Ptr(1)
	auth.Properties["jwt"].Properties["from"] = text("(header|cookie) .+", "")
	status := rule.Properties["redirect"].Properties["status"]
	for _, one := range redirects {
		status.Enum = append(status.Enum, one)
	}
	atLeast := func(least float64, of *schema) { of.Minimum = &least }
	atLeast(200, rule.Properties["respond"].Properties["status"])
	share := rule.Properties["mirror"].Properties["share"]
	share.ExclusiveMinimum, share.Maximum = jsonschema.Ptr(0.0), jsonschema.Ptr(1.0)
	atLeast(0, origin.Properties["max_connections"])
	atLeast(0, origin.Properties["weight"].Items)
}

// policyHelp describes the policies.
func policyHelp() string {
	lines := []string{}
	for _, r := range balance.Rows() {
		lines = append(lines, r.Name+": "+r.Help)
	}
	return strings.Join(lines, "; ")
}

// withoutNull removes null from the types of a schema, which the generator adds for pointers: an
// absent field is left out, and is never null.
func withoutNull(s *schema) {
	if s == nil {
		return
	}
	s.Types = slices.DeleteFunc(s.Types, func(t string) bool { return t == "null" })
	if len(s.Types) == 1 {
		s.Type, s.Types = s.Types[0], nil
	} else if len(s.Types) == 0 {
		s.Types = nil
	}
	for _, of := range []map[string]*schema{s.Properties, s.Defs} {
		for _, one := range of {
			withoutNull(one)
		}
	}
	for _, one := range s.AnyOf {
		withoutNull(one)
	}
	withoutNull(s.Items)
	withoutNull(s.AdditionalProperties)
}

// oneOrMore returns the schema of one value, or of a list of them.
func oneOrMore(of *schema) *schema {
	return &schema{AnyOf: []*schema{of, {Type: "array", Items: of}}}
}

func reference() *schema { return &schema{Ref: "#/$defs/match"} }

// variable is the form of values that are given by the environment or by a file.
const variable = `\$\{[^}]*\}`

func text(pattern, description string) *schema {
	return &schema{Type: "string", Pattern: "^(" + pattern + ")$|" + variable, Description: description}
}

// forms returns the schemas of the types with a form of their own.
func forms() map[reflect.Type]*schema {
	words := &schema{AnyOf: []*schema{{Type: "string"}, {Type: "array", Items: &schema{Type: "string"}}}}
	zero := &schema{Const: jsonschema.Ptr(any(0))}
	duration := &schema{AnyOf: []*schema{text(`(\d+d)?((\d+(\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h))*`,
		"a time, such as 30d, 1h30m or 10s"), zero}}
	size := &schema{AnyOf: []*schema{text(`\d+(\.\d+)? ?([kKMGT]B|[KMGT]iB|B)`, "a size, such as 512MB (10^6) or 512MiB (2^20)"), zero}}
	limit := text(`off|0*[1-9]\d{0,6}/[0-9a-zµ.]+`, "requests and a window, such as 600/1m, or off")
	split := &schema{AnyOf: []*schema{{Type: "string"},
		{Type: "object", Properties: map[string]*schema{"sticky": text(`client|cookie .+`, "")},
			AdditionalProperties: &schema{Type: "integer", Minimum: jsonschema.Ptr(0.0)}}}}
	lists := map[string]*schema{"include": words, "exclude": words}
	return map[reflect.Type]*schema{
		reflect.TypeFor[Strings]():      words,
		reflect.TypeFor[Duration]():     duration,
		reflect.TypeFor[Size]():         size,
		reflect.TypeFor[Limit]():        limit,
		reflect.TypeFor[Compress]():     {AnyOf: []*schema{{Type: "boolean"}, text("all|stored|off|on", "")}},
		reflect.TypeFor[Dictionaries](): {AnyOf: []*schema{{Type: "boolean"}, text("auto|origin|off", "")}},
		reflect.TypeFor[Fraction](): {AnyOf: []*schema{{Type: "number", Minimum: jsonschema.Ptr(0.0), Maximum: jsonschema.Ptr(1.0)},
			{Type: "string", Pattern: variable}}},
		reflect.TypeFor[Split](): split,
		reflect.TypeFor[TTL](): {AnyOf: []*schema{duration,
			{Type: "object", PropertyNames: &schema{Pattern: `^[1-5](xx|\d\d)$`}, AdditionalProperties: duration}}},
		reflect.TypeFor[Cookies](): {AnyOf: []*schema{{Type: "boolean"}, words}},
		reflect.TypeFor[Query](): {AnyOf: []*schema{{Enum: []any{"all", "none"}},
			{Type: "object", Properties: lists, AdditionalProperties: &schema{Not: &schema{}},
				MinProperties: jsonschema.Ptr(1), MaxProperties: jsonschema.Ptr(1)}}},
		reflect.TypeFor[Conditions](): {AnyOf: []*schema{{Type: "string"}, {Type: "object", AdditionalProperties: words}}},
		reflect.TypeFor[Match]():      reference(),
	}
}

// schema returns the schema of a flag's key.
func (f Flag) schema() *schema {
	one := map[Form]*schema{
		Text: {Types: []string{"string", "number", "boolean"}}, Time: forms()[reflect.TypeFor[Duration]()],
		Bytes:   forms()[reflect.TypeFor[Size]()],
		Boolean: {Type: "boolean"}, Switch: {AnyOf: []*schema{{Type: "boolean"}, {Enum: []any{"on", "off"}}}}, Whole: {Type: "integer"},
		Table: {Type: "object"},
	}[f.Form]
	if f.Repeatable && f.Form != Table {
		return &schema{AnyOf: []*schema{one, {Type: "array", Items: one}}}
	}
	return one
}
