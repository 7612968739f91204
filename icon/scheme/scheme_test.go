package scheme

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/icon"
)

func isPack(key string) bool {
	return slices.Contains([]string{"mdi", "lucide", "fa6-solid", "material-symbols", "fa7-solid", "bi", "map"}, key)
}

// TestTable checks that each example of the table leads to its icon. If ICONEDGE_LIBRARY names a
// folder of @iconify/json, the icon must exist there.
func TestTable(t *testing.T) {
	for _, l := range libraries {
		if !strings.HasPrefix(l.Docs, "https://") || len(l.Examples) == 0 {
			t.Errorf("%s has no address of its documentation, or no examples", l.Library)
		}
		for text, want := range l.Examples {
			var got []string
			for _, r := range Read(text, isPack) {
				for _, ref := range r.Refs {
					got = append(got, ref.String())
				}
				if len(r.Targets) == 0 {
					got = append(got, "*/"+r.Name)
				}
			}
			if !slices.Contains(got, want) {
				t.Errorf("%s: %s: got %v, want %s among them", l.Library, text, got, want)
			}
		}
	}
}

func TestZZExists(t *testing.T) {
	dir := os.Getenv("ICONEDGE_LIBRARY")
	if dir == "" {
		t.Skip()
	}
	type set struct{ Icons, Aliases map[string]json.RawMessage }
	sets := map[string]set{}
	load := func(p string) set {
		if s, ok := sets[p]; ok {
			return s
		}
		var s set
		b, err := os.ReadFile(dir + "/json/" + p + ".json")
		if err != nil {
			t.Errorf("no pack %s", p)
		}
		json.Unmarshal(b, &s)
		sets[p] = s
		return s
	}
	for _, f := range forms {
		for _, to := range f.targets {
			if to.Pack != packPlace {
				load(to.Pack)
			}
		}
	}
	for _, l := range libraries {
		for text, want := range l.Examples {
			ref, err := icon.ParseRef(want)
			if err != nil {
				continue
			}
			s := load(ref.Pack)
			if s.Icons[ref.Name] == nil && s.Aliases[ref.Name] == nil {
				t.Errorf("%s: %s: no icon %s", l.Library, text, want)
			}
		}
	}
}

func BenchmarkRead(b *testing.B) {
	for _, q := range []string{"home", "arrow left", "loop left line", "FaHouse", "fa-solid fa-house"} {
		b.Run(q, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Read(q, isPack)
			}
		})
	}
}

func TestComponent(t *testing.T) {
	var cases struct {
		Components []struct{ Word, Icon string }
		Written    []struct{ Word, Icon, Component string }
	}
	data, err := os.ReadFile("../../clients/testdata/component.json")
	if err == nil {
		err = json.Unmarshal(data, &cases)
	}
	if err != nil || len(cases.Components) < 10 || len(cases.Written) < 3 {
		t.Fatal("clients/testdata/component.json is not complete: ", err)
	}
	for _, row := range cases.Components {
		r, ok := Component(row.Word, isPack)
		if ok != (row.Icon != "") || ok && r.Refs[0].String() != row.Icon {
			t.Errorf("Component(%q) = %v, %v; want %q", row.Word, r.Refs, ok, row.Icon)
		}
	}
	for _, row := range cases.Written {
		ref, _ := icon.ParseRef(row.Icon)
		r, _ := Component(row.Word, isPack)
		if got, _ := r.Component(ref); got != row.Component {
			t.Errorf("%s completed by %s is %q, want %q", row.Word, ref, got, row.Component)
		}
	}
	program := "import React from 'react'\nimport type { Home, Plus as More } from \"lucide-react\";\nimport {Star} from './star'"
	for word, want := range map[string]string{"Home": "lucide/home", "Plus": "lucide/plus", "Star": "", "React": "", "Hom": ""} {
		r, ok := Imported(word, program, isPack)
		if ok != (want != "") || ok && r.Refs[0].String() != want {
			t.Errorf("Imported(%q) = %v, %v; want %q", word, r.Refs, ok, want)
		}
	}
}

func TestOfPath(t *testing.T) {
	for path, want := range map[string]string{
		"/fa/FaHouse": "fa house", "/fontawesome/house.svg": "fontawesome:house", "/mdi/Home.png": "mdi:home", "/a/b/home.svg": "home",
		"/blog/home_icons.html": "home icons", "/": "",
		"/fa/Fa%20House": "fa house", "/%ff": "%ff", "/.well-known/x": "x", "/icon/mdi/": "mdi",
	} {
		if got := OfPath(path); got != want {
			t.Errorf("OfPath(%q) = %q, want %q", path, got, want)
		}
	}
}

// FuzzRead: a reading has a name and valid targets, and reading takes no more than its bounds.
func FuzzRead(f *testing.F) {
	for _, l := range libraries {
		for text := range l.Examples {
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		list := Read(text, isPack)
		if len(list) > maxReadings {
			t.Fatalf("Read(%q) has %d readings", text, len(list))
		}
		for _, r := range list {
			if r.Name == "" || len(r.Refs) > 3*len(r.Targets)+100 {
				t.Fatalf("Read(%q) has %+v", text, r)
			}
		}
		OfPath(text)
	})
}
