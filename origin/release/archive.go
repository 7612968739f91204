package release

import (
	"cmp"
	"fmt"
	"io"
	"iter"
	"slices"
	"sort"

	"github.com/iconedge/iconedge/icon"
)

// An Archive is the archive of a pack, open for reading. It uses the directory in place, with 12
// bytes of its own an icon, and reads SVGs when they are requested. It is safe for concurrent use
// if its reader is. It does not close the reader.
type Archive struct {
	r       io.ReaderAt
	dir     []byte   // the central directory
	records []record // sorted by name

	spellings []string // see Spellings
}

// A record is an entry of the directory. It has no pointers, so that the garbage collector need not
// scan hundreds of thousands of them.
type record struct {
	at    uint32 // offset of the entry in the directory
	seq   uint32 // of its Meta
	flags uint8
}

// Flags of a record: fields of its Meta that are needed without the rest.
const (
	isMonochrome = 1 << iota
	hasColor
	isHidden
)

// An Entry is one icon of the archive that returned it.
type Entry struct{ i int }

// Len returns the number of icons, including aliases and hidden ones.
func (a *Archive) Len() int { return len(a.records) }

// All yields every icon, sorted by name.
func (a *Archive) All() iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		for i := range a.records {
			if !yield(Entry{i}) {
				return
			}
		}
	}
}

// Spellings returns the other spellings of names: the tags that are no valid names, sorted.
func (a *Archive) Spellings() []string { return a.spellings }

// HasSpelling reports whether a name is another spelling of that of an icon.
func (a *Archive) HasSpelling(name string) bool {
	_, found := slices.BinarySearch(a.spellings, name)
	return found
}

// Find finds an icon by its name.
func (a *Archive) Find(name string) (Entry, bool) {
	i, found := a.search(name)
	return Entry{i}, found
}

func (a *Archive) search(name string) (int, bool) {
	return sort.Find(len(a.records), func(i int) int { return cmp.Compare(name, string(a.name(i))) })
}

// Name returns the name of an icon.
func (a *Archive) Name(e Entry) string { return string(a.name(e.i)) }

func (a *Archive) name(i int) []byte { return a.entry(i).name() }

func (a *Archive) entry(i int) central { return central(a.dir[a.records[i].at:]) }

// Near yields up to n names around the place of name in sorted order, alternately after and before
// it.
func (a *Archive) Near(name string, n int) iter.Seq[string] {
	return func(yield func(string) bool) {
		at, found := a.search(name)
		for i := range icon.Around(at, found, len(a.records), n) {
			if !yield(string(a.name(i))) {
				return
			}
		}
	}
}

// Meta returns the metadata of an icon. The error is ErrDamaged, which can't happen after
// OpenArchive has read all metadata.
func (a *Archive) Meta(e Entry) (Meta, error) { return parseMeta(a.Name(e), a.entry(e.i).comment()) }

// Seq, Monochrome and Hidden return those fields of an icon's Meta, and Own reports whether it has
// a Color, without reading all of it.
func (a *Archive) Seq(e Entry) int         { return int(a.records[e.i].seq) }
func (a *Archive) Monochrome(e Entry) bool { return a.records[e.i].flags&isMonochrome != 0 }
func (a *Archive) Hidden(e Entry) bool     { return a.records[e.i].flags&isHidden != 0 }
func (a *Archive) Own(e Entry) bool        { return a.records[e.i].flags&hasColor != 0 }

// SameSVG reports whether two entries have the same SVG, by its checksum and size.
func (a *Archive) SameSVG(e, other Entry) bool {
	x, y := a.entry(e.i), a.entry(other.i)
	return x.crc() == y.crc() && x.size() == y.size() && x.deflated() == y.deflated()
}

// Read returns an SVG and verifies its checksum. The error is ErrDamaged, or one of the reader.
func (a *Archive) Read(e Entry) ([]byte, error) {
	m, err := a.Member(e)
	if err != nil {
		return nil, err
	}
	svg, err := m.Inflate()
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", a.Name(e), err)
	}
	return svg, nil
}

// Member returns an SVG as compressed in the archive, unverified. The error is ErrDamaged, or one
// of the reader.
func (a *Archive) Member(e Entry) (Member, error) {
	c := a.entry(e.i)
	name := c.name()
	head := localHeader + len(name) + len(extension)
	buf := make([]byte, head+int(c.deflated())+gzipTrailer)
	if err := readAt(a.r, buf[:head+int(c.deflated())], int64(c.at())); err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	if !localMatches(buf[:head], name) {
		return nil, fmt.Errorf("%w: %s is not at the offset in the directory", ErrDamaged, name)
	}
	return newMember(buf[head-gzipHead:], c.crc(), c.size()), nil
}
