package search

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
)

// The file has magic, version, the offset and size of each section (both uint64; all numbers are
// little-endian), the sections, each at a multiple of 8 bytes, and a CRC-32C of everything before
// it.
const (
	magic = "iconsrch"
	// Form is the version of the files that Build writes.
	Form    = 4
	version = Form
	// Open also reads the earlier versions, because a store has indexes of earlier programs.
	// Version 3 has no shapes, no popularity of docs, and does not say which words are of other
	// languages. Version 2 also has several bitmaps for a meaning of several words: see
	// meanings.go.
	versionPlain = 3
	versionWords = 2
)

// The sections, in the order of the file. Docs are sorted by pack and name, so that a pack is a
// range of docs.
const (
	secPacks      = iota // JSON: packs, with the end of each one's range
	secDocs              // docSize bytes a doc
	secNames             // names, each followed, for an alias, by a NUL and the name of its icon
	secSizes             // pairs of float64: width and height
	secGroups            // uint32: for each group, the index of its first doc in secTogether
	secTogether          // uint32: docs, by group
	secWords             // FST: word to the offset of its bitmap in secPostings
	secPrefixes          // FST: the first 1, 2 and 3 bytes of words, likewise
	secStyles            // FST: style words, likewise
	secCategories        // FST: categories of icons, in lower case, likewise
	secPostings          // bitmaps of docs
	secMeanings          // FST: word or phrase to the offset of its meanings in secTargets
	secTargets           // see meanings.go
	secPhrases           // FST: completion to the number of packs that draw it
	secBegun             // FST: prefix of many phrases to the offset of the best ones in secBest
	secBest              // see complete.go
	secMade              // Library.Made
	secShapes            // Doc.Shape of each group
	sections

	sectionsBefore = secShapes // in earlier versions
)

const sumSize = 4

// headSize returns the size of what precedes the sections.
func headSize(sections int) int { return len(magic) + 8 + 16*sections }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// packRecord is a pack in secPacks. Rank orders packs if nothing else distinguishes hits.
type packRecord struct {
	Key  string `json:"key"`
	Name string `json:"name"`
	// End is one past its last doc. Its first doc follows the last one of the previous pack.
	End        uint32 `json:"end"`
	Rank       int    `json:"rank"`
	License    string `json:"license"`
	Commercial bool   `json:"commercial,omitempty"`
	Category   string `json:"category,omitempty"`
}

// Offsets of the fields of a doc in secDocs.
const (
	docNameEnd = 0  // uint32: end of its name in secNames
	docGroup   = 4  // uint32: the same for docs with the same SVG
	docDims    = 8  // uint32: index into secSizes
	docName    = 12 // uint32: the same for docs of the same name
	docConcept = 16 // uint32: the same for docs of the same name without style words
	docShape   = 20 // number of words in the high four bits, of style words in the low
	docFlags   = 21 // number of leading style words, and the flags below
	docKnown   = 22 // number of binary digits of the number of docs of the same name
	docPopular = 23 // number of packs that draw the same concept, up to 255; 0 before version 4
	docSize    = 24

	leadMask       = 0x0f
	flagOwn        = 0x20 // not in the files of earlier programs, which have no such icons
	flagMonochrome = 0x40
	flagAlias      = 0x80
)

// writeFile writes the sections as one file.
func writeFile(w io.Writer, body [sections][]byte) error {
	head := append([]byte(magic), 0, 0, 0, 0, 0, 0, 0, 0)
	binary.LittleEndian.PutUint32(head[len(magic):], version)
	binary.LittleEndian.PutUint32(head[len(magic)+4:], sections)
	at := uint64(headSize(sections))
	for _, b := range body {
		head = binary.LittleEndian.AppendUint64(head, at)
		head = binary.LittleEndian.AppendUint64(head, uint64(len(b)))
		at += padded(uint64(len(b)))
	}
	sum := crc32.New(castagnoli)
	both := io.MultiWriter(w, sum)
	for _, b := range slices.Insert(body[:], 0, head) {
		if _, err := both.Write(b); err != nil {
			return fmt.Errorf("writing search index: %w", err)
		}
		if _, err := both.Write(make([]byte, padded(uint64(len(b)))-uint64(len(b)))); err != nil {
			return fmt.Errorf("writing search index: %w", err)
		}
	}
	if _, err := w.Write(binary.LittleEndian.AppendUint32(nil, sum.Sum32())); err != nil {
		return fmt.Errorf("writing search index: %w", err)
	}
	return nil
}

func padded(n uint64) uint64 { return (n + 7) &^ 7 }

// readFile finds the sections of a file, and its version. The error is ErrDamaged.
func readFile(data []byte) (body [sections][]byte, v uint32, err error) {
	if len(data) < headSize(sectionsBefore)+sumSize || string(data[:len(magic)]) != magic {
		return body, v, fmt.Errorf("%w: not an index", ErrDamaged)
	}
	if v = binary.LittleEndian.Uint32(data[len(magic):]); v < versionWords || v > version {
		return body, v, fmt.Errorf("%w: version %d, not %d to %d", ErrDamaged, v, versionWords, version)
	}
	count := sections
	if v < version {
		count = sectionsBefore
	}
	if len(data) < headSize(count)+sumSize {
		return body, v, fmt.Errorf("%w: it is cut off", ErrDamaged)
	}
	whole, sum := data[:len(data)-sumSize], binary.LittleEndian.Uint32(data[len(data)-sumSize:])
	if crc32.Checksum(whole, castagnoli) != sum {
		return body, v, fmt.Errorf("%w: checksum differs", ErrDamaged)
	}
	at := uint64(headSize(count))
	for i := range count {
		entry := data[len(magic)+8+16*i:]
		off, size := binary.LittleEndian.Uint64(entry), binary.LittleEndian.Uint64(entry[8:])
		if off != at || size > uint64(len(whole))-at || padded(size) > uint64(len(whole))-at {
			return body, v, fmt.Errorf("%w: section %d is out of place", ErrDamaged, i)
		}
		body[i] = data[off : off+size : off+size]
		at += padded(size)
	}
	if at != uint64(len(whole)) || binary.LittleEndian.Uint32(data[len(magic)+4:]) != uint32(count) {
		return body, v, fmt.Errorf("%w: sections do not fill the file", ErrDamaged)
	}
	return body, v, nil
}
