package icon

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// MaxSize is the largest width or height that a request may name, in pixels; the smallest is 1.
const MaxSize = 4096

// VariantParams are the parameters that choose the variant of an icon, on the CDN path and in the
// API.
var VariantParams = append([]string{"color", "dark", "size", "width", "height", "rotate", "flip", "id"}, pictureStyle...)

// CDNParams are the parameters of the CDN path except release. The path takes the values of
// VariantParams and those that Iconify's SVG address takes.
var CDNParams = append(slices.Clone(VariantParams), "box", "download")

// A Variant is the canonical form of a request's size, rotation, flip, frame and style. The zero
// Variant is the icon as published.
type Variant struct {
	Width, Height int  // in pixels; 0: the icon's own size, or the one that the ratio gives
	Rotate        int  // quarter turns clockwise, 0 to 3
	HFlip, VFlip  bool // never both: that is half a turn
	Frame
	Style

	// WidthText and HeightText are attributes in Iconify's spelling: a number with or without a CSS
	// unit, auto or none. Width and Height are then 0.
	WidthText, HeightText string
	Box                   bool // a transparent rectangle in front, of the size of the viewBox
	Download              bool // as a file to save

	ID string // a prefix of the ids within, for a page with several icons; empty: none

	// Dark is the colour of a monochrome icon where the reader prefers dark pages; empty: that of
	// light ones.
	Dark Color
}

// maxID is the number of bytes of the longest prefix of ids.
const maxID = 64

// ParseVariant reads size, width, height, rotate, flip, id, the frame and the style. Requests for
// the same image give the same Variant: size is the height, and both flips are half a turn.
func ParseVariant(p Params) (v Variant, err error) {
	if _, given := p["size"]; given {
		for _, other := range []string{"width", "height"} {
			if _, both := p[other]; both {
				return v, &ParamError{"size", "size sets the height and the width follows: give size, or width and height"}
			}
		}
	}
	if v.Height, err = p.Int("size", 1, MaxSize, 0); err != nil {
		return Variant{}, err
	}
	if _, given := p["size"]; !given {
		if v.Height, err = p.Int("height", 1, MaxSize, 0); err != nil {
			return Variant{}, err
		}
	}
	if v.Width, err = p.Int("width", 1, MaxSize, 0); err != nil {
		return Variant{}, err
	}
	if s, given := p["rotate"]; given {
		switch s {
		case "90", "1":
			v.Rotate = 1
		case "180", "2":
			v.Rotate = 2
		case "270", "3", "-90":
			v.Rotate = 3
		default:
			return Variant{}, &ParamError{"rotate", "rotate must be 90, 180, 270 or -90 (degrees), or 1, 2 or 3 (quarter turns)"}
		}
	}
	if v.ID, err = paramID(p); err != nil {
		return Variant{}, err
	}
	if v.Dark, err = paramDark(p); err != nil {
		return Variant{}, err
	}
	if s, given := p["flip"]; given {
		for _, f := range strings.Split(s, ",") {
			switch {
			case f == "horizontal" && !v.HFlip:
				v.HFlip = true
			case f == "vertical" && !v.VFlip:
				v.VFlip = true
			default:
				return Variant{}, &ParamError{"flip", "flip must be horizontal, vertical, or both with a comma between them"}
			}
		}
	}
	if v.Style, err = ParseStyle(p); err != nil {
		return Variant{}, err
	}
	if v.Frame, err = ParseFrame(p); err != nil {
		return Variant{}, err
	}
	if err := v.Frame.Check(float64(v.Width), float64(v.Height)); err != nil {
		return Variant{}, err
	}
	return v.canonical(), nil
}

// paramID reads the prefix of ids. Its characters need no escaping in an address, in an attribute
// and after the # of a reference.
func paramID(p Params) (string, error) {
	s, given := p["id"]
	const allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
	if given && (s == "" || len(s) > maxID || strings.Trim(s, allowed) != "") {
		return "", &ParamError{"id", "id must be a prefix for the ids within the icon: 1 to 64 letters, digits, hyphens and underscores"}
	}
	return s, nil
}

// paramDark reads the colour for dark pages. It returns "" if the parameter is absent.
func paramDark(p Params) (Color, error) {
	s, given := p["dark"]
	if !given {
		return "", nil
	}
	c, ok := CSSColor(s)
	if !ok {
		return "", &ParamError{"dark", "dark must be a CSS color, such as fff or white: that of the icon on dark pages"}
	}
	return c, nil
}

func (v Variant) canonical() Variant {
	if v.HFlip && v.VFlip {
		v.HFlip, v.VFlip, v.Rotate = false, false, (v.Rotate+2)%4
	}
	return v
}

// Plain reports whether v is the icon as published.
func (v Variant) Plain() bool { return v == Variant{} }

// Query returns the canonical query of v without a question mark, which ParseVariant reads back. It
// is empty for the zero Variant.
func (v Variant) Query() string {
	var parts []string
	add := func(name, value string) { parts = append(parts, name+"="+value) }
	side := func(name string, pixels int, text string) {
		switch {
		case pixels != 0:
			add(name, strconv.Itoa(pixels))
		case text != "":
			add(name, url.QueryEscape(text))
		}
	}
	if v.Background != "" {
		add("background", "%23"+string(v.Background[1:]))
	}
	if v.Box {
		add("box", "1")
	}
	if v.Dark != "" {
		add("dark", "%23"+string(v.Dark[1:]))
	}
	if v.Download {
		add("download", "1")
	}
	switch {
	case v.HFlip:
		add("flip", "horizontal")
	case v.VFlip:
		add("flip", "vertical")
	}
	side("height", v.Height, v.HeightText)
	if v.ID != "" {
		add("id", v.ID)
	}
	if v.Padding != 0 {
		add("padding", strconv.Itoa(v.Padding))
	}
	if v.Radius != 0 {
		add("radius", strconv.Itoa(v.Radius))
	}
	if v.Rotate != 0 {
		add("rotate", strconv.Itoa(90*v.Rotate))
	}
	if v.Secondary != "" {
		add("secondary", "%23"+string(v.Secondary[1:]))
	}
	if v.Stroke != 0 {
		add("stroke", StrokeText(v.Stroke))
	}
	side("width", v.Width, v.WidthText)
	return strings.Join(parts, "&")
}

// ColoredQuery returns the canonical query of v in a colour, for a form that the origin colours.
func (v Variant) ColoredQuery(c Color) string {
	q := v.Query()
	switch {
	case c == "":
		return q
	case q == "":
		return "color=%23" + string(c[1:])
	}
	return "color=%23" + string(c[1:]) + "&" + q
}

// ParamColor reads the color parameter. It returns "" if the parameter is absent.
func ParamColor(p Params) (Color, error) {
	s, given := p["color"]
	if !given {
		return "", nil
	}
	c, err := ParseColor(s)
	if err != nil {
		return "", &ParamError{"color", err.Error()}
	}
	return c, nil
}
