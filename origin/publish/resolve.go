package publish

import (
	"fmt"
	"slices"
	"strings"
)

// A resolver finds the icons of aliases. Each alias is followed once, however many lead to it.
type resolver struct {
	*collection
	known map[string]resolved
}

// A resolved alias is of an icon, or is left out.
type resolved struct {
	of    string
	links int    // aliases between the name and the icon, itself among them
	why   string // it is left out; empty: it is not
}

// resolve follows an alias to its icon.
func (r *resolver) resolve(name string) resolved {
	var path []string // aliases on the way, none of them known
	on := map[string]int{}
	end := resolved{why: "it is an alias of nothing"}
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
		if end.links++; end.why == "" && end.links > maxChain {
			end.why = fmt.Sprintf("it is more than %d aliases away from its icon", maxChain)
		}
		r.known[link] = end
	}
	return end
}

// cycle notes that aliases lead to each other in a circle, the last to the first. All of them, and whatever leads to them, is left
// out for the same reason.
func (r *resolver) cycle(names []string) resolved {
	const few = 4
	least := slices.Index(names, slices.Min(names)) // so that it is the same wherever the circle was entered
	names = slices.Concat(names[least:], names[:least])
	shown := make([]string, 0, few+2)
	for _, name := range names[:min(few, len(names))] {
		shown = append(shown, printable(name))
	}
	if len(names) > few {
		shown = append(shown, fmt.Sprintf("%d more", len(names)-few))
	}
	end := resolved{why: "its aliases lead in a circle: " + strings.Join(append(shown, printable(names[0])), " → ")}
	for _, name := range names {
		r.known[name] = end
	}
	return end
}
