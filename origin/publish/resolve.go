package publish

import (
	"fmt"
	"slices"
	"strings"
)

// A resolver finds the icons of aliases. It follows each alias once, even if many others lead to
// it.
type resolver struct {
	*collection
	known map[string]resolved
}

// A resolved alias has either an icon or a reason to leave it out.
type resolved struct {
	of     string
	links  int    // aliases that lead from the name to the icon, including the name itself
	reason string // to leave the alias out; empty: it has an icon
}

// resolve follows an alias to its icon.
func (r *resolver) resolve(name string) resolved {
	var path []string      // the aliases from name on, none of them known
	on := map[string]int{} // their positions in path
	end := resolved{reason: "it is an alias of nothing"}
	for {
		if _, ok := r.icons[name]; ok {
			end = resolved{of: name}
			break
		}
		if known, ok := r.known[name]; ok {
			end = known
			break
		}
		if first, ok := on[name]; ok {
			end = r.cycle(path[first:])
			path = path[:first]
			break
		}
		e, ok := r.aliases[name]
		if !ok {
			break
		}
		on[name] = len(path)
		path = append(path, name)
		name = e.Parent
	}
	for _, link := range slices.Backward(path) {
		if end.links++; end.reason == "" && end.links > maxChain {
			end.reason = fmt.Sprintf("it is more than %d aliases away from its icon", maxChain)
		}
		r.known[link] = end
	}
	return end
}

// cycle records that aliases form a circle, in which the last leads to the first. The circle and
// all aliases that lead to it are left out, for the same reason.
func (r *resolver) cycle(names []string) resolved {
	const few = 4
	// Start at the least name, so that the reason does not depend on the first alias that was
	// resolved.
	least := slices.Index(names, slices.Min(names))
	names = slices.Concat(names[least:], names[:least])
	shown := make([]string, 0, few+2)
	for _, name := range names[:min(few, len(names))] {
		shown = append(shown, printable(name))
	}
	if len(names) > few {
		shown = append(shown, fmt.Sprintf("%d more", len(names)-few))
	}
	end := resolved{reason: "its aliases lead in a circle: " + strings.Join(append(shown, printable(names[0])), " → ")}
	for _, name := range names {
		r.known[name] = end
	}
	return end
}
