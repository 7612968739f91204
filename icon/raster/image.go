package raster

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/draw"
	_ "image/gif"  // a format of image elements
	_ "image/jpeg" // a format of image elements
	_ "image/png"  // a format of image elements
	"math"
	"strings"

	_ "golang.org/x/image/webp" // a format of image elements
)

// A picture is the paint of an image element.
type picture struct {
	pixels
	inverse matrix // from pixels of the image to those of the picture
}

func (i *picture) row(out [][4]uint8, p point) {
	for k := range out {
		out[k] = i.sample(apply(i.inverse, point{p.x + float64(k), p.y}), clamped)
	}
}

func (i *picture) cost() int { return 40 }

// image draws an image element. It draws nothing for a reference to nothing.
func (d *drawer) image(p place, n *node) error {
	img, port, err := d.pictureOf(p, n)
	if err != nil || p.style.hidden || port.w <= 0 || port.h <= 0 {
		return err
	}
	own := size{float64(img.w), float64(img.h)}
	m := fit(box{0, 0, own.w, own.h}, port, n.attr("preserveAspectRatio"))
	seen := box{m[4], m[5], own.w * m[0], own.h * m[3]}.intersect(port)
	m = p.m.Of(m)
	img.nearest = p.style.pixelated
	for !img.nearest && math.Sqrt(math.Abs(m[0]*m[3]-m[1]*m[2])) < 0.6 && min(img.w, img.h) > 1 {
		before := img
		img = img.half()
		m = m.Of(matrix{float64(before.w) / float64(img.w), 0, 0, float64(before.h) / float64(img.h), 0, 0})
	}
	back, ok := inverse(m)
	if !ok {
		return nil
	}
	return d.fill(p, seen.path(), &paint{shader: &picture{img, back}})
}

// pictureOf returns the picture of an image element, and where it is shown. Without a reference, it
// is shown nowhere.
func (d *drawer) pictureOf(p place, n *node) (img pixels, port box, err error) {
	href := n.attr("href")
	if href == "" {
		return img, port, nil
	}
	if img, err = d.decode(href); err != nil {
		return img, port, err
	}
	s, own := p.style, size{float64(img.w), float64(img.h)}
	w, okW := s.readLength(s.value(n, "width"), p.view.w)
	h, okH := s.readLength(s.value(n, "height"), p.view.h)
	switch {
	case !okW && !okH:
		w, h = own.w, own.h
	case !okW:
		w = h * own.w / own.h
	case !okH:
		h = w * own.h / own.w
	}
	port = box{s.length(s.value(n, "x"), p.view.w, 0), s.length(s.value(n, "y"), p.view.h, 0), w, h}
	if !(w > 0 && h > 0) || !(point{w, h}.sane()) {
		port = box{}
	}
	return img, port, nil
}

func (b box) intersect(c box) box {
	x, y := max(b.x, c.x), max(b.y, c.y)
	return box{x, y, min(b.x+b.w, c.x+c.w) - x, min(b.y+b.h, c.y+c.h) - y}
}

// decode reads the picture in a data: URL, of which an animation shows the first frame.
func (d *drawer) decode(href string) (pixels, error) {
	head, code, _ := strings.Cut(href, ",")
	if !strings.HasPrefix(head, "data:image/") || !strings.HasSuffix(head, ";base64") {
		return pixels{}, unsupported("an image that is no data: URL of a PNG, JPEG, GIF or WebP")
	}
	data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(code), ""))
	if err != nil {
		return pixels{}, unsupported("an image that can't be read")
	}
	c, _, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil || c.Width < 1 || c.Height < 1 {
		return pixels{}, unsupported("an image that can't be read")
	}
	if c.Width > 1<<14 || c.Height > 1<<14 {
		return pixels{}, ErrTooComplex
	}
	// A progressive JPEG goes through all its pixels for each scan, which needs few bytes.
	scans := 1 + bytes.Count(data, []byte{0xff, 0xda})
	if err := d.pay(8 * c.Width * c.Height * scans); err != nil {
		return pixels{}, err
	}
	img, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return pixels{}, unsupported("an image that can't be read")
	}
	out := image.NewRGBA(image.Rect(0, 0, c.Width, c.Height)) // a frame of a GIF may be smaller
	draw.Draw(out, img.Bounds(), img, img.Bounds().Min, draw.Src)
	return pixels{pix: out.Pix, w: c.Width, h: c.Height}, nil
}
