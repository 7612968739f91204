package bag

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/iconedge/iconedge/clients/go/react"
	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/origin/svg"
)

// AuthorsName is the name of the file about authors in the archive of a pack.
const AuthorsName = "AUTHORS.txt"

// A Kind is what the archive of a pack contains: SVGs, components, or a sprite.
type Kind string

// The kinds of archives of packs.
const (
	SVGs   Kind = "svg"    // PACK/NAME.svg
	React  Kind = "react"  // PACK/NAME.tsx, and PACK/index.ts, which exports all
	Symbol Kind = "sprite" // sprite.svg, with a symbol PACK-NAME for each icon
)

// Kinds lists the kinds of archives of packs.
var Kinds = []Kind{SVGs, React, Symbol}

// A Whole is a pack with all of its icons, which come one after another, so that a pack of any size
// takes the memory of one icon.
type Whole struct {
	Pack  *icon.Pack
	Count int
	Icons iter.Seq2[Item, error]
}

// Write writes the archive of a kind to out, with LICENSES.md and AUTHORS.txt. The same pack gives
// the same bytes.
func (p Whole) Write(out io.Writer, kind Kind) error {
	w := zip.NewWriter(out)
	var err error
	switch kind {
	case SVGs:
		err = p.writeSVGs(w)
	case React:
		err = p.writeComponents(w)
	case Symbol:
		err = p.writeSprite(w)
	default:
		return fmt.Errorf("%q is no kind of archive", kind)
	}
	if err != nil {
		return fmt.Errorf("archiving the pack %s: %w", p.Pack.Key, err)
	}
	if err := add(w, LicensesName, p.licenses(), nil); err != nil {
		return err
	}
	if err := add(w, AuthorsName, p.authors(), nil); err != nil {
		return err
	}
	return w.Close()
}

// licenses returns LICENSES.md of the pack.
func (p Whole) licenses() []byte {
	return licenses(p.Count, []*icon.Pack{p.Pack}, map[string][]string{})
}

// authors returns AUTHORS.txt of the pack.
func (p Whole) authors() []byte {
	b := []byte(plain(p.Pack.Attribution) + "\n")
	for _, address := range []string{p.Pack.AuthorURL, p.Pack.LicenseURL} {
		if address != "" {
			b = append(b, plain(address)+"\n"...)
		}
	}
	return b
}

func (p Whole) writeSVGs(w *zip.Writer) error {
	for i, err := range p.Icons {
		if err != nil {
			return err
		}
		if err := add(w, i.Ref.String()+".svg", i.SVG, i.Deflated); err != nil {
			return err
		}
	}
	return nil
}

// writeComponents writes a module for each icon, and one that exports all. It leaves out an icon
// that can't be a component, and says so in that one.
func (p Whole) writeComponents(w *zip.Writer) error {
	index := bytes.NewBufferString("// " + plain(p.Pack.Attribution) + "\n")
	used := map[string]bool{}
	for i, err := range p.Icons {
		if err != nil {
			return err
		}
		jsx, err := react.Render(string(i.SVG))
		if errors.Is(err, react.ErrRefused) {
			fmt.Fprintf(index, "// %s can't be a component.\n", i.Ref.Name)
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", i.Ref, err)
		}
		name := react.Name(i.Ref.Pack, i.Ref.Name)
		for used[name] { // a-1 and a1
			name += "_"
		}
		used[name] = true
		component := jsx.Component(name, i.Ref.String()+": "+p.Pack.Attribution)
		if err := addText(w, i.Ref.String()+".tsx", []byte(component)); err != nil {
			return err
		}
		fmt.Fprintf(index, "export { default as %s } from './%s';\n", name, i.Ref.Name)
	}
	return addText(w, p.Pack.Key+"/index.ts", index.Bytes())
}

// addText adds a file, compressed.
func addText(w *zip.Writer, name string, text []byte) error {
	f, err := w.Create(name)
	if err == nil {
		_, err = f.Write(text)
	}
	return err
}

func (p Whole) writeSprite(w *zip.Writer) error {
	f, err := w.Create("sprite.svg")
	if err != nil {
		return err
	}
	if _, err := f.Write(spriteStart(p.licenses(), true)); err != nil {
		return err
	}
	for i, err := range p.Icons {
		if err != nil {
			return err
		}
		symbol, _, err := svg.Symbol(i.SVG, i.Ref.Pack+"-"+i.Ref.Name)
		if err != nil {
			return fmt.Errorf("%s: %w", i.Ref, err)
		}
		if _, err := f.Write(append(symbol, '\n')); err != nil {
			return err
		}
	}
	_, err = f.Write([]byte(spriteEnd))
	return err
}
