package glob

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// A naive matcher tries every length of every asterisk in turn. It is the specification.
type naive struct {
	g     *Glob
	s     string
	spans []string // last first
	tried map[[2]int]bool
}

func (n *naive) from(i, at int) bool {
	text := n.g.literals[i].text
	if !strings.HasPrefix(n.s[at:], text) || n.tried[[2]int{i, at}] {
		return false
	}
	n.tried[[2]int{i, at}] = true
	at += len(text)
	if i == len(n.g.across) {
		return at == len(n.s)
	}
	for end := at; ; end++ {
		if n.from(i+1, end) {
			n.spans = append(n.spans, n.s[at:end])
			return true
		}
		if end == len(n.s) || !n.g.across[i] && n.s[end] == '/' {
			return false
		}
	}
}

func matchNaively(g *Glob, s string) ([]string, bool) {
	n := naive{g: g, s: s, tried: map[[2]int]bool{}}
	ok := n.from(0, 0)
	slices.Reverse(n.spans)
	return n.spans, ok
}

func unlimited() *Budget {
	left := Budget(1 << 40)
	return &left
}

// match returns the steps of a match too.
func match(g *Glob, s string) (ok bool, steps int) {
	left := unlimited()
	ok = g.Match(s, left)
	return ok, 1<<40 - int(*left)
}

// check compares a glob with the naive matcher, and the steps with the bound.
func check(t *testing.T, text, s string, anySlash bool) {
	t.Helper()
	g := New(text, anySlash)
	want, wantOK := matchNaively(g, s)
	captures, ok := g.AppendCaptures(nil, s, unlimited())
	matched, steps := match(g, s)
	if ok != wantOK || matched != wantOK || ok && !slices.Equal(captures, want) {
		t.Fatalf("%q matches %q: %v with %q, want %v with %q", text, s, ok, captures, wantOK, want)
	}
	// Each segment of the text is looked at once for each segment of a run, and once for each
	// literal without a slash in it.
	if most := bound(g) * (len(s) + 1); steps > most {
		t.Fatalf("%q, %q: %d steps, want at most %d", text, s, steps, most)
	}
}

// bound returns the most steps for each byte of a text.
func bound(g *Glob) int {
	return 2 * placeSteps * (len(g.text) + 2)
}

// TestGlob: what an asterisk matches, and what it takes of several possible texts.
func TestGlob(t *testing.T) {
	for _, row := range []struct {
		glob, text string
		captures   string // separated by bars; "none" where the glob does not match
	}{
		{"/two/**", "/two/", ""}, {"/two/**", "/two", "none"}, {"/two/**", "/two/a/b", "a/b"},
		{"/a/*", "/a/b", "b"}, {"/a/*", "/a/b/c", "none"}, {"/a/*", "/a/", ""},
		{"**.css", "/a/b.css", "/a/b"}, {"*.css", "/b.css", "none"},
		{"/*-*", "/a-b-c", "a|b-c"}, {"/*-*-*", "/--", "||"}, {"/*/*", "/a/b", "a|b"},
		{"/**/x/**", "/a/x/b/x/c", "a|b/x/c"}, {"/**/x/*", "/a/x/b/x/c", "a/x/b|c"},
		{"/**a*b/c", "/aab/ab/c", "aab/|"}, {"**a*b*", "aacb", "|ac|"}, {"/***/b", "/a/a/b", "a/a"},
		{"/**/a*/b/**", "/ab/ax/b/", "ab|x|"}, {"a*a", "a", "none"}, {"a**a", "aa", ""}, {"**", "", ""}, {"", "", ""},
		{"/**/*-*/p/*", "/a/b-c-d/p/e", "a|b|c-d|e"},
		{"\xff*", "\xff\xfe", "\xfe"},
	} {
		check(t, row.glob, row.text, false)
		captures, ok := New(row.glob, false).AppendCaptures(nil, row.text, unlimited())
		if got := strings.Join(captures, "|"); ok != (row.captures != "none") || ok && got != row.captures {
			t.Errorf("%q, %q: %q, %v; want %q", row.glob, row.text, got, ok, row.captures)
		}
	}
	if ok, _ := match(New("a*c", true), "a/c"); !ok {
		t.Error("an asterisk of a value does not match a slash")
	}
}

// TestGlobsAtRandom: globs and texts of few different characters, in which literals overlap.
func TestGlobsAtRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 6))
	text := func(of []string, n int) string {
		var b strings.Builder
		for range r.IntN(n + 1) {
			b.WriteString(of[r.IntN(len(of))])
		}
		return b.String()
	}
	pieces := []string{"a", "b", "/", "/a", "a/", "*", "*", "**", "ab"}
	matches := 0
	for range 200_000 {
		glob := text(pieces, 9)
		var s string
		if r.IntN(2) == 0 {
			s = text([]string{"a", "b", "/"}, 20)
		} else { // one that probably matches
			s = glob
			for strings.Contains(s, "*") {
				s = strings.Replace(s, "*", text([]string{"a", "b", "/", "", ""}, 3), 1)
			}
		}
		check(t, glob, s, r.IntN(4) == 0)
		if ok, _ := match(New(glob, false), s); ok {
			matches++
		}
	}
	if matches < 10_000 {
		t.Errorf("only %d globs matched", matches)
	}
}

// hostile are pairs of globs and repeated texts that take matchers which go back a long time.
var hostile = [][3]string{
	{"/slug/*-*-*/p/*", "/slug/", "-"},
	{"/two/**/x/**/y/**", "/two", "/x"},
	{"*bot*http*", "", "bot"},
	{"*-*-*-*-*-*-*-*-*-*-*-*-*-*-*-x", "", "-"},
	{"**/x/*/x/*/x/*/x/*/x/*/x/*/y/**", "", "/x"},
	{"**-*-*-*/p/**", "", "--/"},
	{"**a*a*a*a*a*a*a*a/b/**", "", "a"},
	{"**a*b/**a*b/**a*b/c", "", "a"},
	{"**aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab**", "", "a"},
	{"**/aaaa*/**", "", "/aaab"},
	{"**a*/b/a*/b/a*/c**", "", "a/b/"},
	{"**x*/*/*/*/*/*/*/*/*/*/*/y", "", "x/"},
	{"*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*y", "", "/"},
}

// TestHostileGlobs: the steps grow with the text, and not with its square.
func TestHostileGlobs(t *testing.T) {
	for _, row := range hostile {
		for _, anySlash := range []bool{false, true} {
			g := New(row[0], anySlash)
			steps := func(size int) int {
				_, n := match(g, row[1]+strings.Repeat(row[2], size/len(row[2])))
				return n
			}
			small, large := steps(1<<12), steps(1<<15)
			if most := 10 * (small + 64); large > most {
				t.Errorf("%s: %d steps for 4 KiB, %d for 32 KiB", row[0], small, large)
			}
			if most := bound(g) << 15; large > most {
				t.Errorf("%s: %d steps for 32 KiB, want at most %d", row[0], large, most)
			}
		}
	}
}

// TestNoAllocation: a match without captures allocates nothing.
func TestNoAllocation(t *testing.T) {
	g := New("/a/**/b*c/**.js", false)
	left := unlimited()
	if n := testing.AllocsPerRun(100, func() { g.Match("/a/x/y/bcc/z.js", left) }); n > 0 {
		t.Errorf("a match allocates %v times", n)
	}
}

// FuzzGlob: a glob matches as the naive matcher does, within the bound of steps.
func FuzzGlob(f *testing.F) {
	for _, row := range hostile {
		f.Add(row[0], row[1]+strings.Repeat(row[2], 40), false)
	}
	f.Add("/a/**/b*", "/a/x/y/bc", true)
	f.Add("**/**", "/", false)
	f.Fuzz(func(t *testing.T, glob, text string, anySlash bool) {
		if len(glob) <= 64 && len(text) <= 256 {
			check(t, glob, text, anySlash)
		}
	})
}

func BenchmarkGlob(b *testing.B) {
	for _, row := range hostile {
		b.Run(strings.ReplaceAll(row[0], "/", "|"), func(b *testing.B) {
			g, s := New(row[0], false), row[1]+strings.Repeat(row[2], (32<<10)/len(row[2]))
			b.ReportAllocs()
			steps := 0
			for b.Loop() {
				_, steps = match(g, s)
			}
			b.ReportMetric(float64(steps), "steps")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(steps), "ns/step")
		})
	}
}
