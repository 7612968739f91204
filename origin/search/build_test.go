package search

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"slices"
	"testing"

	"github.com/iconedge/iconedge/icon"
)

func TestBuildIsDeterministic(t *testing.T) {
	packs, docs := smallLibrary(t)
	want := build(t, packs, docs)
	slices.Reverse(packs)
	slices.Reverse(docs)
	if !bytes.Equal(build(t, packs, docs), want) {
		t.Error("the order of docs must not change the file")
	}
	docs[0].Monochrome = !docs[0].Monochrome
	if bytes.Equal(build(t, packs, docs), want) {
		t.Error("a changed library must give another file")
	}
}

func TestBuildRefuses(t *testing.T) {
	packs := []icon.Pack{{Key: "b"}, {Key: "d"}}
	for why, docs := range map[string][]Doc{
		"of another pack": {{Pack: "a", Name: "x"}},
		"twice":           {{Pack: "b", Name: "x"}, {Pack: "b", Name: "y"}, {Pack: "b", Name: "x"}},
	} {
		if err := Build(t.Context(), io.Discard, Library{Packs: packs, Docs: func(pack string) ([]Doc, error) {
			return map[string][]Doc{"b": docs}[pack], nil
		}}); !errors.Is(err, ErrDocs) {
			t.Errorf("%s: %v, want ErrDocs", why, err)
		}
	}
	broken := errors.New("disk full")
	unread := func(string) ([]Doc, error) { return nil, broken }
	if err := Build(t.Context(), io.Discard, Library{Packs: packs, Docs: unread}); !errors.Is(err, broken) {
		t.Errorf("docs that can't be read: %v", err)
	}
	for room := range 3 {
		if err := Build(t.Context(), &full{room, broken},
			Library{Packs: packs, Docs: byPack([]Doc{{Pack: "b", Name: "x"}})}); !errors.Is(err, broken) {
			t.Errorf("a writer that fails after %d writes: %v", room, err)
		}
	}
}

// full is a writer that fails after some writes.
type full struct {
	room int
	err  error
}

func (w *full) Write(p []byte) (int, error) {
	if w.room--; w.room < 0 {
		return 0, w.err
	}
	return len(p), nil
}

func TestDamage(t *testing.T) {
	packs, docs := smallLibrary(t)
	file := build(t, packs, docs)
	for i := range file {
		flip := byte(1) << (i % 8)
		file[i] ^= flip
		if _, err := Open(file); !errors.Is(err, ErrDamaged) {
			t.Fatalf("byte %d changed: %v, want ErrDamaged", i, err)
		}
		file[i] ^= flip
	}
	for n := range file {
		if _, err := Open(file[:n]); !errors.Is(err, ErrDamaged) {
			t.Fatalf("truncated to %d bytes: %v, want ErrDamaged", n, err)
		}
	}
	if _, err := Open(append(slices.Clone(file), 0)); !errors.Is(err, ErrDamaged) {
		t.Errorf("an additional byte: %v, want ErrDamaged", err)
	}
	if _, err := Open(file); err != nil {
		t.Errorf("the file itself: %v", err)
	}
}

// TestOtherVersion opens files with a correct checksum and inconsistent content.
func TestOtherVersion(t *testing.T) {
	packs, docs := smallLibrary(t)
	file := build(t, packs, docs)
	section := func(i int) (off int) { return int(binary.LittleEndian.Uint64(file[len(magic)+8+16*i:])) }
	for why, at := range map[string]int{
		"version": len(magic), "number of sections": len(magic) + 4, "offset": len(magic) + 8, "size of the packs": len(magic) + 16,
		"size of the docs": len(magic) + 8 + 24, "packs": section(secPacks),
		"name of a doc": section(secDocs) + docNameEnd + 3, "group of a doc": section(secDocs) + docGroup + 1,
		"size of a doc": section(secDocs) + docDims + 2, "words": section(secWords),
	} {
		odd := slices.Clone(file)
		odd[at] ^= 0x40
		if _, err := Open(resum(odd)); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v, want ErrDamaged", why, err)
		}
	}
	if _, err := Open(resum(slices.Clone(file))); err != nil {
		t.Errorf("unchanged: %v", err)
	}
}

func resum(file []byte) []byte {
	n := len(file) - sumSize
	return binary.LittleEndian.AppendUint32(file[:n], crc32.Checksum(file[:n], castagnoli))
}

func FuzzOpen(f *testing.F) {
	packs, docs := smallLibrary(f)
	file := build(f, packs, docs)
	empty := build(f, nil, nil)
	f.Add(file)
	f.Add(empty)
	f.Add(file[:headSize(sections)])
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, data []byte) {
		x, err := Open(data)
		if err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Fatalf("%v is not ErrDamaged", err)
			}
			return
		}
		if !bytes.Equal(data, file) && !bytes.Equal(data, empty) {
			t.Skip("Open promises nothing for a foreign file with a correct checksum")
		}
		x.Search(Query{Text: "home", Limit: 5})
	})
}
