package release

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/iconedge/iconedge/icon"
)

// Signatures of the records of a ZIP, and their sizes in bytes without the parts of variable
// length, by their sections in the specification (APPNOTE 6.3.10).
const (
	localSig, localHeader     = 0x04034b50, 30 // 4.3.7
	centralSig, centralHeader = 0x02014b50, 46 // 4.3.12
	end64Sig, end64Record     = 0x06064b50, 56 // 4.3.14
	end64LocSig, end64Locator = 0x07064b50, 20 // 4.3.15
	endSig, endRecord         = 0x06054b50, 22 // 4.3.16

	methodDeflate = 8
)

// OpenArchive reads the directory of an archive of size bytes. It accepts the output of a Writer
// and no other ZIP: the entries are sorted by name, deflated and described by a Meta, their names
// are valid icon names, nothing precedes the first entry, and there is no archive comment.
// archive/zip could read the same, but keeps about 300 bytes an entry. The error is ErrDamaged, or
// one of the reader.
func OpenArchive(r io.ReaderAt, size int64) (*Archive, error) {
	return openArchive(r, size, func(at, n int64) ([]byte, error) {
		dir := make([]byte, n)
		return dir, readAt(r, dir, at)
	})
}

// OpenMapped is OpenArchive for a file whose content is also mapped into memory. The archive reads
// its directory there, so that the kernel can drop pages of it. The mapping must outlive the
// archive.
func OpenMapped(r io.ReaderAt, data []byte) (*Archive, error) {
	return openArchive(r, int64(len(data)), func(at, n int64) ([]byte, error) { return data[at:][:n:n], nil })
}

func openArchive(r io.ReaderAt, size int64, directory func(at, n int64) ([]byte, error)) (*Archive, error) {
	at, n, err := findDirectory(r, size)
	if err != nil {
		return nil, err
	}
	dir, err := directory(at, n)
	if err != nil {
		return nil, err
	}
	a := &Archive{r: r, dir: dir}
	if err := a.readDirectory(at); err != nil {
		return nil, err
	}
	return a, nil
}

// findDirectory returns the offset and size of the central directory.
func findDirectory(r io.ReaderAt, size int64) (at, n int64, err error) {
	if size < endRecord || size > math.MaxUint32 {
		return 0, 0, damaged("no archive has this size")
	}
	end := make([]byte, endRecord)
	if err := readAt(r, end, size-endRecord); err != nil {
		return 0, 0, err
	}
	if binary.LittleEndian.Uint32(end) != endSig || binary.LittleEndian.Uint16(end[20:]) != 0 {
		return 0, 0, damaged("it has no valid end record")
	}
	n, at = int64(binary.LittleEndian.Uint32(end[12:])), int64(binary.LittleEndian.Uint32(end[16:]))
	stop := size - endRecord
	if n == math.MaxUint32 { // more entries than 16 bits can count
		stop -= end64Locator + end64Record
		end64 := make([]byte, end64Record+end64Locator)
		if stop < 0 {
			return 0, 0, damaged("it is truncated")
		}
		if err := readAt(r, end64, stop); err != nil {
			return 0, 0, err
		}
		if binary.LittleEndian.Uint32(end64) != end64Sig || binary.LittleEndian.Uint32(end64[end64Record:]) != end64LocSig {
			return 0, 0, damaged("it has no valid end record")
		}
		n, at = int64(binary.LittleEndian.Uint64(end64[40:])), int64(binary.LittleEndian.Uint64(end64[48:]))
	}
	if n < 0 || at < 0 || at > stop || n != stop-at {
		return 0, 0, damaged("its directory is at the wrong offset")
	}
	return at, n, nil
}

// central is an entry of the central directory, and those after it (APPNOTE 6.3.10, section
// 4.3.12).
type central []byte

// Fields of the entry. Sizes and lengths are in bytes; at is the offset of the local header.
func (c central) method() uint16     { return binary.LittleEndian.Uint16(c[10:]) }
func (c central) crc() uint32        { return binary.LittleEndian.Uint32(c[16:]) }
func (c central) deflated() uint32   { return binary.LittleEndian.Uint32(c[20:]) }
func (c central) size() uint32       { return binary.LittleEndian.Uint32(c[24:]) }
func (c central) nameLength() int    { return int(binary.LittleEndian.Uint16(c[28:])) }
func (c central) extraLength() int   { return int(binary.LittleEndian.Uint16(c[30:])) }
func (c central) commentLength() int { return int(binary.LittleEndian.Uint16(c[32:])) }
func (c central) at() uint32         { return binary.LittleEndian.Uint32(c[42:]) }

// length returns the length of the entry in bytes.
func (c central) length() int {
	return centralHeader + c.nameLength() + c.extraLength() + c.commentLength()
}

// name returns the name of the icon, in place.
func (c central) name() []byte { return c[centralHeader:][:c.nameLength()-len(extension)] }

// comment returns the JSON of the icon's Meta, in place. An entry of an icon has no extra field.
func (c central) comment() []byte { return c[centralHeader+c.nameLength():][:c.commentLength()] }

// isIcon reports whether a Writer could have written the entry.
func (c central) isIcon() bool {
	name, ok := bytes.CutSuffix(c[centralHeader:][:c.nameLength()], []byte(extension))
	return ok && icon.ValidKey(string(name)) && c.extraLength() == 0 && c.method() == methodDeflate
}

// readDirectory fills a from the central directory, which starts at stop.
func (a *Archive) readDirectory(stop int64) error {
	seen := map[string]record{} // by comment: many icons of a pack share theirs
	var next int64              // required offset of the next entry
	var last []byte
	for at := 0; at < len(a.dir); {
		c := central(a.dir[at:])
		if len(c) < centralHeader || binary.LittleEndian.Uint32(c) != centralSig || len(c) < c.length() {
			return damaged("its directory is truncated")
		}
		if !c.isIcon() {
			return damaged("an entry is not an icon")
		}
		if len(a.records) > 0 && bytes.Compare(last, c.name()) >= 0 {
			return damaged("its entries are not sorted")
		}
		if int64(c.at()) != next || c.size() > MaxSVG {
			return damaged("an entry is at the wrong offset")
		}
		last = c.name()
		next += int64(localHeader+c.nameLength()) + int64(c.deflated())
		rec, known := seen[string(c.comment())]
		if !known {
			m, err := parseMeta(string(last), c.comment())
			if err != nil {
				return err
			}
			a.spellings = append(a.spellings, m.Spellings()...)
			rec = record{seq: uint32(m.Seq), flags: m.flags()}
			seen[string(c.comment())] = rec
		}
		rec.at = uint32(at)
		a.records = append(a.records, rec)
		at += c.length()
	}
	if next != stop {
		return damaged("an entry is at the wrong offset")
	}
	a.records = clip(a.records)
	slices.Sort(a.spellings)
	a.spellings = clip(slices.Compact(a.spellings))
	return nil
}

// clip returns s without the spare capacity that append left.
func clip[T any](s []T) []T { return append(make([]T, 0, len(s)), s...) }

// localMatches reports whether head is the local header of an entry with that name.
func localMatches(head, name []byte) bool {
	return binary.LittleEndian.Uint32(head) == localSig &&
		int(binary.LittleEndian.Uint16(head[26:])) == len(name)+len(extension) && binary.LittleEndian.Uint16(head[28:]) == 0 &&
		bytes.Equal(head[localHeader:localHeader+len(name)], name)
}

func readAt(r io.ReaderAt, buf []byte, at int64) error {
	n, err := r.ReadAt(buf, at)
	if n == len(buf) {
		return nil
	}
	if err == io.EOF {
		return damaged("it is truncated")
	}
	return err
}

func damaged(what string) error { return fmt.Errorf("%w: %s", ErrDamaged, what) }
