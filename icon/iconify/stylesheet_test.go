package iconify

import (
	"strings"
	"testing"

	"github.com/iconedge/iconedge/icon/viewbox"
)

// request parses an address as a client writes it; it is not ok if the address is refused.
func request(target string) (r Request, ok bool) {
	path, query, _ := strings.Cut(target, "?")
	a, ok := Find(path, false)
	if !ok {
		return r, false
	}
	r, err := Parse(a, query)
	return r, err == nil
}

// parsed checks that a stylesheet has only complete rules, comments and strings, and returns the
// selectors.
func parsed(t *testing.T, css string) (selectors []string) {
	t.Helper()
	for rest := strings.TrimSpace(css); rest != ""; rest = strings.TrimSpace(rest) {
		if after, ok := strings.CutPrefix(rest, "/*"); ok {
			_, after, ok = strings.Cut(after, "*/")
			if !ok {
				t.Fatalf("an unfinished comment: %q", css)
			}
			rest = after
			continue
		}
		selector, after, ok := strings.Cut(rest, "{")
		if !ok || strings.ContainsAny(selector, "}@\\\"';<\n") {
			t.Fatalf("%q is no selector: %q", selector, css)
		}
		selectors = append(selectors, strings.TrimSpace(selector))
		quoted, end := byte(0), -1
		for i := 0; i < len(after) && end < 0; i++ {
			switch c := after[i]; {
			case quoted != 0 && (c == '\n' || c == '\\'):
				t.Fatalf("a string with a line break or an escape: %q", css)
			case c == quoted:
				quoted = 0
			case quoted == 0 && (c == '"' || c == '\''):
				quoted = c
			case quoted == 0 && c == '{':
				t.Fatalf("a block in a block: %q", css)
			case quoted == 0 && c == '}':
				end = i
			}
		}
		if end < 0 {
			t.Fatalf("an unfinished block: %q", css)
		}
		rest = after[end+1:]
	}
	return selectors
}

// Whatever a client sends, the stylesheet has the same number of rules, and nothing of the input
// but in selectors.
func FuzzStylesheet(f *testing.F) {
	for _, q := range []string{
		"", "selector=.a{name}&common=&override=.b", "selector=a}b{c&format=compressed",
		"selector=%40import+x&common=%2F*", "selector=a%22b&var=x&pseudo=1", "selector=[a=b]:not(.c)&mode=bg&color=red",
		"selector=a(&common=b]&override=\\", "selector=-->&common=<!--", "selector=url(a)",
		"var=0&square=1&format=compact", "color=%22%3E%3Cscript%3E", "selector={name}{prefix}&common={name}",
	} {
		f.Add(q)
	}
	icons := []Styled{{Name: "home", Body: `<path fill="currentColor" d="M0 0"/>`, Box: viewbox.Box{Width: 24, Height: 24}},
		{Name: "wide", Body: `<path style="font-family:'a\b'" fill="currentColor"/>`, Box: viewbox.Box{Width: 30, Height: 24}}}
	f.Fuzz(func(t *testing.T, query string) {
		r, ok := request("/mdi.css?icons=home,wide&" + query)
		if !ok {
			return
		}
		for _, coloured := range []bool{false, true} {
			css := r.Style.Sheet("mdi", coloured, icons, 1)
			n := len(parsed(t, css))
			if n != 2 && n != 3 {
				t.Fatalf("%q: %d rules: %q", query, n, css)
			}
			if strings.Contains(css, "<") || strings.Contains(css, "@") {
				t.Fatalf("%q: %q", query, css)
			}
		}
	})
}

// TestOwnColor: an icon in one colour of its own keeps it as a background, until another one is
// asked for; an icon of several keeps them.
func TestOwnColor(t *testing.T) {
	visa := Styled{Name: "visa", Body: `<path fill="#1a1f71"/>`, Box: viewbox.Box{Width: 24, Height: 24}, Own: true}
	card := Styled{Name: "card", Body: `<path fill="#eb001b"/><path fill="#f79e1b"/>`, Box: visa.Box}
	for _, row := range []struct{ query, visa, card string }{
		{"", "%231a1f71", "%23eb001b"}, {"&color=red", "%23ff0000", "%23eb001b"}, {"&color=currentColor", "%231a1f71", "%23eb001b"},
		{"&mode=mask", "%231a1f71", "%23eb001b"},
	} {
		r, ok := request("/brand.css?icons=visa,card" + row.query)
		if !ok {
			t.Fatalf("%s is refused", row.query)
		}
		css := r.Style.Sheet("brand", true, []Styled{visa, card}, 0)
		background := strings.Contains(css, "background-image")
		if background == strings.Contains(row.query, "mask") || strings.Count(css, row.visa) != 1 || strings.Count(css, row.card) != 1 {
			t.Errorf("%q: background %v\n%s", row.query, background, css)
		}
	}
}
