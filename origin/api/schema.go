package api

import (
	"reflect"
	"strings"
)

// A schema is a JSON Schema (2020-12), as far as our answers need one.
type schema struct {
	Ref         string            `json:"$ref,omitempty"`
	Type        any               `json:"type,omitempty"` // a name, or a list of two: the type and null
	Description string            `json:"description,omitempty"`
	Format      string            `json:"format,omitempty"`
	Pattern     string            `json:"pattern,omitempty"`
	Enum        []any             `json:"enum,omitempty"`
	Default     any               `json:"default,omitempty"`
	Minimum     *int              `json:"minimum,omitempty"`
	Maximum     *int              `json:"maximum,omitempty"`
	MinLength   int               `json:"minLength,omitempty"`
	MaxLength   int               `json:"maxLength,omitempty"`
	Required    []string          `json:"required,omitempty"`
	Properties  map[string]schema `json:"properties,omitempty"`
	Additional  *schema           `json:"additionalProperties,omitempty"`
	Items       *schema           `json:"items,omitempty"`
}

// schemas are those of components, by the name of their Go type.
type schemas map[string]schema

// of gives the schema of a type. A struct's is put among the components, and referred to.
func (s schemas) of(t reflect.Type) schema {
	switch t.Kind() {
	case reflect.Bool:
		return schema{Type: "boolean"}
	case reflect.Int:
		return schema{Type: "integer"}
	case reflect.Float64:
		return schema{Type: "number"}
	case reflect.String:
		return schema{Type: "string"}
	case reflect.Slice:
		items := s.of(t.Elem())
		return schema{Type: "array", Items: &items}
	case reflect.Map:
		values := s.of(t.Elem())
		return schema{Type: "object", Additional: &values}
	case reflect.Pointer: // we use them for strings that may be null
		inner := s.of(t.Elem())
		inner.Type = []string{inner.Type.(string), "null"}
		return inner
	case reflect.Struct:
		if _, known := s[t.Name()]; !known {
			s[t.Name()] = s.object(t)
		}
		return schema{Ref: "#/components/schemas/" + t.Name()}
	}
	panic("no schema for " + t.String())
}

func (s schemas) object(t reflect.Type) schema {
	o := schema{Type: "object", Description: described[t.Name()], Properties: map[string]schema{}}
	s.fields(&o, t.Name(), t)
	return o
}

// fields adds those of t to the object; the fields of an embedded struct are the object's own, as in JSON.
func (s schemas) fields(o *schema, object string, t reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous:
			s.fields(o, object, f.Type)
			continue
		case name == "-":
			continue
		}
		p := s.of(f.Type)
		if p.Ref == "" {
			p.Description = described[object+"."+name]
			if p.Description == "" {
				p.Description = described[name]
			}
		}
		o.Properties[name] = p
		if !strings.Contains(options, "omitempty") {
			o.Required = append(o.Required, name)
		}
	}
}

// described says what the names of the answers mean: types, fields of one type, and fields that mean the same wherever they are.
var described = map[string]string{
	"Also": "Another place where the same drawing stands.", "Answer": "An icon, and what is known of it.",
	"Category": "A group of icons in a pack.", "License": "A licence.", "Metadata": "What is known of an icon.",
	"Pack": "A set of icons with one licence.", "PackAnswer": "A pack, one page of its icons, and its aliases.",
	"PackIcon": "An icon in the list of its pack.", "PacksAnswer": "Packs, sorted by key.", "Problem": "An error (RFC 9457).",
	"ReleaseAnswer": "The current release, and what changed since another.", "Result": "An icon that was found.",
	"SearchAnswer": "The icons that were found, the best first.", "SuggestAnswer": "Queries that begin with what is typed.", "VerifyAnswer": "Whether a licence token is valid.",
	"VerifyCall": "A licence token to verify.",

	"pack": "The key of a pack.", "name": "The name of an icon in its pack.", "url": "The icon's address on the CDN.",
	"license": "SPDX identifier of the licence.", "commercial_use": "Whether the licence allows commercial use.",
	"attribution": "One line that credits author, pack and licence.", "width": "In pixels.", "height": "In pixels.",
	"monochrome": "Whether every painted colour is currentColor: only then `color` does something.",
	"alias_of":   "The icon that this is another name of.", "pack_name": "The pack's name for people.",
	"also": "Other places where the same drawing stands.", "svg": "The drawing, a whole SVG document.", "view_box": "The drawing's viewBox.",
	"categories": "Groups that the icon is in.", "tags": "Words that the icon is found by besides its name.",
	"recolored": "Whether `color` was put in.", "release": "Id of a release of the library.", "total": "How many there are in all.",
	"title": "For people.", "status": "The HTTP status.", "detail": "What to mend; it never repeats what was sent.", "type": "about:blank, or an address.",
	"parameter": "The parameter that is wrong.", "suggestions": "Close names, or nearby queries.", "query": "What was searched for: lower case, camelCase in words, single spaces.",
	"limit": "Results asked for.", "offset": "Results left out at the start.", "results": "The results.", "page": "This page, from 1.",
	"per_page": "Icons on a page.", "pages": "How many pages there are.", "icons": "Icons of this page, sorted by name.", "spdx": "SPDX identifier.",
	"aliases": "All aliases, each with the icon that it is another name of.", "valid": "Whether the token is valid.", "plan": "What was bought.",
	"since": "RFC 3339, UTC.", "token": "The licence token.", "packs": "The packs.", "created": "When the release was made: RFC 3339, UTC.",
	"all": "Whatever is kept may have changed.", "changed": "Surrogate keys of what changed.", "count": "Visible icons, without aliases.",
	"license_title": "The licence's name.", "license_url": "The page with the licence's text.", "author": "Who drew it.", "author_url": "The author's page.",
	"version": "The pack's own version.", "category": "What kind of pack it is.", "samples": "Names of a few icons that show its style.",

	"Pack.name": "Its name for people.", "Category.name": "Its name.", "License.url": "The page with its text.", "ReleaseAnswer.since": "The release compared with.", "ReleaseAnswer.names": "SHA-256 of the names of the release, in hexadecimal.",
	"Pack.categories": "Groups of its icons.", "PackAnswer.name": "Its name for people.", "PackAnswer.categories": "Groups of its icons.",
	"Pack.height": "The heights that its icons are drawn for, in pixels.", "PackAnswer.height": "The heights that its icons are drawn for, in pixels.",
	"Pack.monochrome": "Whether every icon of it is.", "PackAnswer.monochrome": "Whether every icon of it is.",
	"SearchAnswer.license": "That each result names its own.", "PacksAnswer.license": "That each pack names its own.", "SuggestAnswer.license": "That words need none.",
	"SuggestAnswer.suggestions": "At most 10 completions.",
	"SearchAnswer.pack":         "The pack that was searched.", "SearchAnswer.total": "Results in all, without the bound on `offset`.",
}
