package react

import (
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/test/golden"
)

// table is testdata/react.json, the corpus that the tests of clients/react run too.
type table struct {
	Module        string
	ModuleWithIDs string
	Names         []struct{ Pack, Name, Component string }
	Cases         []struct {
		About, SVG, Children string
		Root                 [][2]string
		IDs                  bool
	}
	Refused []struct{ About, SVG string }
}

func readTable(t testing.TB) (tab table) {
	t.Helper()
	data, err := os.ReadFile("testdata/react.json")
	if err == nil {
		err = json.Unmarshal(data, &tab)
	}
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

func TestCases(t *testing.T) {
	for _, c := range readTable(t).Cases {
		d, err := Render(c.SVG)
		if err != nil {
			t.Errorf("%s: %v", c.About, err)
			continue
		}
		var root [][2]string
		for _, p := range d.Root {
			root = append(root, [2]string{p.Name, p.Source})
		}
		if !reflect.DeepEqual(root, c.Root) || d.Children != c.Children || d.IDs != c.IDs {
			t.Errorf("%s: %s\ngot  %q %v\n%s\nwant %q %v\n%s", c.About, c.SVG, root, d.IDs, d.Children, c.Root, c.IDs, c.Children)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, c := range readTable(t).Refused {
		if d, err := Render(c.SVG); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %s: error %v, JSX %v", c.About, c.SVG, err, d)
		}
	}
	if _, err := Render(`<svg viewBox="0 0 1 1">` + strings.Repeat(" ", maxBytes) + `</svg>`); !errors.Is(err, ErrRefused) {
		t.Error("an SVG of more than maxBytes was accepted")
	}
}

func TestName(t *testing.T) {
	for _, n := range readTable(t).Names {
		if got := Name(n.Pack, n.Name); got != n.Component {
			t.Errorf("Name(%q, %q) = %q, want %q", n.Pack, n.Name, got, n.Component)
		}
	}
}

func TestComponent(t *testing.T) {
	tab := readTable(t)
	for svg, want := range map[string]string{
		`<svg viewBox="0 0 24 24"><path d="M0 0h24"/><path d="M0 9h24"/></svg>`: tab.Module,
		`<svg viewBox="0 0 24 24"><path id="a" d="M0 0h24"/></svg>`:             tab.ModuleWithIDs,
	} {
		d, err := Render(svg)
		if err != nil {
			t.Fatal(err)
		}
		if got := d.Component("MdiHome", "mdi/home: Material Design Icons by Pictogrammers, license Apache-2.0"); got != want {
			t.Errorf("Component of %s:\n%s\nwant\n%s", svg, got, want)
		}
	}
}

// TestComment: no credit can end its comment.
func TestComment(t *testing.T) {
	got := JSX{}.Component("X", "a */ b\nimport \"x\"\r\u2028alert(1)\u2029`${y}`")
	if first, _, _ := strings.Cut(got, "import type"); first != "// a */ b import \"x\"  alert(1) `${y}`\n" {
		t.Errorf("the comment is %q", first)
	}
}

// TestRulesOfClient: clients/react has a copy of rules.json, because an npm package cannot hold
// files from outside of its folder.
func TestRulesOfClient(t *testing.T) {
	const theirs = "../../react/src/cli/jsx/rules.json"
	golden.Check(t, theirs, rulesJSON)
}

var (
	jsString = regexp.MustCompile(`"(?:[^"\\\n]|\\.)*"`)
	bare     = regexp.MustCompile(`^[A-Za-z0-9 \n<>/={}+:,.-]*$`)
	outside  = regexp.MustCompile(`(?i)url\([^#]|<script|<foreignObject| on[a-z]+=|script:`)
)

// FuzzRender: in the output for any SVG, the code outside of strings is only names and braces, and
// no string refers to something outside.
func FuzzRender(f *testing.F) {
	tab := readTable(f)
	for _, c := range tab.Cases {
		f.Add(c.SVG)
	}
	for _, c := range tab.Refused {
		f.Add(c.SVG)
	}
	f.Fuzz(func(t *testing.T, svg string) {
		d, err := Render(svg)
		if err != nil {
			return
		}
		source := d.Children
		for _, p := range d.Root {
			source += " " + p.Name + "=" + p.Source
		}
		if code := jsString.ReplaceAllString(source, ""); !bare.MatchString(code) {
			t.Errorf("Render(%q) has code from the SVG: %q", svg, code)
		}
		text := regexp.MustCompile(
			`(?s)<(title|desc|text|tspan|textPath)\b.*</(title|desc|text|tspan|textPath)>|(aria-label|data-[a-z0-9-]+|lang|xmlLang|role)=("[^"]*"|\{"(?:[^"\\]|\\.)*"\})`)
		if found := outside.FindString(text.ReplaceAllString(source, "")); found != "" {
			t.Errorf("Render(%q) has %q: %s", svg, found, source)
		}
	})
}
