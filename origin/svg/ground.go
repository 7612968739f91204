package svg

import (
	"fmt"
	"strconv"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/icon/viewbox"
)

// frame puts a frame around the inside of an icon, in a picture of the same size: the viewBox grows
// by the padding, and the background lies behind everything. The icon becomes a nested svg element,
// which keeps the meaning of its percentages and cuts off shapes beyond its edges. The error says
// that the padding leaves no room.
func (r *root) frame(inside []byte, f icon.Frame) ([]byte, error) {
	if f == (icon.Frame{}) {
		return inside, nil
	}
	if err := f.Check(r.width, r.height); err != nil {
		return nil, err
	}
	b, padding := r.box, 2*float64(f.Padding)
	// A pixel has so many units of the viewBox.
	unit := max(b.Width/(r.width-padding), b.Height/(r.height-padding))
	r.box = Box{Width: r.width * unit, Height: r.height * unit}
	r.box.Left, r.box.Top = b.Left+(b.Width-r.box.Width)/2, b.Top+(b.Height-r.box.Height)/2
	var out []byte
	if f.Background != "" {
		out = append(out, `<rect `+place(r.box)+`"`...)
		if f.Radius != 0 {
			out = append(out, ` rx="`+viewbox.Number(float64(f.Radius)*unit)+`"`...)
		}
		out = append(out, groundFill(f.Background)+`/>`...)
	}
	inner := b
	if r.stretched {
		edge := float64(f.Padding) * unit
		inner = Box{Left: r.box.Left + edge, Top: r.box.Top + edge, Width: r.box.Width - 2*edge, Height: r.box.Height - 2*edge}
	}
	out = append(out, `<svg `+place(inner)+`" viewBox="`+b.String()+`"`...)
	if r.stretched {
		out = append(out, rootFills...)
		r.stretched = false // the frame has the ratio of the picture
	}
	out = append(out, '>')
	return append(append(out, inside...), rootEnd...), nil
}

// place returns the attributes of the place and size of a box, without the last quotation mark.
func place(b Box) string {
	return `x="` + viewbox.Number(b.Left) + `" y="` + viewbox.Number(b.Top) + `" width="` +
		viewbox.Number(b.Width) + `" height="` + viewbox.Number(b.Height)
}

// groundFill returns the attributes of a fill. It is written unlike the colour of an icon, which an
// edge replaces wherever it occurs.
func groundFill(c icon.Color) string {
	p, _ := icon.ReadColor(string(c))
	s := fmt.Sprintf(` fill="rgb(%d,%d,%d)"`, p.R, p.G, p.B)
	if p.A != 255 {
		s += ` fill-opacity="` + strconv.FormatFloat(float64(p.A)/255, 'f', 3, 64) + `"`
	}
	return s
}
