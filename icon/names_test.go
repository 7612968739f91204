package icon

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"
)

// spellingsOf has the spellings in the packs of listOf.
var spellingsOf = map[string][]string{"own": {"Arrow Left", "arrow_back", "größe"}}

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
			}, spellingsOf[key]}) {
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
	n, err := ParseNames(listOf("empty", "fc: apple", "-internal: x", "many: "+strings.Join(many, " "),
		"mdi: "+long+" account account-outline home -homes house"))
	if err != nil || n.Len() != 5+1+1+100+6 {
		t.Fatalf("%v, %v", n, err)
	}
	for _, row := range []struct {
		pack, name       string
		hasPack, hasIcon bool
	}{
		{pack: "mdi", name: "home", hasPack: true, hasIcon: true},
		{pack: "mdi", name: "homes", hasPack: true, hasIcon: true},
		{pack: "mdi", name: "account", hasPack: true, hasIcon: true},
		{pack: "mdi", name: "account-outline", hasPack: true, hasIcon: true},
		{pack: "mdi", name: long, hasPack: true, hasIcon: true}, {pack: "mdi", name: "accoun", hasPack: true},
		{pack: "mdi", name: "account-", hasPack: true}, {pack: "mdi", name: "zzz", hasPack: true},
		{pack: "mdi", hasPack: true}, {pack: "mdi", name: "0", hasPack: true},
		{pack: "fc", name: "apple", hasPack: true, hasIcon: true}, {pack: "fc", name: "home", hasPack: true},
		{pack: "empty", name: "x", hasPack: true}, {pack: "internal", name: "x", hasPack: true, hasIcon: true},
		{pack: "md", name: "home"}, {pack: ""}, {pack: "mdi-light", name: "home"},
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

// A list has the other spellings of names, and without any it has the form that earlier edges read.
func TestSpellings(t *testing.T) {
	if !bytes.HasPrefix(listOf("mdi: home"), []byte(namesForm)) {
		t.Error("a list without spellings has another form")
	}
	for spelling, want := range map[string]bool{"Arrow Left": true, "größe": true, "EC2": true, "_": true,
		strings.Repeat("A", MaxSpelling): true, "": false, "home": false, "a/b": false, `a\b`: false, "a\x1bb": false, "a\xff": false, strings.Repeat("A", MaxSpelling+1): false} {
		if got := ValidSpelling(spelling); got != want {
			t.Errorf("ValidSpelling(%q) = %v", spelling, got)
		}
	}
	// Earlier origins list spellings that no address can have.
	earlier, err := ParseNames(AppendNames(nil, slices.Values([]PackNames{{Key: "own", Names: maps.All(map[string]bool{"a-b": false}),
		Spellings: []string{"A_b", `a\b`}}})))
	if err != nil || !earlier.HasSpelling("own", "A_b") || earlier.HasSpelling("own", `a\b`) {
		t.Errorf("a list of an earlier origin: %v", err)
	}
	n, err := ParseNames(listOf("mdi: home", "own: arrow-back arrow-left grosse", "zoo: ape"))
	if err != nil {
		t.Fatal(err)
	}
	for spelling, want := range map[string]bool{"Arrow Left": true, "arrow_back": true, "größe": true,
		"Arrow_Left": false, "arrow-back": false, "": false} {
		if got := n.HasSpelling("own", spelling); got != want || n.HasSpelling("mdi", spelling) || n.HasSpelling("none", spelling) {
			t.Errorf("HasSpelling(own, %q) = %v", spelling, got)
		}
	}
	if _, has := n.Has("zoo", "ape"); !has {
		t.Error("the pack after the spellings is missing")
	}
}

func TestParseNames(t *testing.T) {
	good := listOf("fc: apple", "mdi: account home")
	for name, b := range map[string][]byte{
		"nothing": nil, "half of the header": good[:5], "another version": append([]byte("names/2\n"), good[8:]...),
		"a page":              []byte("<!doctype html>\n"),
		"truncated in a name": good[:len(good)-1], "truncated in a pack": good[:12],
		"unsorted packs": listOf("mdi", "fc"), "a pack twice": listOf("fc", "fc"),
		"unsorted names": listOf("mdi: home account"), "a name twice": listOf("mdi: home home"),
		"an invalid name": listOf("mdi: Home"), "an invalid key": listOf("MDI: home"),
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

// The mirror of an origin keeps lists under NamesVersion, so that another form needs another name.
func TestNamesVersion(t *testing.T) {
	names := func(yield func(string, bool) bool) {
		for i := range 40 {
			if !yield(fmt.Sprintf("arrow-%02d", i), i%7 == 0) {
				return
			}
		}
	}
	list := AppendNames(nil, slices.Values([]PackNames{{Key: "mdi", Names: names, Spellings: []string{"Arrow Left"}}}))
	const want = "names-2 4556d4a3907b142aa99cca89acee5f90dd0e6e6cb42ee941470911359868880f"
	if got := fmt.Sprintf("%s %x", NamesVersion, sha256.Sum256(list)); got != want {
		t.Errorf("NamesVersion and the hash of a list are %s, want %s: change NamesVersion whenever the bytes change", got, want)
	}
}
