package search

import (
	"bufio"
	"cmp"
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/icon"
)

// firstPage is the number of results that count: those that a user sees without paging.
const firstPage = 20

// A question is a query with known answers, a line of the file that ICONEDGE_QUERIES names. Its
// README describes the fields.
type question struct {
	ID              int
	Task, Sub, Q    string
	Pack, Only, Src string
	Name            string
	Alt             []string
	Tag, Rel, Rel1  []string
	N               []int
}

// A scorer knows the style words of packs, and their aliases.
type scorer struct {
	Generic []string
	Affix   map[string]struct{ S, F []string }
	Alias   map[string]map[string]string
	others  map[string]map[string][]string // by icon: its aliases
	rules   map[string][2][]string
}

// questions reads the file of queries.
func questions(t testing.TB) (*scorer, []question) {
	path := os.Getenv("ICONEDGE_QUERIES")
	if path == "" {
		t.Skip("ICONEDGE_QUERIES is not set to a file of queries with known answers")
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	j := &scorer{others: map[string]map[string][]string{}, rules: map[string][2][]string{}}
	var all []question
	for first := true; lines.Scan(); first = false {
		var q question
		into := any(&q)
		if first {
			into = j
		}
		if err := json.Unmarshal(lines.Bytes(), into); err != nil {
			t.Fatal(err)
		}
		if !first {
			all = append(all, q)
		}
	}
	j.invertAliases()
	return j, all
}

func (j *scorer) invertAliases() {
	for pack, aliases := range j.Alias {
		j.others[pack] = map[string][]string{}
		for alias, of := range aliases {
			j.others[pack][of] = append(j.others[pack][of], alias)
		}
	}
}

// concept returns a name without its style.
func (j *scorer) concept(pack, name string) string {
	rules, known := j.rules[pack]
	if !known {
		longest := func(a, b string) int { return cmp.Compare(len(b), len(a)) }
		rules = [2][]string{slices.Concat(j.Generic, j.Affix[pack].S), slices.Clone(j.Affix[pack].F)}
		slices.SortStableFunc(rules[0], longest)
		slices.SortStableFunc(rules[1], longest)
		j.rules[pack] = rules
	}
	for _, s := range rules[0] {
		if rest, cut := strings.CutSuffix(name, "-"+s); cut && rest != "" {
			name = rest
			break
		}
	}
	for _, s := range rules[1] {
		if rest, cut := strings.CutPrefix(name, s+"-"); cut && rest != "" {
			return rest
		}
	}
	return name
}

func (j *scorer) icon(r icon.Ref) icon.Ref {
	return icon.Ref{Pack: r.Pack, Name: cmp.Or(j.Alias[r.Pack][r.Name], r.Name)}
}

// A score holds the measures of one ranking, without those that do not apply to its task.
type score map[string]float64

// score scores the first page of a query.
func (j *scorer) score(q question, found []icon.Ref) score {
	s := score{"zero": 0}
	if len(found) == 0 {
		s["zero"] = 1
	}
	switch q.Task {
	case "known":
		s.rank(slices.IndexFunc(found, func(r icon.Ref) bool { return j.known(q, r) }))
	case "keyword":
		j.keyword(q, found, s)
	case "synonym":
		j.synonym(q, found, s)
	}
	return s
}

func (s score) rank(at int) {
	s["mrr"], s["s1"], s["s10"], s["s20"] = 0, 0, 0, 0
	if at < 0 {
		return
	}
	s["mrr"] = 1 / float64(at+1)
	for name, n := range map[string]int{"s1": 1, "s10": 10, "s20": 20} {
		if at < n {
			s[name] = 1
		}
	}
}

func (j *scorer) known(q question, r icon.Ref) bool {
	pack := cmp.Or(q.Pack, q.Only)
	if pack == "" {
		return r.Name == q.Name
	}
	return r.Pack == pack && (r.Name == q.Name || slices.Contains(q.Alt, r.Name) || j.icon(r) == j.icon(icon.Ref{Pack: pack, Name: q.Name}))
}

// keyword computes nDCG over the grades 3, 2 and 1, the share of places with a relevant icon, and
// the number of packs.
func (j *scorer) keyword(q question, found []icon.Ref, s score) {
	words := strings.Fields(q.Q)
	for i := range words {
		words[i] = fold(words[i])
	}
	seen, packs := map[icon.Ref]bool{}, map[string]bool{}
	dcg, hits := 0.0, 0.0
	for i, r := range found {
		packs[r.Pack] = true
		of := j.icon(r)
		if seen[of] {
			continue
		}
		seen[of] = true
		grade := max(j.grade(q, words, r), j.grade(q, words, of))
		for _, alias := range j.others[of.Pack][of.Name] {
			grade = max(grade, j.grade(q, words, icon.Ref{Pack: of.Pack, Name: alias}))
		}
		if grade > 0 {
			hits++
			dcg += float64(grade) / math.Log2(float64(i+2))
		}
	}
	best, at, all := 0.0, 0, 0
	for i, n := range q.N {
		all += n
		for ; n > 0 && at < firstPage; n-- {
			best += float64(3-i) / math.Log2(float64(at+2))
			at++
		}
	}
	s["ndcg"], s["p20"] = min(1, dcg/best), min(1, hits/float64(min(firstPage, all)))
	if q.Pack == "" {
		s["packs"] = float64(len(packs))
	}
}

func (j *scorer) grade(q question, words []string, r icon.Ref) int {
	concept := j.concept(r.Pack, r.Name)
	name := nameWords(nil, r.Name)
	switch {
	case slices.Equal(nameWords(nil, concept), words):
		return 3
	case !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(name, w) }):
		return 2
	case slices.Contains(q.Tag, concept):
		return 1
	}
	return 0
}

func (j *scorer) synonym(q question, found []icon.Ref, s score) {
	got, first := map[string]bool{}, -1
	for i, r := range found {
		concept := j.concept(r.Pack, j.icon(r).Name)
		right := slices.Contains(q.Rel, concept)
		if right {
			got[concept] = true
		}
		if first < 0 && (right || slices.Contains(q.Rel1, concept)) {
			first = i
		}
	}
	s.rank(first)
	delete(s, "s1")
	delete(s, "s10")
	s["r20"] = float64(len(got)) / float64(min(firstPage, len(q.Rel)))
}
