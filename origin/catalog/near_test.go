package catalog

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/origin/catalog/catalogtest"
)

func TestNear(t *testing.T) {
	w := newWorld(t)
	l := catalogtest.Library{}
	for _, name := range strings.Fields(
		"abacus account account-outline home home-account home-city home-outline horn hotel house magnify") {
		l.Add("one", catalogtest.Square(name, "M0 0h1z", 24))
	}
	secret := catalogtest.Square("homes", "M0 0h1z", 24)
	secret.Meta.Hidden = true
	l.Add("one", secret)
	for _, key := range []string{"mdi", "mdi-light", "lucide", "lucide-lab"} {
		l.Add(key, catalogtest.Square("home", "M0 0h1z", 24))
	}
	l.Add("mdx", catalogtest.Square("home", "M0 0h1z", 24))
	l["mdx"].Hidden = true
	w.publish(l)
	c := w.start()
	r := c.Current()
	defer r.Done()
	p, _ := r.Pack("one")
	for _, row := range []struct{ name, want string }{
		{"hoem", "home"},      // two letters exchanged
		{"homme", "home"},     // one letter added, so that it sorts far from home
		{"acount", "account"}, // one letter missing
		{"home-outlin", "home-outline home"},
		{"house-outline", "home-outline house"},
		{"homex", "home"}, // not homes, which is hidden
		{"Home", "home"},  // another spelling
		{"Home_Outline", "home-outline"},
		{"qqqqqq", ""},
		{strings.Repeat("a", 128), ""},
	} {
		got := strings.Join(p.Near(t.Context(), row.name), " ")
		if first, _, _ := strings.Cut(row.want, " "); !strings.HasPrefix(got, first) || row.want == "" && got != "" ||
			strings.Contains(got, "homes") {
			t.Errorf("Near(%s) = %q, want %q", row.name, got, row.want)
		}
		if n := len(p.Near(t.Context(), row.name)); n > icon.MaxNear {
			t.Errorf("Near(%s) gives %d names", row.name, n)
		}
	}
	for _, row := range []struct{ key, want string }{{"mdy", "mdi"}, {"lucid", "lucide"}, {"mdi-ligth", "mdi-light"},
		{"material-symbols", ""}} {
		if got := strings.Join(r.Near(row.key), " "); !strings.HasPrefix(got, row.want) ||
			row.want == "" && got != "" || strings.Contains(got, "mdx") {
			t.Errorf("Near(%s) = %q, want %q first", row.key, got, row.want)
		}
	}
}

// BenchmarkNear measures the search for similar names, which must take at most 200 µs. The largest
// packs have about 15,000 names, many of them alike.
func BenchmarkNear(b *testing.B) {
	w := newWorld(b)
	l := catalogtest.Library{}
	for _, first := range strings.Fields("account arrow battery calendar heart home house") {
		for i := range 2000 {
			l.Add("one", catalogtest.Square(fmt.Sprintf("%s-%c%c%c-outline", first, 'a'+i%26, 'a'+i/26%26, 'a'+i/676), "M0 0h1z", 24))
		}
	}
	w.publish(l)
	c := w.start()
	r := c.Current()
	defer r.Done()
	p, _ := r.Pack("one")
	for _, name := range []string{"hoem", "home-aba-outlien", "battery-charging-wireless-outline-20-percent"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if n := len(p.Near(b.Context(), name)); n > icon.MaxNear {
					b.Fatal(n)
				}
			}
		})
	}
}

// An icon is found by another spelling of its name, if the release has that one.
func TestSpellings(t *testing.T) {
	w := newWorld(t)
	l := catalogtest.Library{}
	spelled := catalogtest.Square("arrow-left", "M0 0h1z", 24)
	spelled.Meta.Tags = []string{"Arrow Left", "arrow-back"} // the second is the name of an alias
	l.Add("own", spelled)
	l.Add("own", catalogtest.Square("home", "M0 0h2z", 24))
	w.publish(l)
	c := w.start()
	r := c.Current()
	defer r.Done()
	for name, want := range map[string]string{"Arrow Left": "own/arrow-left", "arrow-left": "own/arrow-left", "Arrow_Left": "",
		"Home": "", "": ""} {
		ic, err := r.Icon(t.Context(), icon.Ref{Pack: "own", Name: name})
		if want == "" && !errors.Is(err, ErrNoIcon) || want != "" && (err != nil || ic.Ref.String() != want) {
			t.Errorf("Icon(own/%s) = %s, %v; want %q", name, ic.Ref, err, want)
		}
	}
	p, _ := r.Pack("own")
	if icons, err := p.Open(t.Context()); err != nil || !slices.Equal(icons.Spellings(), []string{"Arrow Left"}) {
		t.Errorf("Spellings = %q, %v", icons.Spellings(), err)
	}
}
