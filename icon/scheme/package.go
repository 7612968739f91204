package scheme

import (
	"slices"
	"strings"

	"github.com/iconedge/iconedge/icon"
)

// packagesOf maps the names of packages, in canonical form, to their libraries. It returns the
// number of words of the longest name too.
func packagesOf(list []*library) (of map[string]*library, most int) {
	of = map[string]*library{}
	for _, l := range list {
		for _, name := range l.Packages {
			of[name] = l
			most = max(most, len(strings.Fields(name)))
		}
	}
	return of, most
}

// anyComponent is the form in which components of many libraries end.
const anyComponent = "*Icon"

// packaged returns the reading of a text that names a package: lucide-react house,
// fontawesome:house, or an import. Of an import the name is a component in braces, or the end of
// the path.
func (t text) packaged(isPack func(string) bool) []Reading {
	l, rest := t.cutPackage(isPack)
	if l == nil {
		return nil
	}
	packs := map[string]bool{}
	for _, to := range l.targets {
		packs[to.Pack] = true
	}
	r := Reading{Library: l.Library, Certain: t.punctuated, Targets: l.targets}
	for _, run := range rest {
		name, ok := hyphened(run)
		if !ok {
			continue
		}
		if r.Name == "" {
			r.Name = name
		}
		for _, f := range byToken.of(text{runs: [][]string{run}}) {
			part, ok := f.componentIn(run)
			switch {
			case !ok:
			case f.raw == anyComponent: // HomeIcon of lucide-react is home
				r.Name, r.Refs = part, append(r.Refs, refs(l.targets, part)...)
			default: // FaRegHeart of react-icons/fa6 is heart, in one of its packs
				of := slices.DeleteFunc(refs(f.targets, part), func(ref icon.Ref) bool { return !packs[ref.Pack] })
				if len(of) > 0 {
					r.Name, r.Refs = part, append(r.Refs, of...)
				}
			}
		}
		r.Refs = append(r.Refs, refs(l.targets, name)...)
		break
	}
	if r.Name == "" {
		return nil
	}
	return []Reading{r}
}

// isImportWord reports whether a word of an import is no name of an icon.
func isImportWord(w string) bool {
	return slices.Contains([]string{"import", "from", "require", "const", "export", "type", "as"}, w)
}

// cutPackage finds the package that a text names, and returns the other runs of words.
func (t text) cutPackage(isPack func(string) bool) (l *library, rest [][]string) {
	for _, run := range t.runs {
		if slices.ContainsFunc(run, isImportWord) {
			run = slices.DeleteFunc(slices.Clone(run), isImportWord)
		}
		if l == nil {
			l, run = cutPackageIn(run, isPack)
		}
		if len(run) > 0 {
			rest = append(rest, run)
		}
	}
	return l, rest
}

// cutPackageIn finds the name of a package at the start or the end of a run, and returns the other
// words. A path after the name, or a colon, is one of them.
func cutPackageIn(run []string, isPack func(string) bool) (l *library, rest []string) {
	for n := min(mostWords, len(run)); n > 0; n-- {
		if l = packages[strings.Join(run[:n], " ")]; l != nil {
			return l, run[n:]
		}
		if l = packages[strings.Join(run[len(run)-n:], " ")]; l != nil {
			return l, run[:len(run)-n]
		}
	}
	if len(run) == 0 || isPack(run[0]) {
		return nil, run
	}
	for at := len(run[0]) - 1; at > 0; at-- {
		if c := run[0][at]; c != '/' && c != ':' || isPack(run[0][:at]) {
			continue
		}
		if l = packages[run[0][:at]]; l != nil {
			return l, append([]string{run[0][at+1:]}, run[1:]...)
		}
	}
	return nil, run
}
