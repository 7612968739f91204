package search

import (
	"bytes"
	"errors"
	"reflect"
	"testing"
)

// TestEncodeDocs checks that docs come back as they were, and that the same docs give the same
// bytes.
func TestEncodeDocs(t *testing.T) {
	whole := Doc{Pack: "b", Name: "x", AliasOf: "y", Width: 1.5, Height: 2, Monochrome: true, Categories: []string{"c", "d"},
		Spellings: []string{"X"}, Image: [16]byte{1}, Shape: [16]byte{15: 2}, Own: true, Stroked: true, Look: 1}
	for i := range reflect.TypeFor[Doc]().NumField() {
		if f := reflect.ValueOf(whole).Field(i); f.IsZero() {
			t.Fatalf("%s is empty, so that this test can't see its loss", reflect.TypeFor[Doc]().Field(i).Name)
		}
	}
	_, small := smallLibrary(t)
	for name, docs := range map[string][]Doc{
		"none": {}, "one": {whole}, "two": {{Pack: "b", Name: "z", Monochrome: true}, whole}, "many": slicesOf(small, "mdi"),
	} {
		data, err := EncodeDocs(docs)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := EncodeDocs(docs); err != nil || !bytes.Equal(again, data) {
			t.Errorf("%s: %v; the same docs gave other bytes", name, err)
		}
		if got, err := DecodeDocs(data); err != nil || !reflect.DeepEqual(got, docs) {
			t.Errorf("%s: %v, %+v, want %+v", name, err, got, docs)
		}
		for n := range data {
			if _, err := DecodeDocs(data[:n]); !errors.Is(err, ErrDamaged) {
				t.Errorf("%s: %v for %d of %d bytes, want ErrDamaged", name, err, n, len(data))
			}
		}
	}
}

func slicesOf(docs []Doc, pack string) []Doc {
	own, _ := byPack(docs)(pack)
	return own
}

// FuzzDecodeDocs checks that no input crashes DecodeDocs, and that what it reads can be written.
func FuzzDecodeDocs(f *testing.F) {
	_, docs := smallLibrary(f)
	for _, docs := range [][]Doc{nil, slicesOf(docs, "mdi"), {{Pack: "a", Name: "b", Categories: []string{"c"}}}} {
		data, err := EncodeDocs(docs)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		docs, err := DecodeDocs(data)
		if err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Errorf("%v, want ErrDamaged", err)
			}
			return
		}
		if _, err := EncodeDocs(docs); err != nil {
			t.Error(err)
		}
	})
}
