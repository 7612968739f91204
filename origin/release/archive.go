package release

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
	"sort"
	"sync"

	"github.com/klauspost/compress/flate"

	"github.com/iconedge/iconedge/icon"
)

// An Archive is the archive of a pack, open for reading. It holds the names and where each drawing lies, about 50 bytes an
// icon, and reads drawings at their place when asked for. It is safe for concurrent use if its reader is, and it does not
// close the reader.
type Archive struct {
	r       io.ReaderAt
	records []record // sorted by name
	names   []byte   // one after the other, in the order of records
	metas   []byte   // descriptions, each once: most icons of a pack share theirs
}

// A record has no pointers, so that the garbage collector need not look at hundreds of thousands of them.
type record struct {
	name     uint32 // where its name starts in names; it ends where the next starts
	meta     uint32 // where its description starts in metas, with its length before it
	at       uint32 // offset of the local header in the archive
	deflated uint32 // size in bytes
	size     uint32 // size of the drawing in bytes
	crc      uint32
}

// An Entry is one drawing of the archive that gave it.
type Entry struct{ i int }

// Len is how many drawings there are, aliases and hidden ones included.
func (a *Archive) Len() int { return len(a.records) }

// All gives every drawing, sorted by name.
func (a *Archive) All() iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		for i := range a.records {
			if !yield(Entry{i}) {
				return
			}
		}
	}
}

// Find finds a drawing by its name.
func (a *Archive) Find(name string) (Entry, bool) {
	i, found := a.search(name)
	return Entry{i}, found
}

func (a *Archive) search(name string) (int, bool) {
	return sort.Find(len(a.records), func(i int) int { return cmp.Compare(name, string(a.name(i))) })
}

// Name is the drawing's name.
func (a *Archive) Name(e Entry) string { return string(a.name(e.i)) }

func (a *Archive) name(i int) []byte {
	end := uint32(len(a.names))
	if i+1 < len(a.records) {
		end = a.records[i+1].name
	}
	return a.names[a.records[i].name:end]
}

// Near gives up to n names that stand next to where name stands or would stand, in turn after and before it.
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

// Meta is what is known of a drawing. The error is ErrDamaged; OpenArchive has seen to it that there is none.
func (a *Archive) Meta(e Entry) (Meta, error) {
	return parseMeta(a.Name(e), a.comment(e.i))
}

func (a *Archive) comment(i int) []byte {
	at := a.records[i].meta
	n := uint32(binary.LittleEndian.Uint16(a.metas[at:]))
	return a.metas[at+2 : at+2+n]
}

// Read gives the drawing, its checksum verified. The error is ErrDamaged, or the reader's.
func (a *Archive) Read(e Entry) ([]byte, error) {
	deflated, crc, size, err := a.Deflated(e)
	if err != nil {
		return nil, err
	}
	svg := make([]byte, size)
	if err := inflate(svg, deflated); err != nil || crc32.ChecksumIEEE(svg) != crc {
		return nil, fmt.Errorf("%w: the drawing of %s is not what it was", ErrDamaged, a.Name(e))
	}
	return svg, nil
}

// Deflated gives the drawing as it lies in the archive (RFC 1951), unverified, with the checksum and the size that it has
// when inflated: what a gzip member is made of (RFC 1952). The error is ErrDamaged, or the reader's.
func (a *Archive) Deflated(e Entry) (deflated []byte, crc, size uint32, err error) {
	r := &a.records[e.i]
	name := a.name(e.i)
	head := localHeader + len(name) + len(extension)
	buf := make([]byte, head+int(r.deflated))
	if err := readAt(a.r, buf, int64(r.at)); err != nil {
		return nil, 0, 0, fmt.Errorf("reading %s: %w", name, err)
	}
	if !localMatches(buf[:head], name) {
		return nil, 0, 0, fmt.Errorf("%w: there is no %s where the directory says", ErrDamaged, name)
	}
	return buf[head:], r.crc, r.size, nil
}

var inflaters = sync.Pool{New: func() any { return flate.NewReader(nil) }}

// inflate fills svg exactly.
func inflate(svg, deflated []byte) error {
	r := inflaters.Get().(io.ReadCloser)
	defer inflaters.Put(r)
	if err := r.(flate.Resetter).Reset(bytes.NewReader(deflated), nil); err != nil {
		return err
	}
	if _, err := io.ReadFull(r, svg); err != nil {
		return err
	}
	if n, err := r.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		return ErrDamaged
	}
	return nil
}
