package icon

import (
	"bytes"
	"fmt"
	"iter"
	"slices"
	"testing"
)

func TestNames(t *testing.T) {
	n := NewNames(slices.Values([]string{"mdi", "mdi/home", "mdi/account", "fc", "fc/apple", "mdi/home"}))
	read, err := ParseNames(n.Append(nil))
	if err != nil || n.Len() != 5 || read.Len() != 5 {
		t.Fatalf("%d names, %d read again, %v", n.Len(), read.Len(), err)
	}
	for name, want := range map[string]bool{"mdi": true, "mdi/home": true, "fc/apple": true, "fc/home": false, "mdi/": false, "home": false, "": false, "MDI/home": false} {
		if n.Has(name) != want || read.Has(name) != want {
			t.Errorf("%q is there: %v, read again %v, want %v", name, n.Has(name), read.Has(name), want)
		}
	}
	if (Names{}).Has("mdi") {
		t.Error("an empty list has a name")
	}
}

func TestParseNames(t *testing.T) {
	whole := NewNames(slices.Values([]string{"a", "b", "c"})).Append(nil)
	unsorted := append(append(bytes.Clone(whole[:8]), whole[16:]...), whole[8:16]...)
	for name, b := range map[string][]byte{"nothing": nil, "half of its form": whole[:5], "another form": append([]byte("names/2\n"), whole[8:]...),
		"cut": whole[:len(whole)-1], "unsorted": unsorted, "a name twice": append(bytes.Clone(whole[:16]), whole[8:16]...), "a page": []byte("<!doctype html>\n")} {
		if _, err := ParseNames(b); err == nil {
			t.Errorf("%s is read", name)
		}
	}
	if _, err := ParseNames(whole[:8]); err != nil {
		t.Errorf("an empty list: %v", err)
	}
}

// What is read is written again to the byte, and looking something up in it is safe.
func FuzzParseNames(f *testing.F) {
	f.Add(NewNames(slices.Values([]string{"mdi", "mdi/home"})).Append(nil), "mdi/home")
	f.Add([]byte("names/1\n"), "")
	f.Fuzz(func(t *testing.T, b []byte, name string) {
		n, err := ParseNames(b)
		if err != nil {
			return
		}
		if again := n.Append(nil); !bytes.Equal(again, b) {
			t.Errorf("%x became %x", b, again)
		}
		if n.Has(name) && !bytes.Contains(b, NewNames(slices.Values([]string{name})).hashes) {
			t.Errorf("%q is not in %x", name, b)
		}
	})
}

// many are as many names as the largest library has.
func many() iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range 390_629 {
			if !yield(fmt.Sprintf("pack-%d/icon-%d", i%222, i)) {
				return
			}
		}
	}
}

func BenchmarkNames(b *testing.B) {
	n := NewNames(many())
	b.Run("made", func(b *testing.B) {
		for b.Loop() {
			NewNames(many())
		}
	})
	b.Run("read", func(b *testing.B) {
		wire := n.Append(nil)
		b.SetBytes(int64(len(wire)))
		for b.Loop() {
			if _, err := ParseNames(wire); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("asked", func(b *testing.B) {
		var names []string
		for name := range many() {
			names = append(names, name+"x")
		}
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if n.Has(names[i%len(names)]) {
				b.Fatal("it is there")
			}
		}
	})
}
