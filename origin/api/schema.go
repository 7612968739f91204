package api

import (
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/internal/problem"
)

// A schema is a JSON Schema (2020-12).
type schema = jsonschema.Schema

// answerTypes are the types of the answers and of their parts. Each is a component of the document.
var answerTypes = []any{
	icon.Also{}, icon.Answer{}, icon.Category{}, icon.License{}, icon.Match{}, icon.Metadata{}, icon.Pack{},
	icon.PackAnswer{}, icon.PackIcon{}, icon.PacksAnswer{},
	icon.ReleaseAnswer{}, icon.Result{}, icon.SearchAnswer{}, icon.SuggestAnswer{}, icon.VerifyAnswer{}, problem.Problem{}, VerifyCall{},
}

// refTo returns a reference to the component of the type of v.
func refTo(v any) *schema {
	return &schema{Ref: "#/components/schemas/" + reflect.TypeOf(v).Name()}
}

// schemasOf returns the schemas of types by their names. They refer to each other, except that, as
// in JSON, the fields of an embedded struct belong to the outer object.
func schemasOf(types []any) map[string]*schema {
	all := map[string]*schema{}
	for _, v := range types {
		t, others := reflect.TypeOf(v), map[reflect.Type]*schema{}
		for _, other := range types {
			others[reflect.TypeOf(other)] = refTo(other)
		}
		delete(others, t)
		for _, f := range reflect.VisibleFields(t) {
			if f.Anonymous {
				delete(others, f.Type)
			}
		}
		s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: others})
		if err != nil {
			panic(err) // the types are part of the program
		}
		describe(t.Name(), s)
		all[t.Name()] = s
	}
	return all
}

// describe adds the descriptions, and adapts the schema to this API: lists are never null, and
// later versions may add fields.
func describe(object string, s *schema) {
	s.Description, s.AdditionalProperties, s.PropertyOrder = described[object], nil, nil
	for name, p := range s.Properties {
		if slices.Contains(p.Types, "array") {
			p.Type, p.Types = "array", nil
		}
		if p.Ref == "" {
			p.Description = described[object+"."+name]
			if p.Description == "" {
				p.Description = described[name]
			}
		}
	}
}

// described describes the names in the answers: types, fields of one type, and fields with the same
// meaning in every type.
var described = map[string]string{
	"Also": "Another icon with the same SVG.", "Answer": "An icon and its metadata.",
	"Category": "A group of icons in a pack.", "License": "A licence.",
	"Match": "A word of the query, and how it matches.", "Metadata": "The metadata of an icon.",
	"Pack": "A set of icons with one licence.", "PackAnswer": "A pack, one page of its icons, and their aliases.",
	"PackIcon": "An icon in the list of its pack.", "PacksAnswer": "Packs, sorted by key.", "Problem": "An error (RFC 9457).",
	"ReleaseAnswer": "The current release, and the changes since another one.", "Result": "An icon that was found.",
	"SearchAnswer":  "The icons that were found, the best first.",
	"SuggestAnswer": "Queries that begin with the typed text.", "VerifyAnswer": "Whether a licence token is valid.",
	"VerifyCall": "A licence token to verify.",

	"pack": "The key of a pack.", "name": "The name of an icon in its pack.", "url": "The icon's address on the CDN.",
	"license": "SPDX identifier of the licence.", "commercial_use": "Whether the licence allows commercial use.",
	"attribution": "One line that credits author, pack and licence.", "width": "In pixels.", "height": "In pixels.",
	"monochrome": "Whether everything is painted in one colour; otherwise `color` has no effect.",
	"color":      "The colour of a monochrome icon, `#rrggbb`; null: that of the text (currentColor).",
	"stroke": "The width of all strokes when the icon is shown 24 pixels high; null: they have not one, so that " +
		"`stroke` has no effect.",
	"two_tone": "Whether a monochrome icon has opaque and translucent parts; otherwise `secondary` has no effect.",
	"palette":  "Whether some of its icons have colours of their own.",
	"alias_of": "The icon that this is an alias of.", "pack_name": "The pack's display name.",
	"also": "Other icons with the same SVG.", "matched": "How the words of the query match; with explain=true alone.",
	"word":    "A word or phrase of the query, or the icon of similar.",
	"by":      "How it matches: name, alias, tag, typo, prefix, synonym, language, shape or code.",
	"through": "The words of the icon, or the key of the pack, that it matches.",
	"similar": "The icon that the results are similar to.", "svg": "The icon, a complete SVG document.", "view_box": "The icon's viewBox.",
	"categories": "Categories of the icon.", "tags": "Words by which a search finds the icon, besides its name.",
	"recolored": "Whether `color` was applied.", "release": "Id of a release of the library.", "total": "The total number.",
	"title": "The name of the status.", "status": "The HTTP status.",
	"detail": "The mistake, and what would be right; it never repeats the request.", "type": "about:blank, or an address.",
	"parameter": "The parameter that is wrong.", "suggestions": "Similar names or queries.",
	"query": "The canonical query: lower case, camelCase split, single spaces.",
	"limit": "The largest number of results.", "offset": "The number of skipped results.", "results": "The results.",
	"page":     "This page, from 1.",
	"per_page": "Icons on a page.", "pages": "The number of pages.", "icons": "Icons of this page, sorted by name.",
	"spdx":    "SPDX identifier.",
	"aliases": "The aliases of the icons on this page, each with its icon.", "valid": "Whether the token is valid.",
	"plan":  "The plan of the licence.",
	"since": "RFC 3339, UTC.", "token": "The licence token.", "packs": "The packs.", "created": "When the release was made: RFC 3339, UTC.",
	"all": "Everything that a cache stores may have changed.", "changed": "Surrogate keys of the changes.",
	"count":         "Visible icons, without aliases.",
	"license_title": "The licence's name.", "license_url": "The page with the licence's text.",
	"author": "The author of the pack.", "author_url": "The author's page.",
	"version": "The pack's own version.", "category": "The kind of pack.", "samples": "Names of a few icons that show its style.",

	"Pack.name": "Its display name.", "Category.name": "Its name.", "License.url": "The page with its text.",
	"ReleaseAnswer.since": "The release compared with.", "ReleaseAnswer.names": "SHA-256 of the names of the release, in hex.",
	"ReleaseAnswer.state":     "The id of the release, with that of the set of withdrawn icons if there are any.",
	"ReleaseAnswer.withdrawn": "Withdrawn packs and icons, aliases included: PACK or PACK/NAME.",
	"Pack.categories":         "Categories of its icons.", "PackAnswer.name": "Its display name.",
	"PackAnswer.categories": "Categories of its icons.",
	"Pack.height":           "The heights that its icons are designed for, in pixels.",
	"PackAnswer.height":     "The heights that its icons are designed for, in pixels.",
	"Pack.monochrome":       "Whether all of its icons are monochrome.",
	"PackAnswer.monochrome": "Whether all of its icons are monochrome.",
	"SearchAnswer.license":  "A note that each result has its own licence.",
	"PacksAnswer.license":   "A note that each pack has its own licence.", "SuggestAnswer.license": "A note that words need no licence.",
	"SuggestAnswer.suggestions": "At most 10 completions.",
	"SearchAnswer.pack":         "The pack that was searched.",
	"SearchAnswer.total":        "The total number of results, even beyond the largest `offset`.",
}
