package svg

import (
	"strings"

	"github.com/iconedge/iconedge/icon/viewbox"
)

// A RowIcon is an icon of a row: a clean SVG in the size and colour that it has there.
type RowIcon struct {
	SVG []byte
	// ID is the prefix of all names of the icon, which no other icon of the row has. It consists of
	// letters, digits and underscores.
	ID string
}

// Row returns icons beside each other in one SVG, with a gap of so many pixels between two of them,
// and the size of the picture. title names the picture for screen readers, in plain letters; note
// becomes a comment.
func Row(icons []RowIcon, gap float64, title, note string) (svg []byte, width, height float64, err error) {
	picture := root{}
	var inside []byte
	for n, i := range icons {
		if n > 0 {
			picture.width += gap
		}
		named := hasNames(i.SVG)
		r, content, err := readRoot(i.SVG)
		if err == nil && named {
			r, content, err = apart(i.SVG, i.ID)
		}
		if err != nil {
			return nil, 0, 0, err
		}
		inside = append(inside, "\n<svg"...)
		if named {
			inside = append(inside, ` id="`+i.ID+`"`...)
		}
		inside = append(inside, ` `+place(Box{Left: picture.width, Width: r.width, Height: r.height})+`" viewBox="`+r.box.String()+`"`...)
		if r.stretched {
			inside = append(inside, rootFills...)
		}
		inside = append(inside, '>')
		inside = append(append(inside, content...), rootEnd...)
		picture.width += r.width
		picture.height = max(picture.height, r.height)
		picture.xlink = picture.xlink || r.xlink
	}
	out := append(make([]byte, 0, len(inside)+len(note)+256), rootStart...)
	if picture.xlink {
		out = append(out, rootXlink...)
	}
	picture.box = Box{Width: picture.width, Height: picture.height}
	out = append(out, ` width="`+viewbox.Number(picture.width)+`" height="`+viewbox.Number(picture.height)+
		`" viewBox="`+picture.box.String()+`" role="img"><title>`+title+"</title>\n<!--\n"+Comment(note)+"\n-->"...)
	out = append(append(out, inside...), "\n"+rootEnd...)
	return out, picture.width, picture.height, nil
}

// Comment returns text as the content of an XML comment, which must have neither two hyphens in
// succession nor one at its end, and no control characters (XML 1.0, section 2.5).
func Comment(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' || r == 0xfffe || r == 0xffff {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	for strings.Contains(text, "--") {
		text = strings.ReplaceAll(text, "--", "- -")
	}
	if strings.HasSuffix(text, "-") {
		text += " "
	}
	return text
}
