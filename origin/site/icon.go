package site

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"math"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/internal/problem"
	"github.com/iconedge/iconedge/origin/catalog"
	"github.com/iconedge/iconedge/origin/search"
	"github.com/iconedge/iconedge/origin/svg"
)

type iconView struct {
	frame
	Ref        icon.Ref
	Pack       *icon.Pack
	Monochrome bool
	Color      icon.Color // of a monochrome icon; empty: that of the text
	AliasOf    string
	Tags       []string
	Categories []string
	Width      float64 // of the icon with the customisation, in pixels
	Height     float64
	Own        [2]float64 // width and height of the icon as published
	Stroke     float64    // width of all strokes; 0: they have not one
	TwoTone    bool
	Custom     customisation
	Snippets   []snippet
	Near       []nearIcon
	JSON       imageObject
}

// Path returns the address of the icon on the page's own host, with the customisation.
func (v iconView) Path() string { return "/" + v.Ref.String() + ".svg" + v.Custom.String() }

// A pictureLink leads to the icon as PNG, in pixels of its height.
type pictureLink struct {
	Size       int
	Path, File string
}

// pictureSizes are the usual ones: of e-mail, documents, messengers and previews.
var pictureSizes = []int{32, 64, 128, 256, 512, icon.MaxPicture}

// Pictures returns the links to the icon in pixels, with the customisation but its size. The frame
// grows with the picture.
func (v iconView) Pictures() (list []pictureLink) {
	for _, size := range pictureSizes {
		if v.Width*float64(size) > v.Height*icon.MaxPictureSide {
			break // it would be too wide
		}
		list = append(list, v.picture(size))
	}
	return list
}

// picture returns the link to the icon in pixels, so many high.
func (v iconView) picture(size int) pictureLink {
	c := v.Custom
	c.Size, c.Frame = size, scaled(c.Frame, float64(size)/v.Height, float64(size)*min(1, v.Width/v.Height))
	return pictureLink{size, "/" + v.Ref.String() + ".png" + c.String(), fmt.Sprintf("%s-%s-%d.png", v.Ref.Pack, v.Ref.Name, size)}
}

// scaled returns a frame for a picture that is larger by a factor, and whose smaller side has so
// many pixels. Whole pixels of padding leave room for the icon.
func scaled(f icon.Frame, factor, side float64) icon.Frame {
	f.Padding = min(int(math.Round(float64(f.Padding)*factor)), int(math.Ceil(side/2))-1)
	f.Radius = min(int(math.Round(float64(f.Radius)*factor)), icon.MaxSize/2)
	return f
}

// Address returns the address of the icon on the CDN, with the customisation.
func (v iconView) Address() string { return v.CDN + v.Path() }

// Class returns the class of the preview. An icon with a colour of its own is shown in it.
func (v iconView) Class() string {
	if v.Custom.Color+v.Custom.Secondary+v.Custom.Background != "" {
		return "k"
	}
	return v.OwnClass()
}

// OwnClass returns the class of the preview without a chosen colour.
func (v iconView) OwnClass() string { return lookOf(v.Monochrome, v.Color).class() }

// OwnHeight returns the height of the icon without a chosen size, but turned as chosen.
func (v iconView) OwnHeight() float64 { return v.Own[1-v.Custom.Rotate/90%2] }

// Text reports whether the icon has the colour of the text.
func (v iconView) Text() bool { return v.Monochrome && v.Color == "" }

// Credited reports whether the licence requires a credit where the icon is shown.
func (v iconView) Credited() bool { return credited(v.Pack.License) }

// A customisation is the variant of an icon that a page shows.
type customisation struct {
	Color  icon.Color
	Size   int // 0: the icon's own
	Rotate int // degrees
	Flip   string
	icon.Style
	icon.Frame
}

// parseCustomisation reads the parameters of an icon's page. It returns the variant for package svg
// too.
func parseCustomisation(p icon.Params) (c customisation, v icon.Variant, err error) {
	for _, name := range icon.PageParams {
		one := icon.Params{}
		if value, given := p[name]; given {
			one[name] = value
		}
		if _, err := icon.ParamColor(one); err != nil {
			return c, v, wrong(name, err)
		}
		if _, err := icon.ParseVariant(one); err != nil {
			return c, v, wrong(name, err)
		}
	}
	if c.Color, err = icon.ParamColor(p); err != nil {
		return c, v, err
	}
	// Each parameter is right by itself, but the padding may leave no room at the size.
	if v, err = icon.ParseVariant(p); err != nil {
		return c, v, wrong("padding", err)
	}
	c.Size, c.Rotate, c.Style, c.Frame = v.Height, 90*v.Rotate, v.Style, v.Frame
	switch {
	case v.HFlip:
		c.Flip = "horizontal"
	case v.VFlip:
		c.Flip = "vertical"
	}
	return c, v, nil
}

// String returns the query of the customisation in the edge's canonical spelling, in the order of
// the form.
func (c customisation) String() string {
	var q query
	q.add("color", string(c.Color))
	q.addNumber("size", c.Size)
	q.addNumber("rotate", c.Rotate)
	q.add("flip", c.Flip)
	if c.Stroke > 0 {
		q.add("stroke", icon.StrokeText(c.Stroke))
	}
	q.add("secondary", string(c.Secondary))
	q.add("background", string(c.Background))
	q.addNumber("padding", c.Padding)
	q.addNumber("radius", c.Radius)
	return q.String()
}

// An imageObject describes an icon for search engines (schema.org).
type imageObject struct {
	Context     string `json:"@context"`
	Type        string `json:"@type"`
	Name        string `json:"name"`
	ContentURL  string `json:"contentUrl"`
	License     string `json:"license"`
	Credit      string `json:"creditText"`
	AcquirePage string `json:"acquireLicensePage"`
}

// icon renders the page of an icon.
func (s *Site) icon(ctx context.Context, q *Request) (*Page, error) {
	custom, variant, err := parseCustomisation(q.Params)
	if err != nil {
		return nil, err
	}
	ic, err := findIcon(ctx, q.Release, q.Ref)
	if err != nil {
		return nil, err
	}
	plain, err := ic.SVG()
	if err != nil {
		return nil, err
	}
	meta := ic.Meta()
	custom.Style = custom.Style.Of(meta.Stroke, meta.TwoTone)
	if plain, err = svg.Restyle(plain, meta.Stroke, custom.Style); err != nil {
		return nil, fmt.Errorf("styling %s: %w", ic.Ref, err)
	}
	_, ownWidth, ownHeight, err := svg.Transform(plain, icon.Variant{})
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", ic.Ref, err)
	}
	image, width, height, err := svg.Transform(plain, variant)
	if _, small := errors.AsType[*icon.ParamError](err); small {
		return nil, wrong("padding", err)
	}
	if err != nil {
		return nil, fmt.Errorf("transforming %s: %w", ic.Ref, err)
	}
	if !ic.Monochrome {
		custom.Color = ""
	}
	if custom.Color != "" {
		image = icon.Recolour(image, custom.Color)
	}
	target := ic.Ref
	if meta.AliasOf != "" {
		target.Name = meta.AliasOf
	}
	v := iconView{
		Ref: ic.Ref, Pack: ic.Pack.Pack, Monochrome: ic.Monochrome, Color: meta.Color, AliasOf: meta.AliasOf,
		Stroke: meta.Stroke, TwoTone: meta.TwoTone, Tags: meta.Tags, Categories: meta.Categories,
		Width: width, Height: height, Own: [2]float64{ownWidth, ownHeight}, Custom: custom,
	}
	v.frame = s.frame(ic.Ref.Name+" · "+ic.Pack.Name+" · iconedge",
		fmt.Sprintf("The icon %s of %s, licence %s: its address, code, SVG and PNG.", ic.Ref.Name, ic.Pack.Name,
			ic.Pack.License), "/icon/"+target.String())
	v.Snippets = snippets(v, image)
	v.Near = s.near(ctx, q, ic)
	v.JSON = imageObject{"https://schema.org/", "ImageObject", ic.Ref.Name, s.cdn + "/" + ic.Ref.String() + ".svg",
		ic.Pack.LicenseURL, ic.Pack.Attribution, v.Canonical}
	page, err := s.render("icon", v, icon.LibraryKey, "icon/"+ic.Ref.String(), "pack/"+ic.Ref.Pack)
	return page, err
}

// findIcon finds an icon. Its error says whether the pack or the icon does not exist, with close
// names.
func findIcon(ctx context.Context, r *catalog.Release, ref icon.Ref) (catalog.Icon, error) {
	ic, err := r.Icon(ctx, ref)
	switch {
	case errors.Is(err, catalog.ErrWithdrawn):
		return ic, withdrawn(ctx, r, ref)
	case errors.Is(err, catalog.ErrNoPack):
		return ic, noPack(r, ref.Pack)
	case errors.Is(err, catalog.ErrNoIcon):
		p, _ := r.Pack(ref.Pack)
		return ic, problem.NotFound("the pack has no such icon", prefixed("/icon/"+ref.Pack+"/", p.Near(ctx, ref.Name))...)
	}
	return ic, err
}

// A nearIcon is a similar icon, whose SVG is a part of the page: the page of an icon makes no
// further requests for images, and a browser takes much longer for an image with a data URI, of
// which it makes a document.
type nearIcon struct {
	picture
	SVG template.HTML
}

const (
	nearIcons = 8
	maxNear   = 700  // bytes of an icon that is shown inside a page
	allNear   = 2800 // bytes of all of them: a page may weigh 7 kB compressed
)

// element returns the icon of a list as an element of a page, in the colour of the text.
func (d inlined) element() template.HTML {
	return template.HTML(fmt.Sprintf(`<svg viewBox="%s" width="32" height="32" fill="currentColor" aria-hidden="true">%s</svg>`,
		d.viewBox, d.inside))
}

// near returns icons of other packs that are similar to an icon: small ones of one colour, so that
// the page stays light.
func (s *Site) near(ctx context.Context, q *Request, of catalog.Icon) (list []nearIcon) {
	hits, _ := q.Index.Search(search.Query{Similar: of.Ref, Limit: 5 * nearIcons})
	packs, left := map[string]bool{of.Ref.Pack: true}, allNear
	for _, h := range hits {
		if len(list) == nearIcons {
			break
		}
		if packs[h.Ref.Pack] || !h.Monochrome || h.Own {
			continue
		}
		ic, err := q.Release.Icon(ctx, h.Ref)
		if err != nil {
			continue
		}
		image, err := ic.SVG()
		if err != nil {
			continue
		}
		if d, ok := inline(image, min(maxNear, left), ""); ok && !d.painted {
			packs[h.Ref.Pack] = true
			left -= len(d.inside)
			list = append(list, nearIcon{pictureOf(q.Release, h.Ref, text), d.element()})
		}
	}
	return list
}
