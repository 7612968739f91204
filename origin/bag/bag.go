// Package bag makes files of chosen icons, and of whole packs: a ZIP archive, an SVG file with a
// symbol for each icon, and LICENSES.md, which says what the licences of the icons oblige their
// user to do. The same icons give the same bytes: nothing in a file depends on the time, or on the
// order in which a client names the icons.
package bag

import (
	"archive/zip"
	"bytes"
	"fmt"
	"hash/crc32"
	"io/fs"
	"slices"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/origin/svg"
)

// An Item is an icon in a bag. The items of a bag are sorted and each is there once, as
// icon.ParseBag returns their names.
type Item struct {
	Ref  icon.Ref
	Pack *icon.Pack
	SVG  []byte

	// Deflated is the SVG as a raw deflate stream (RFC 1951). nil: the archive stores the SVG.
	Deflated []byte
}

// LicensesName is the name of the file about licences in the archive.
const LicensesName = "LICENSES.md"

// Zip returns a ZIP archive with PACK/NAME.svg for each item, and LICENSES.md.
func Zip(items []Item) ([]byte, error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, i := range items {
		if err := add(w, i.Ref.String()+".svg", i.SVG, i.Deflated); err != nil {
			return nil, fmt.Errorf("archiving %s: %w", i.Ref, err)
		}
	}
	if err := add(w, LicensesName, Licenses(items), nil); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// firstDay is the first date that the format of ZIP has: 1 January 1980.
const firstDay = 1<<5 | 1

// add adds a file as it is, so that the archive does not depend on the version of a compressor.
func add(w *zip.Writer, name string, data, deflated []byte) error {
	h := &zip.FileHeader{
		Name: name, CRC32: crc32.ChecksumIEEE(data), UncompressedSize64: uint64(len(data)),
		CompressedSize64: uint64(len(data)), Method: zip.Store,
		ModifiedDate: firstDay, //lint:ignore SA1019 CreateRaw writes this field, and not Modified
	}
	h.SetMode(fs.FileMode(0o644))
	if deflated != nil {
		h.Method, h.CompressedSize64, data = zip.Deflate, uint64(len(deflated)), deflated
	}
	f, err := w.CreateRaw(h)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return err
}

// Sprite returns an SVG file with a symbol for each item, whose id is PACK-NAME, and with the
// licences in a comment.
func Sprite(items []Item) ([]byte, error) {
	ids := symbolIDs(items)
	var symbols []byte
	xlink := false
	for n, i := range items {
		symbol, uses, err := svg.Symbol(i.SVG, ids[n])
		if err != nil {
			return nil, fmt.Errorf("making a symbol of %s: %w", i.Ref, err)
		}
		symbols, xlink = append(append(symbols, symbol...), '\n'), xlink || uses
	}
	return append(append(spriteStart(Licenses(items), xlink), symbols...), spriteEnd...), nil
}

const spriteEnd = "</svg>\n"

// spriteStart returns the start of a sprite, up to its symbols. xlink declares that prefix.
func spriteStart(licenses []byte, xlink bool) []byte {
	b := []byte(`<svg xmlns="http://www.w3.org/2000/svg"`)
	if xlink {
		b = append(b, ` xmlns:xlink="http://www.w3.org/1999/xlink"`...)
	}
	return append(b, ">\n<!--\n"+svg.Comment(string(licenses))+"-->\n"...)
}

// symbolIDs returns the id of each item: PACK-NAME. Two icons such as a-b/c and a/b-c would share
// one; the later one then gets two hyphens between pack and name, which no name has.
func symbolIDs(items []Item) []string {
	ids := make([]string, len(items))
	for n, i := range items {
		id := i.Ref.Pack + "-" + i.Ref.Name
		if slices.Contains(ids[:n], id) {
			id = i.Ref.Pack + "--" + i.Ref.Name
		}
		ids[n] = id
	}
	return ids
}
