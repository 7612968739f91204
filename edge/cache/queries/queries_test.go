package queries

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache/entrytest"
	"github.com/iconedge/iconedge/edge/cache/invalidation"
)

// newTable returns a table and its site, and the generation of purges, which the test changes.
func newTable() (t *Table, s *Site, now *invalidation.Generation) {
	now = new(invalidation.Generation)
	t = New(func() invalidation.Generation { return *now })
	return t, t.Site("shop"), now
}

// Which addresses share a key.
func TestKey(t *testing.T) {
	const base = "http://shop.test/page"
	for _, row := range []struct {
		rule, one, other string
		same             bool
	}{
		{`params=("a")`, base + "?a=1&b=2", base + "?b=2&a=3", true},
		{`params=("a")`, base + "?a=1", base, true},
		{`params=("a")`, base + "?b=1", base + "?b=2", false},
		{`params=("a")`, base + "?b=1", "https://shop.test/page?b=1", false},
		{"params", base + "?a\x00shop/\x00o=app", base + "\x00shop/\x00o=app", true},
		{"params", base + "?a\x00shop/\x00o=app", base + "?a\x00shop/\x00o=other", false},
		{"key-order", base + "?a=1&b=2", base + "?b=2&a=1", true},
		{"key-order", base + "?a=1&b=2", base + "?a=1%26b=2", false},
	} {
		_, s, _ := newTable()
		r := s.Learn(row.one, []string{row.rule})
		if same := r.Key(row.one) == r.Key(row.other); same != row.same {
			t.Errorf("%q: %q and %q share a key: %v", row.rule, row.one, row.other, same)
		}
		for _, key := range []string{row.one, row.other} {
			if strings.HasPrefix(key, base) && !slices.Contains(s.Of(key), r) {
				t.Errorf("the rule of %q is not known for %q", row.one, key)
			}
		}
	}
}

// Which fields and keys have no rule, and for which addresses a rule holds.
func TestLearn(t *testing.T) {
	table, s, _ := newTable()
	for _, row := range []struct {
		key   string
		lines []string
		ok    bool
	}{
		{"http://a.test/page?a=1", nil, false},
		{"http://a.test/page?a=1", []string{"params=(a)"}, false},
		{"http://a.test/page?a=1", []string{`params=("` + strings.Repeat("a", maxText) + `")`}, false},
		{"http://a.test/" + strings.Repeat("a", maxPlace), []string{"params"}, false},
		{"/mdi/home.svg", []string{"params"}, false},
		{"/mdi/home.svg?a=http://a.test/", []string{"params"}, false},
		{"http://a.test/page?a=1", []string{"key-order", "params"}, true},
	} {
		if r := s.Learn(row.key, row.lines); (r != nil) != row.ok || r != nil && !r.Is(row.lines) {
			t.Errorf("%q %q: %v", row.key, row.lines, r)
		}
	}
	for key, want := range map[string]int{"http://a.test/page?b=2": 1, "https://a.test/page": 1, "http://b.test/page": 0,
		"http://a.test/page/": 0, "http://a.test/pag": 0} {
		if got := len(s.Of(key)); got != want {
			t.Errorf("%d rules for %q, want %d", got, key, want)
		}
	}
	if got := table.Site("other").Of("http://a.test/page"); got != nil {
		t.Errorf("a site without rules has %v", got)
	}
}

// A path has a few rules, the newest first. The table forgets the others, and finds each of them
// again only as a new one.
func TestRules(t *testing.T) {
	table, s, _ := newTable()
	const key = "http://a.test/page"
	first := s.Learn(key, []string{`params=("0")`})
	for i := range 2 * maxRules {
		s.Learn(key, []string{fmt.Sprintf(`params=("%d")`, i)})
		learned := table.Learned()
		if s.Learn(key, []string{fmt.Sprintf(`params=("%d")`, i)}); table.Learned() != learned {
			t.Fatal("a known rule was learned again")
		}
	}
	var got []string
	for _, r := range s.Of(key) {
		got = append(got, r.text)
	}
	if want := []string{`params=("5")`, `params=("4")`, `params=("3")`}; !slices.Equal(got, want) {
		t.Errorf("rules %q, want %q", got, want)
	}
	if s.Learn(key, []string{`params=("0")`}) == first {
		t.Error("a forgotten rule is the same as before")
	}
}

// The table is bounded, whatever paths have rules.
func TestPlaces(t *testing.T) {
	_, s, _ := newTable()
	for i := range 2 * places {
		s.Learn(fmt.Sprint("http://a.test/", i), []string{"params"})
	}
	known := 0
	for i := range 2 * places {
		known += len(s.Of(fmt.Sprint("http://a.test/", i)))
	}
	if known > places || known < places/2 {
		t.Errorf("%d rules are known", known)
	}
}

// Which entries a rule finds: those whose requests began when purges considered it already.
func TestAnswers(t *testing.T) {
	_, s, now := newTable()
	*now = 5
	const key = "http://a.test/page"
	r := s.Learn(key, []string{"params"})
	user := cachepolicy.Request{Cookie: true}
	e := entrytest.Own(r.Key("http://a.test/page"), "") // it is public
	private := entrytest.New(r.Key(key), "")
	private.Tags = r.AppendTags(nil, key)
	for name, row := range map[string]struct{ got, want bool }{
		"before the rule":    {r.Answers(e, 4, cachepolicy.Request{}, key), false},
		"with it":            {r.Answers(e, 5, cachepolicy.Request{}, key), true},
		"later":              {r.Answers(e, 6, cachepolicy.Request{}, key), true},
		"a user":             {r.Answers(e, 6, user, key), true},
		"not public":         {r.Answers(private, 6, cachepolicy.Request{}, key), true},
		"not public, a user": {r.Answers(private, 6, user, key+"?a"), false},
		"its own address":    {r.Answers(private, 6, user, key), true},
		"its own, too early": {r.Answers(private, 4, user, key), false},
	} {
		if row.got != row.want {
			t.Errorf("%s: %v", name, row.got)
		}
	}
}

// A purge of an address names the keys that the address shares, however the purge names it.
func TestWiden(t *testing.T) {
	table, s, _ := newTable()
	const key = "http://a.test/page?a=1"
	r := s.Learn(key, []string{"params"})
	s.Learn("http://_/page", []string{`params=("b")`})
	shared := strings.TrimPrefix(r.Key(key), "http://a.test")
	for name, row := range map[string]struct {
		named invalidation.Purge
		want  string // is among the names of the purge
		none  bool
	}{
		"its key":                     {invalidation.Purge{Keys: []string{"http://a.test/page?x"}}, "http://a.test" + shared, false},
		"another path":                {invalidation.Purge{Keys: []string{"http://a.test/pages"}}, "", true},
		"another host":                {invalidation.Purge{Keys: []string{"http://b.test/page"}}, "", true},
		"a shared key":                {invalidation.Purge{Keys: []string{r.Key(key)}}, "", true},
		"an own path":                 {invalidation.Purge{Keys: []string{"/page"}}, "", true},
		"the address":                 {invalidation.Purge{Tags: []string{" a.test /page?y"}}, " a.test " + shared, false},
		"the target on all hosts":     {invalidation.Purge{Tags: []string{" /page?y"}}, " " + shared, false},
		"the address of another host": {invalidation.Purge{Tags: []string{" b.test /page"}}, "", true},
		"all hosts of a site": {invalidation.Purge{Tags: []string{" shop/ /page?a=1&b=2"}},
			" shop/ " + s.Of("http://_/page")[0].Key("/page?a=1"), false},
		"a surrogate key":             {invalidation.Purge{Tags: []string{"/page"}}, "", true},
		"a cache group":               {invalidation.Purge{Tags: []string{"  http://a.test /page"}}, "", true},
		"a prefix of the path":        {invalidation.Purge{Prefixes: []string{"/pa"}}, "", true},
		"a prefix of the query":       {invalidation.Purge{Prefixes: []string{"/page?a="}}, "/page" + sharedMark, false},
		"a prefix of the whole query": {invalidation.Purge{Prefixes: []string{"http://a.test/page?a="}}, "http://a.test/page" + sharedMark, false},
	} {
		before := len(row.named.Keys) + len(row.named.Tags) + len(row.named.Prefixes)
		got := table.Widen(row.named)
		all := slices.Concat(got.Keys, got.Tags, got.Prefixes)
		if row.none && len(all) != before || !row.none && !slices.Contains(all, row.want) {
			t.Errorf("%s: %q, want %q in it", name, all, row.want)
		}
	}
	tags := r.AppendTags([]string{"product-7", " a.test /page?a=1", " /page?a=1", " /other"}, key)
	if want := []string{" a.test " + shared, " " + shared, fetchedFor + key}; !slices.Equal(tags[4:], want) {
		t.Errorf("an entry has the tags %q, want %q", tags[4:], want)
	}
}
