package icon

import (
	"slices"
	"strings"
)

// MaxBag is the largest number of icons in a bag.
const MaxBag = 200

// ParseBag reads the icons of a bag: pack/name, with commas between them. It returns them sorted
// and each once, so that the same icons give the same bag in any order. The error is a ParamError.
func ParseBag(s string) ([]Ref, error) {
	names := strings.Split(s, ",")
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) > 0 && names[0] == "" {
		names = names[1:]
	}
	switch {
	case len(names) == 0:
		return nil, &ParamError{"icons", "icons is required: the names of the icons, pack/name, with commas between them"}
	case len(names) > MaxBag:
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
