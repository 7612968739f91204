package icon

import (
	"fmt"
	"slices"
	"strings"
)

// MaxBag is the largest number of icons in a bag. An address has room for so many of one pack.
const MaxBag = 500

// ParseBag reads the icons of a bag: pack/name, with commas between them, and perhaps spaces. A
// name alone is of the pack before it. ParseBag returns the icons sorted and each once, so that the
// same icons give the same bag in any order. A bag may be empty. The error is a ParamError.
func ParseBag(s string) ([]Ref, error) {
	names := strings.Split(s, ",")
	pack := ""
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
		if before, _, whole := strings.Cut(names[i], "/"); whole {
			pack = before
		} else if names[i] != "" {
			names[i] = pack + "/" + names[i]
		}
	}
	slices.Sort(names)
	if names = slices.Compact(names); names[0] == "" {
		names = names[1:]
	}
	if len(names) > MaxBag {
		return nil, &ParamError{"icons", fmt.Sprintf("a bag has at most %d icons", MaxBag)}
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

// FormatBag returns the canonical form of a bag, which ParseBag reads: a pack is there once before
// its icons. It needs no escaping in a query.
func FormatBag(refs []Ref) string {
	var b strings.Builder
	for i, ref := range refs {
		if i > 0 {
			b.WriteByte(',')
		}
		if i == 0 || refs[i-1].Pack != ref.Pack {
			b.WriteString(ref.Pack + "/")
		}
		b.WriteString(ref.Name)
	}
	return b.String()
}
