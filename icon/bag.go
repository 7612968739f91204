package icon

import (
	"slices"
	"strings"
)

// MaxBag is the largest number of icons in a bag.
const MaxBag = 200

// ParseBag reads the icons of a bag: pack/name, with commas between them, and perhaps spaces. It
// returns them sorted and each once, so that the same icons give the same bag in any order. A bag
// may be empty. The error is a ParamError.
func ParseBag(s string) ([]Ref, error) {
	names := strings.Split(s, ",")
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	slices.Sort(names)
	if names = slices.Compact(names); names[0] == "" {
		names = names[1:]
	}
	if len(names) > MaxBag {
		return nil, &ParamError{"icons", "a bag has at most 200 icons"}
	}
	refs := make([]Ref, len(names))
	for i, name := range names {
		ref, err := ParseRef(name)
		if err != nil {
			return nil, &ParamError{"icons", "icons must be names of the form pack/name, with commas between them"}
		}
		refs[i] = ref
	}
	return refs, nil
}

// FormatBag returns the canonical form of a bag, which ParseBag reads. It needs no escaping in a
// query.
func FormatBag(refs []Ref) string {
	var b strings.Builder
	for i, ref := range refs {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(ref.Pack + "/" + ref.Name)
	}
	return b.String()
}
