package icon

import (
	"fmt"
	"strconv"
	"strings"
)

// Limits and defaults of a row: several icons in one picture, beside each other.
const (
	MaxRow      = 50      // icons
	DefaultRow  = 48      // the height in pixels
	MaxRowBytes = 1 << 20 // of its icons as SVG, together
	MaxRowSide  = 8192    // pixels, of a row as PNG
	// MaxRowPixels is the largest number of pixels of a row as PNG: as many as of one icon.
	MaxRowPixels = MaxPictureSide * MaxPictureSide
)

// RowParams are the parameters of a row as SVG or PNG, except release.
var RowParams = append([]string{"icons", "gap", "color", "dark", "size"}, pictureStyle...)

// A Row is the canonical form of a request for several icons in one picture. Each of them is as at
// its own address with the same parameters.
type Row struct {
	Refs []Ref // in their order; an icon may be there more than once
	Gap  int   // between two icons, in pixels
	Picture
}

// ParseRow reads the parameters of a row as SVG.
func ParseRow(p Params) (r Row, err error) {
	if r.Refs, err = parseRowIcons(p); err != nil {
		return Row{}, err
	}
	if r.Height, err = p.Int("size", 1, MaxSize, DefaultRow); err != nil {
		return Row{}, err
	}
	if r.Gap, err = p.Int("gap", 0, MaxSize, r.defaultGap()); err != nil {
		return Row{}, err
	}
	if r.Color, err = ParamCSSColor(p); err != nil {
		return Row{}, err
	}
	if r.Dark, err = paramDark(p); err != nil {
		return Row{}, err
	}
	if r.Style, err = ParseStyle(p); err != nil {
		return Row{}, err
	}
	if r.Frame, err = ParseFrame(p); err != nil {
		return Row{}, err
	}
	return r, r.Frame.Check(0, float64(r.Height))
}

// ParseRowPicture reads the parameters of a row as PNG.
func ParseRowPicture(p Params) (Row, error) {
	if err := refuseDark(p); err != nil {
		return Row{}, err
	}
	if _, err := p.Int("size", 1, MaxPicture, DefaultRow); err != nil {
		return Row{}, err
	}
	return ParseRow(p)
}

// parseRowIcons reads the names of icons, with commas between them, and perhaps spaces.
func parseRowIcons(p Params) ([]Ref, error) {
	s, given := p["icons"]
	if !given || strings.TrimSpace(s) == "" {
		return nil, &ParamError{"icons", "icons is required: names of icons of the form pack:name, with commas between them"}
	}
	if n := strings.Count(s, ",") + 1; n > MaxRow {
		return nil, &ParamError{"icons", fmt.Sprintf("icons may name at most %d icons", MaxRow)}
	}
	var refs []Ref
	for name := range strings.SplitSeq(s, ",") {
		ref, err := ParseRef(strings.Replace(strings.TrimSpace(name), ":", "/", 1))
		if err != nil {
			return nil, &ParamError{"icons", fmt.Sprintf(
				"icons has no name of the form pack:name, such as mdi:home, at position %d", len(refs)+1)}
		}
		refs = append(refs, ref)
	}
	return refs, nil
}

// defaultGap returns a quarter of the height.
func (r Row) defaultGap() int { return r.Height / 4 }

// Query returns the canonical query of a row, which ParseRow reads back.
func (r Row) Query() string {
	var b strings.Builder
	b.WriteString("icons=")
	for i, ref := range r.Refs { // names of icons need no escapes in a query
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(ref.Pack + ":" + ref.Name)
	}
	v := r.Variant
	v.Height = 0
	if q := v.ColoredQuery(r.Color); q != "" {
		b.WriteString("&" + q)
	}
	if r.Gap != r.defaultGap() {
		b.WriteString("&gap=" + strconv.Itoa(r.Gap))
	}
	if r.Height != DefaultRow {
		b.WriteString("&size=" + strconv.Itoa(r.Height))
	}
	return b.String()
}
