package icon

import (
	"bytes"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
)

// listOf returns the wire form of packs such as "mdi: home account -secret", where a dash marks a
// hidden pack or icon.
func listOf(packs ...string) []byte {
	return AppendNames(nil, func(yield func(PackNames) bool) {
		for _, p := range packs {
			key, names, _ := strings.Cut(p, ":")
			key, hidden := strings.CutPrefix(key, "-")
			if !yield(PackNames{key, hidden, func(yield func(string, bool) bool) {
				for name := range strings.FieldsSeq(names) {
					name, hidden := strings.CutPrefix(name, "-")
					if !yield(name, hidden) {
						return
					}
				}
			}}) {
				return
			}
		}
	})
}

func TestNames(t *testing.T) {
	var many []string
	for i := range 100 {
		many = append(many, fmt.Sprintf("arrow-%03d", i))
	}
	long := strings.Repeat("a", MaxKey)
	n, err := ParseNames(listOf("empty", "fc: apple", "-internal: x", "many: "+strings.Join(many, " "), "mdi: "+long+" account account-outline home -homes house"))
	if err != nil || n.Len() != 5+1+1+100+6 {
		t.Fatalf("%v, %v", n, err)
	}
	for _, row := range []struct {
		pack, name       string
		hasPack, hasIcon bool
	}{
		{"mdi", "home", true, true}, {"mdi", "homes", true, true}, {"mdi", "account", true, true}, {"mdi", "account-outline", true, true}, {"mdi", long, true, true},
		{"mdi", "accoun", true, false}, {"mdi", "account-", true, false}, {"mdi", "zzz", true, false}, {"mdi", "", true, false}, {"mdi", "0", true, false},
		{"fc", "apple", true, true}, {"fc", "home", true, false}, {"empty", "x", true, false}, {"internal", "x", true, true},
		{"md", "home", false, false}, {"", "", false, false}, {"mdi-light", "home", false, false},
	} {
		if p, i := n.Has(row.pack, row.name); p != row.hasPack || i != row.hasIcon {
			t.Errorf("%s/%.20s: %v, %v", row.pack, row.name, p, i)
		}
	}
	for i, name := range many {
		if _, has := n.Has("many", name); !has || n.pack("many").name(i) != name {
			t.Errorf("%s is missing", name)
		}
		if _, has := n.Has("many", name+"x"); has {
			t.Errorf("Has finds %sx", name)
		}
	}
	if got := n.Near("mdi", "homs"); !slices.Contains(got, "home") || slices.Contains(got, "homes") {
		t.Errorf("Near(homs) = %v", got)
	}
	if got := n.NearPacks("internl"); len(got) != 0 {
		t.Errorf("NearPacks returned a hidden pack: %v", got)
	}
	if got := n.NearPacks("mdl"); !slices.Equal(got, []string{"mdi"}) || n.Near("nothing", "x") != nil {
		t.Errorf("NearPacks(mdl) = %v", got)
	}
}

func TestParseNames(t *testing.T) {
	good := listOf("fc: apple", "mdi: account home")
	for name, b := range map[string][]byte{
		"nothing": nil, "half of the header": good[:5], "another version": append([]byte("names/2\n"), good[8:]...), "a page": []byte("<!doctype html>\n"),
		"truncated in a name": good[:len(good)-1], "truncated in a pack": good[:12], "unsorted packs": listOf("mdi", "fc"), "a pack twice": listOf("fc", "fc"),
		"unsorted names": listOf("mdi: home account"), "a name twice": listOf("mdi: home home"), "an invalid name": listOf("mdi: Home"), "an invalid key": listOf("MDI: home"),
		"one name too few": bytes.Replace(good, []byte("mdi\x00\x00\x00\x00\x02"), []byte("mdi\x00\x00\x00\x00\x03"), 1),
		"a shared prefix longer than the previous name": bytes.Replace(good, []byte("\x00\x04home"), []byte("\x7f\x04home"), 1),
	} {
		if _, err := ParseNames(b); err == nil {
			t.Errorf("%s: ParseNames accepts it", name)
		}
	}
	if n, err := ParseNames(listOf()); err != nil || n.Len() != 0 {
		t.Errorf("an empty list: %v", err)
	}
}

// FuzzParseNames checks that an accepted list has the number of names that it announces, and that
// lookups in it do not panic.
func FuzzParseNames(f *testing.F) {
	f.Add(listOf("fc: apple", "-mdi: account account-outline home -homes"), "mdi", "home")
	f.Add([]byte("names/1\n"), "", "")
	f.Fuzz(func(t *testing.T, b []byte, pack, name string) {
		n, err := ParseNames(b)
		if err != nil {
			return
		}
		count := len(n.packs)
		for i := range n.packs {
			p := &n.packs[i]
			count += p.count
			for k := range p.count {
				if at, found, _ := p.search(p.name(k)); !found || at != k {
					t.Fatalf("search finds %s/%s at %d, want %d", p.key, p.name(k), at, k)
				}
			}
		}
		if count != n.Len() {
			t.Errorf("%d names, but Len = %d", count, n.Len())
		}
		if hasPack, hasIcon := n.Has(pack, name); (hasPack || hasIcon) && !bytes.Contains(b, []byte(pack)) {
			t.Errorf("Has finds %s/%s", pack, name)
		}
		n.Near(pack, name)
		n.NearPacks(pack)
	})
}

// many yields as many names as the largest library has.
func many() iter.Seq[PackNames] {
	return func(yield func(PackNames) bool) {
		for p := range 222 {
			if !yield(PackNames{Key: fmt.Sprintf("pack-%03d", p), Names: func(yield func(string, bool) bool) {
				for i := range 1760 {
					if !yield(fmt.Sprintf("account-%04d-outline", i), false) {
						return
					}
				}
			}}) {
				return
			}
		}
	}
}

func BenchmarkNames(b *testing.B) {
	wire := AppendNames(nil, many())
	n, err := ParseNames(wire)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("append", func(b *testing.B) {
		for b.Loop() {
			AppendNames(nil, many())
		}
	})
	b.Run("parse", func(b *testing.B) {
		b.SetBytes(int64(len(wire)))
		b.ReportAllocs()
		for b.Loop() {
			ParseNames(wire)
		}
	})
	b.Run("has", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if _, there := n.Has(n.packs[i%222].key, "account-0500-outlinex"); there {
				b.Fatal("Has finds a name that does not exist")
			}
		}
	})
	b.Run("near", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			n.Near(n.packs[i%222].key, "account-0500-outlien")
		}
	})
}
