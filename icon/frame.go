package icon

import "fmt"

// FrameParams are the parameters of a Frame.
var FrameParams = []string{"background", "padding", "radius"}

// PageParams are the parameters of the page of an icon, in the order of its form.
var PageParams = append([]string{"color", "size", "rotate", "flip", "stroke", "secondary"}, FrameParams...)

// A Frame surrounds an icon with a coloured ground, space at each side, and round corners of the
// ground, in a picture of the same size. The zero Frame adds nothing.
type Frame struct {
	Background Color
	Padding    int // pixels at each side
	Radius     int // of the corners, in pixels
}

// ParseFrame reads background, padding and radius. Without a background there are no corners.
func ParseFrame(p Params) (f Frame, err error) {
	if s, given := p["background"]; given {
		var ok bool
		if f.Background, ok = CSSColor(s); !ok {
			return Frame{}, &ParamError{"background", "background must be a CSS color, such as fff or white"}
		}
	}
	if f.Padding, err = p.Int("padding", 0, MaxSize/2, 0); err != nil {
		return Frame{}, err
	}
	if f.Radius, err = p.Int("radius", 0, MaxSize/2, 0); err != nil {
		return Frame{}, err
	}
	if f.Background == "" {
		f.Radius = 0
	}
	return f, nil
}

// Check returns an error if the padding leaves no room for an icon in a picture of that size in
// pixels; 0: that side is not known.
func (f Frame) Check(width, height float64) error {
	for _, side := range []float64{width, height} {
		if side > 0 && float64(2*f.Padding) >= side {
			return &ParamError{"padding", fmt.Sprintf("padding must be less than half of the size, %v pixels here", side/2)}
		}
	}
	return nil
}
