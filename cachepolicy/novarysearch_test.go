package cachepolicy

import (
	"math/rand/v2"
	"net/url"
	"reflect"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/test/sequential"
)

func TestParseNoVarySearch(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		lines []string
		want  SearchVariance
		ok    bool
	}{
		{nil, SearchVariance{}, false},
		{[]string{""}, SearchVariance{}, false},
		{[]string{"key-order"}, SearchVariance{AnyOrder: true}, true},
		{[]string{"key-order=?0"}, SearchVariance{}, false},
		{[]string{"params"}, SearchVariance{All: true}, true},
		{[]string{"params=?0"}, SearchVariance{}, false},
		{[]string{`params=("utm_source" "a+b" "%c3%a9" "a b")`}, SearchVariance{Names: []string{"a b", "utm_source", "é"}}, true},
		{[]string{`params, except=("id")`}, SearchVariance{All: true, Names: []string{"id"}}, true},
		{[]string{"key-order", `params, except=("id")`}, SearchVariance{AnyOrder: true, All: true, Names: []string{"id"}}, true},
		{[]string{"params, except=()"}, SearchVariance{All: true}, true},
		{[]string{"params=()"}, SearchVariance{}, false},
		{[]string{`except=("id")`}, SearchVariance{}, false},
		{[]string{`params=("a"), except=("id")`}, SearchVariance{}, false},
		{[]string{"params=(a)"}, SearchVariance{}, false},
		{[]string{"params=1"}, SearchVariance{}, false},
		{[]string{"key-order=1, params"}, SearchVariance{}, false},
		{[]string{"params, except"}, SearchVariance{}, false},
		{[]string{"params,,"}, SearchVariance{}, false},
		{[]string{"params, unknown=1"}, SearchVariance{All: true}, true},
	} {
		if got, ok := ParseNoVarySearch(row.lines); ok != row.ok || !reflect.DeepEqual(got, row.want) {
			t.Errorf("%q: %+v, %v; want %+v, %v", row.lines, got, ok, row.want, row.ok)
		}
	}
}

// equivalent compares two queries as the draft says (section 6), slowly.
func equivalent(v SearchVariance, a, b string) bool {
	type pair struct{ name, value string }
	decode := func(s string) string {
		var out []byte
		s = strings.ReplaceAll(s, "+", " ")
		for len(s) > 0 {
			if s[0] == '%' && len(s) > 2 {
				if one, err := url.PathUnescape(s[:3]); err == nil {
					out, s = append(out, one...), s[3:]
					continue
				}
			}
			out, s = append(out, s[0]), s[1:]
		}
		return string(out)
	}
	read := func(query string) (all []pair) {
		for _, part := range strings.Split(query, "&") {
			if part == "" {
				continue
			}
			name, value, _ := strings.Cut(part, "=")
			p := pair{decode(name), decode(value)}
			if slices.Contains(v.Names, p.name) == v.All {
				all = append(all, p)
			}
		}
		if v.AnyOrder {
			sort.SliceStable(all, func(i, j int) bool { return all[i].name < all[j].name })
		}
		return all
	}
	return slices.Equal(read(a), read(b))
}

// Queries have the same canonical form if and only if they are equivalent.
func TestCanonicalSearch(t *testing.T) {
	sequential.Test(t)
	t.Parallel()
	r := rand.New(rand.NewPCG(43, 3))
	pieces := []string{"a", "b", "%61", "+", "%20", "%", "%2", "é", "%c3%a9", "\xff", "%ff", "=", "&", "%26", "%3d", "A"}
	query := func() (s string) {
		for range r.IntN(8) {
			s += pieces[r.IntN(len(pieces))]
			if r.IntN(3) == 0 {
				s += []string{"&", "="}[r.IntN(2)]
			}
		}
		return s
	}
	same := 0
	for range 200_000 {
		v := SearchVariance{AnyOrder: r.IntN(2) == 0, All: r.IntN(2) == 0}
		for _, name := range []string{"", "a", "b", " ", "é", "aa"} {
			if r.IntN(3) == 0 {
				v.Names = append(v.Names, name)
			}
		}
		a := query()
		b := query()
		if r.IntN(2) == 0 { // the same parameters, in another order
			parts := strings.Split(a, "&")
			r.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
			b = strings.Join(parts, "&")
		}
		want := equivalent(v, a, b)
		if want {
			same++
		}
		if got := string(v.AppendCanonical(nil, a)) == string(v.AppendCanonical(nil, b)); got != want {
			t.Fatalf("%+v: %q and %q are equivalent: %v; the forms: %q, %q", v, a, b, want,
				v.AppendCanonical(nil, a), v.AppendCanonical(nil, b))
		}
	}
	if same < 10_000 {
		t.Errorf("only %d pairs are equivalent", same)
	}
}

func FuzzNoVarySearch(f *testing.F) {
	f.Add(`key-order, params=("a")`, "a=1&b=2", "b=2")
	f.Fuzz(func(t *testing.T, field, a, b string) {
		v, _ := ParseNoVarySearch([]string{field})
		form := string(v.AppendCanonical(nil, a))
		if strings.Trim(form, "\x00") != form || strings.ContainsAny(form, " \r\n#?") {
			t.Errorf("%q has the form %q", a, form)
		}
		if (form == string(v.AppendCanonical(nil, b))) != equivalent(v, a, b) {
			t.Errorf("%+v: %q and %q", v, a, b)
		}
	})
}
