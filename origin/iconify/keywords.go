package iconify

import (
	"cmp"
	"slices"
	"strings"

	"github.com/iconedge/iconedge/icon"
)

// minPartial is the length of the shortest word that has completions, as in @iconify/api.
const minPartial = 2

// keywords are the words of all visible names, sorted.
type keywords struct {
	sorted []string
}

// newKeywords reads the words from the list of names.
func newKeywords(list []byte) *keywords {
	names, err := icon.ParseNames(list)
	if err != nil { // our own list
		panic(err)
	}
	known := map[string]bool{}
	k := &keywords{}
	for name := range names.Visible {
		for w := range strings.SplitSeq(name, "-") {
			if !known[w] {
				w = strings.Clone(w)
				known[w] = true
				k.sorted = append(k.sorted, w)
			}
		}
	}
	slices.Sort(k.sorted)
	return k
}

func (k *keywords) has(w string) bool {
	_, found := slices.BinarySearch(k.sorted, w)
	return found
}

// matches returns the words that begin with w, then, with suffixes, those that end with it; the
// shortest first.
func (k *keywords) matches(w string, suffixes bool) []string {
	if len(w) < minPartial {
		return []string{}
	}
	begin, end := []string{}, []string{}
	for _, word := range k.sorted {
		switch {
		case len(word) <= len(w):
		case strings.HasPrefix(word, w):
			begin = append(begin, word)
		case suffixes && strings.HasSuffix(word, w):
			end = append(end, word)
		}
	}
	shortest := func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }
	slices.SortFunc(begin, shortest)
	slices.SortFunc(end, shortest)
	return append(begin, end...)
}

// keywords answers /keywords.
func (l *Library) keywords(p icon.Params) (any, error) {
	ans := map[string]any{}
	test, suffixes := "", false
	if prefix, given := p["prefix"]; given {
		test = prefix
	} else if test, given = p["keyword"]; given {
		suffixes = true
	} else {
		return nil, badParameter("keyword", "keyword or prefix is missing: the word to complete")
	}
	for name, value := range p {
		ans[name] = value
	}
	test = strings.ToLower(strings.TrimSpace(test))
	ans["matches"] = []string{}
	if !icon.ValidKey(test) {
		ans["invalid"] = true
		ans["exists"] = false
		return ans, nil
	}
	known := l.words()
	parts := strings.Split(test, "-")
	last := parts[len(parts)-1]
	for _, part := range parts[:len(parts)-1] {
		if !known.has(part) {
			ans["exists"] = false
			return ans, nil
		}
	}
	ans["exists"] = known.has(last)
	ans["matches"] = known.matches(last, suffixes && len(parts) == 1)
	return ans, nil
}
