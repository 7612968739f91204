package icon

import "slices"

// Sizes of a picture in pixels.
const (
	DefaultPicture = 64   // the height, if a request names no size
	MaxPicture     = 1024 // the largest size, width or height that a request may name
	// MaxPictureSide is the largest side that may follow from the ratio of the icon.
	MaxPictureSide = 2 * MaxPicture
)

// PictureParams are the parameters of an icon in pixels. FaviconParams are those of an icon file,
// which has sizes of its own.
var (
	PictureParams = append([]string{"color", "dark", "size", "width", "height", "rotate", "flip"}, pictureStyle...)
	FaviconParams = append([]string{"color", "dark", "rotate", "flip"}, pictureStyle...)

	pictureStyle = append(slices.Clone(FrameParams), StyleParams...)
)

// A Picture is the canonical form of a request for an icon in pixels. Unlike an SVG it is made in
// the colour that the request names.
type Picture struct {
	Variant
	Color Color
}

// ParsePicture reads the parameters of a PNG: those of ParseVariant up to MaxPicture, and a colour,
// by ParamColor or ParamCSSColor.
func ParsePicture(p Params, color func(Params) (Color, error)) (Picture, error) {
	for _, name := range []string{"size", "width", "height"} {
		if _, err := p.Int(name, 1, MaxPicture, 0); err != nil {
			return Picture{}, err
		}
	}
	d, err := parsePicture(p, color)
	if err == nil && d.Width == 0 && d.Height == 0 {
		d.Height = DefaultPicture
	}
	if err == nil {
		err = d.Frame.Check(float64(d.Width), float64(d.Height))
	}
	return d, err
}

// faviconSize is the size for which padding and radius of an icon file count.
const faviconSize = 48

// FaviconSizes are the sizes of the pictures in an icon file.
var FaviconSizes = []int{16, 32, faviconSize}

// ParseFavicon reads the parameters of an icon file. Its pictures are squares. padding and radius
// are pixels of the largest one.
func ParseFavicon(p Params) (Picture, error) {
	d, err := parsePicture(p, ParamCSSColor)
	if err != nil {
		return Picture{}, err
	}
	d.Width, d.Height = faviconSize, faviconSize
	return d, d.Frame.Check(faviconSize, faviconSize)
}

func parsePicture(p Params, color func(Params) (Color, error)) (d Picture, err error) {
	if err := refuseDark(p); err != nil {
		return Picture{}, err
	}
	if d.Color, err = color(p); err != nil {
		return Picture{}, err
	}
	d.Variant, err = ParseVariant(p)
	return d, err
}

// refuseDark refuses a colour for dark pages. A picture that ignored it could be invisible on them,
// and nothing would say why.
func refuseDark(p Params) error {
	if _, given := p["dark"]; !given {
		return nil
	}
	return &ParamError{"dark", "pixels have the same colour on light and dark pages: dark is for the .svg address; " +
		"in HTML, <picture> can choose between two pictures"}
}

// Query returns the canonical query of a PNG, which ParsePicture reads back.
func (d Picture) Query() string {
	v := d.Variant
	if v.Width == 0 && v.Height == DefaultPicture {
		v.Height = 0
	}
	return v.ColoredQuery(d.Color)
}

// FaviconQuery returns the canonical query of an icon file, which ParseFavicon reads back.
func (d Picture) FaviconQuery() string {
	v := d.Variant
	v.Width, v.Height = 0, 0
	return v.ColoredQuery(d.Color)
}

// Values of the parameter format.
const (
	FormatJSON = "json"
	FormatSVG  = "svg"
	FormatPNG  = "png"
)

// ParamFormat reads the parameter format of the API. It returns FormatJSON if it is absent.
func ParamFormat(p Params) (string, error) {
	switch f, given := p["format"]; {
	case !given:
		return FormatJSON, nil
	case f == FormatJSON, f == FormatSVG, f == FormatPNG:
		return f, nil
	}
	return "", &ParamError{"format", "format must be json, svg or png"}
}
