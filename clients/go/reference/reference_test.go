package reference

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/iconedge/iconedge/icon"
)

type table struct {
	About string
	Packs []string
	Find  []struct {
		About, Text string
		References  []struct {
			Text, Icon string
			Others     []string
		}
	}
	Before []struct {
		About, Text string
		Typed       *struct{ Text, Pack, Name string }
	}
}

func load(t testing.TB) (cases table, packs Packs) {
	data, err := os.ReadFile("../../testdata/reference.json")
	if err == nil {
		err = json.Unmarshal(data, &cases)
	}
	if err != nil || len(cases.Find) < 20 || len(cases.Before) < 10 {
		t.Fatal("clients/testdata/reference.json is not complete: ", err)
	}
	return cases, func(key string) bool { return slices.Contains(cases.Packs, key) }
}

func TestFind(t *testing.T) {
	cases, packs := load(t)
	for _, row := range cases.Find {
		var got, want []string
		for _, r := range Find(row.Text, packs) {
			s := row.Text[r.Start:r.End] + " is " + r.Ref.String()
			for _, o := range r.Others {
				s += " or " + o.String()
			}
			got = append(got, s)
		}
		for _, r := range row.References {
			want = append(want, strings.Join(append([]string{r.Text + " is " + r.Icon}, r.Others...), " or "))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: Find(%q) = %q, want %q", row.About, row.Text, got, want)
		}
	}
}

func TestBefore(t *testing.T) {
	cases, packs := load(t)
	for _, row := range cases.Before {
		p, ok := Before(row.Text, packs)
		switch {
		case ok != (row.Typed != nil):
			t.Errorf("%s: Before(%q) = %+v, %v", row.About, row.Text, p, ok)
		case ok && (row.Text[p.Start:] != row.Typed.Text || p.Pack != row.Typed.Pack || p.Typed != row.Typed.Name):
			t.Errorf("%s: Before(%q) = %+v, want %+v", row.About, row.Text, p, *row.Typed)
		}
	}
}

// FuzzFind: references do not overlap, are valid names, and their text alone is the same reference.
func FuzzFind(f *testing.F) {
	cases, _ := load(f)
	for _, row := range cases.Find {
		f.Add(row.Text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		end := 0
		for _, r := range Find(text, Any) {
			if r.Start < end || r.End > len(text) || r.End <= r.Start {
				t.Fatalf("Find(%q) has %+v after %d", text, r, end)
			}
			end = r.End
			for _, ref := range append(r.Others, r.Ref) {
				if _, err := icon.ParseRef(ref.String()); err != nil {
					t.Fatalf("Find(%q) has %s: %v", text, ref, err)
				}
			}
			if alone := Find(text[r.Start:r.End], Any); len(alone) != 1 || alone[0].Ref != r.Ref {
				t.Fatalf("Find(%q) has %+v, but alone it is %+v", text, r, alone)
			}
		}
		if p, ok := Before(text, Any); ok && (p.Start > len(text) || p.Pack == "" ||
			utf8.ValidString(text) && !strings.HasSuffix(text, p.Typed)) {
			t.Fatalf("Before(%q) = %+v", text, p)
		}
	})
}

func BenchmarkFind(b *testing.B) {
	text := strings.Repeat(`<Icon icon="mdi:home" class="text-xl i-lucide-trash-2" href="https://x.example/mdi/home.svg">`+"\n", 1000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if n := len(Find(text, Any)); n != 2000 {
			b.Fatal(n)
		}
	}
}
