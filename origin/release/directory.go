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
// archive/zip could read the same, but keeps about 300 bytes an entry instead of 50. The error is
// ErrDamaged, or one of the reader.
func OpenArchive(r io.ReaderAt, size int64) (*Archive, error) {
	at, n, err := findDirectory(r, size)
	if err != nil {
		return nil, err
	}
	dir := make([]byte, n)
	if err := readAt(r, dir, at); err != nil {
		return nil, err
	}
	a := &Archive{r: r}
	if err := a.readDirectory(dir, at); err != nil {
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

// readDirectory fills a from the central directory, which starts at stop.
func (a *Archive) readDirectory(dir []byte, stop int64) error {
	seen := map[string]uint32{}
	var next int64 // required offset of the next entry
	for len(dir) > 0 {
		if len(dir) < centralHeader || binary.LittleEndian.Uint32(dir) != centralSig {
			return damaged("its directory is truncated")
		}
		nameLen, extraLen := int(binary.LittleEndian.Uint16(dir[28:])), int(binary.LittleEndian.Uint16(dir[30:]))
		commentLen := int(binary.LittleEndian.Uint16(dir[32:]))
		if len(dir) < centralHeader+nameLen+extraLen+commentLen {
			return damaged("its directory is truncated")
		}
		name, ok := bytes.CutSuffix(dir[centralHeader:centralHeader+nameLen], []byte(extension))
		if !ok || !icon.ValidKey(string(name)) || extraLen != 0 || binary.LittleEndian.Uint16(dir[10:]) != methodDeflate {
			return damaged("an entry is not an icon")
		}
		if n := len(a.records); n > 0 && bytes.Compare(a.name(n-1), name) >= 0 {
			return damaged("its entries are not sorted")
		}
		rec := record{
			name: uint32(len(a.names)),
			crc:  binary.LittleEndian.Uint32(dir[16:]), deflated: binary.LittleEndian.Uint32(dir[20:]),
			size: binary.LittleEndian.Uint32(dir[24:]), at: binary.LittleEndian.Uint32(dir[42:]),
		}
		if int64(rec.at) != next || rec.size > MaxSVG {
			return damaged("an entry is at the wrong offset")
		}
		next += int64(localHeader+nameLen) + int64(rec.deflated)
		comment := dir[centralHeader+nameLen+extraLen:][:commentLen]
		meta, known := seen[string(comment)]
		if !known {
			m, err := parseMeta(string(name), comment)
			if err != nil {
				return err
			}
			a.spellings = append(a.spellings, m.Spellings()...)
			meta = uint32(len(a.metas))
			seen[string(comment)] = meta
			if a.metas, err = appendDescription(a.metas, m, comment); err != nil {
				return err
			}
		}
		rec.meta = meta
		a.names = append(a.names, name...)
		a.records = append(a.records, rec)
		dir = dir[centralHeader+nameLen+extraLen+commentLen:]
	}
	if next != stop {
		return damaged("an entry is at the wrong offset")
	}
	a.records, a.names, a.metas = clip(a.records), clip(a.names), clip(a.metas)
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
