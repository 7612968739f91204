package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/icon/scheme"
	"github.com/iconedge/iconedge/internal/problem"
	"github.com/iconedge/iconedge/origin/catalog"
	"github.com/iconedge/iconedge/origin/svg"
)

// policy lets an SVG that a browser opens as a page apply its own styles, and do nothing else.
const policy = "default-src 'none'; style-src 'unsafe-inline'; sandbox"

// cdn answers GET /{pack}/{name}.svg.
func (a *API) cdn(_ http.ResponseWriter, c *call) (*answer, error) {
	d, err := parseCDNVariant(c.params)
	if err != nil {
		return nil, err
	}
	return a.released(c, func(ic catalog.Icon) (*answer, error) { return a.svgAnswer(ic, d) })
}

// released answers with the icon of the release that the call names, or of the current one.
func (a *API) released(c *call, answerWith func(catalog.Icon) (*answer, error)) (*answer, error) {
	ic, err := a.find(c, c.route.ref)
	if err != nil {
		return nil, err
	}
	ans, err := answerWith(ic)
	if err == nil {
		ans.cacheControl = a.lifetime(c)
	}
	return ans, err
}

// lifetime returns the Cache-Control of icons: those of a release that the call names never change.
func (a *API) lifetime(c *call) string {
	if _, pinned := c.params["release"]; pinned {
		return forever
	}
	return a.CacheControl
}

// find finds an icon of the release that the call names, or of the current one.
func (a *API) find(c *call, ref icon.Ref) (catalog.Icon, error) {
	if id, pinned := c.params["release"]; pinned {
		return a.pinned(c, id, ref)
	}
	return findIcon(c.Context(), c.release, ref)
}

// icon answers GET /api/v1/icon/{pack}/{name}.
func (a *API) icon(_ http.ResponseWriter, c *call) (*answer, error) {
	form, err := icon.ParamFormat(c.params)
	if err != nil {
		return nil, err
	}
	if form == icon.FormatPNG {
		d, err := icon.ParsePicture(c.params, icon.ParamColor)
		if err != nil {
			return nil, err
		}
		ic, err := findIcon(c.Context(), c.release, c.route.ref)
		if err != nil {
			return nil, err
		}
		return a.pngAnswer(c.Context(), ic, d)
	}
	d, err := parseVariant(c.params)
	if err != nil {
		return nil, err
	}
	ic, err := findIcon(c.Context(), c.release, c.route.ref)
	if err != nil {
		return nil, err
	}
	if form == icon.FormatSVG {
		return a.svgAnswer(ic, d)
	}
	return a.described(ic, d)
}

// pinned finds the icon of one release. If the icon last changed in that release, pinned returns
// the current icon, which is the same, even if the store no longer has the release.
func (a *API) pinned(c *call, id string, ref icon.Ref) (catalog.Icon, error) {
	ic, err := findIcon(c.Context(), c.release, ref)
	if id == c.release.ID() || err == nil && id == ic.Changed.ID {
		return ic, err
	}
	if c.held != nil { // another icon of a row
		return findIcon(c.Context(), c.held, ref)
	}
	kept, err := a.Catalog.Stored(c.Context(), id)
	switch {
	case errors.Is(err, catalog.ErrNoRelease):
		return catalog.Icon{}, problem.NotFound(
			"no release with this id is stored; without the release parameter you get the current icon").Because(err)
	case err != nil:
		return catalog.Icon{}, unavailable(err)
	}
	c.held = kept
	return findIcon(c.Context(), kept, ref)
}

func unavailable(err error) error {
	return problem.New(http.StatusServiceUnavailable,
		"the releases can't be read at the moment").Because(err).With("Retry-After", retryAfter)
}

// findIcon finds an icon. Its error says whether the pack or the icon does not exist.
func findIcon(ctx context.Context, r *catalog.Release, ref icon.Ref) (catalog.Icon, error) {
	ic, err := r.Icon(ctx, ref)
	switch {
	case errors.Is(err, catalog.ErrWithdrawn):
		return ic, problem.Withdrawn()
	case errors.Is(err, catalog.ErrNoPack):
		p := problem.From(noPack(r, ref.Pack))
		p.Suggestions = append(nearInCode(ctx, r, ref), p.Suggestions...)
		p.Suggestions = p.Suggestions[:min(len(p.Suggestions), icon.MaxNear)]
		return ic, p
	case errors.Is(err, catalog.ErrNoIcon):
		detail := icon.NoIcon
		if !icon.ValidKey(ref.Name) {
			detail = "the pack has no such icon: names have lower-case letters, digits and single hyphens"
		}
		p, _ := r.Pack(ref.Pack)
		near := p.Near(ctx, ref.Name)
		if len(near) == 0 {
			near = nearInCode(ctx, r, ref)
		}
		return ic, problem.NotFound(detail, near...)
	case err != nil:
		return ic, unavailable(err)
	}
	return ic, nil
}

// nearInCode returns the icons that a path means as code does; see scheme.Near.
func nearInCode(ctx context.Context, r *catalog.Release, ref icon.Ref) []string {
	isPack := func(key string) bool { _, known := r.Pack(key); return known }
	return scheme.Near(ref.Pack, ref.Name, isPack, func(ref icon.Ref) bool {
		ic, err := r.Icon(ctx, ref)
		return err == nil && !ic.Pack.Hidden && !ic.Meta().Hidden
	})
}

func noPack(r *catalog.Release, key string) error {
	if !icon.ValidKey(key) {
		return problem.NotFound("there is no such pack: keys have lower-case letters, digits and single hyphens")
	}
	return problem.NotFound(icon.NoPack, r.Near(key)...)
}

// A renderedIcon is the requested variant of an icon.
type renderedIcon struct {
	svg           []byte
	width, height float64
	recolored     bool
	// The request names a colour, or a width of strokes, that the icon can't have.
	uncolored, unstroked bool
}

func render(ic catalog.Icon, d requestedVariant) (s renderedIcon, err error) {
	plain, err := ic.SVG()
	if err != nil {
		return s, err
	}
	if plain, err = s.style(ic, plain, d.variant.Style); err != nil {
		return s, fmt.Errorf("styling %s: %w", ic.Ref, err)
	}
	s.recolored, s.uncolored = d.recolours() && ic.Monochrome, d.recolours() && !ic.Monochrome
	if s.recolored && d.variant.Dark != "" {
		if plain, err = svg.Darken(plain, d.color, d.variant.Dark); err != nil {
			return s, fmt.Errorf("colouring %s: %w", ic.Ref, err)
		}
	}
	s.svg, s.width, s.height, err = svg.Transform(plain, d.variant)
	if err != nil {
		return s, fmt.Errorf("transforming %s: %w", ic.Ref, err)
	}
	if s.recolored && d.variant.Dark == "" {
		s.svg = icon.Recolour(s.svg, d.color)
	}
	return s, nil
}

// style applies the parts of a style that the icon can have to the icon as published.
func (s *renderedIcon) style(ic catalog.Icon, plain []byte, style icon.Style) ([]byte, error) {
	if style == (icon.Style{}) {
		return plain, nil
	}
	m := ic.Meta()
	s.unstroked = style.Stroke != 0 && m.Stroke == 0
	return svg.Restyle(plain, m.Stroke, style.Of(m.Stroke, m.TwoTone))
}

// svgAnswer answers with the SVG.
func (a *API) svgAnswer(ic catalog.Icon, d requestedVariant) (*answer, error) {
	recolored := d.recolours() && ic.Monochrome
	var e *entity
	s := renderedIcon{uncolored: d.recolours() && !recolored}
	if d.variant.Plain() && !recolored {
		m, err := ic.Member()
		if err != nil {
			return nil, err
		}
		e = newStored(m)
	} else {
		var err error
		if s, err = render(ic, d); err != nil {
			return nil, err
		}
		e = newContent(typeSVG, s.svg)
	}
	ans := a.iconAnswer(ic, e)
	ans.header = append(ans.header, [2]string{"Content-Security-Policy", policy})
	if d.variant.Download {
		ans.header = append(ans.header, [2]string{"Content-Disposition", `attachment; filename="` + ic.Ref.Name + `.svg"`})
	}
	ans.describe(ic, s)
	return ans, nil
}

// describe adds the fields of an icon alone: its licence, and that it has colours of its own, or no
// strokes of one width, although the request names one.
func (ans *answer) describe(ic catalog.Icon, s renderedIcon) {
	if url := ic.Pack.LicenseURL; linkable(url) {
		ans.header = append(ans.header, [2]string{"Link", licenseLink(url)})
	}
	if s.uncolored {
		ans.header = append(ans.header, [2]string{"Icon-Recolored", "?0"})
	}
	if s.unstroked {
		ans.header = append(ans.header, [2]string{"Icon-Restroked", "?0"})
	}
}

// licenseLink returns the address of a licence as an element of a Link field.
func licenseLink(url string) string { return "<" + url + `>; rel="license"` }

// linkable reports whether the address of a licence can be between the angle brackets of a Link
// field (RFC 8288, section 3).
func linkable(url string) bool {
	return url != "" && !bytes.ContainsFunc([]byte(url),
		func(r rune) bool { return r <= ' ' || r > '~' || r == '<' || r == '>' || r == '"' })
}

// described answers with the SVG and its metadata, in JSON.
func (a *API) described(ic catalog.Icon, d requestedVariant) (*answer, error) {
	s, err := render(ic, d)
	if err != nil {
		return nil, err
	}
	p, m := ic.Pack, ic.Meta()
	return a.iconAnswer(ic, newEntity(icon.Answer{
		Pack: ic.Ref.Pack, Name: ic.Ref.Name, SVG: string(s.svg), License: p.License,
		Metadata: icon.Metadata{
			Width: s.width, Height: s.height, ViewBox: viewBox(s.svg), Monochrome: m.Monochrome, Color: orNull(m.Color),
			Stroke: orNull(m.Stroke), TwoTone: m.TwoTone, AliasOf: orNull(m.AliasOf),
			Categories: list(m.Categories), Tags: list(m.Tags), PackName: p.Name, License: p.LicenseOf(), CommercialUse: p.CommercialUse,
			Attribution: p.Attribution, URL: a.url(ic.Ref), Recolored: s.recolored, Release: ic.Changed.ID,
		},
	})), nil
}

// iconAnswer makes an answer with the fields that SVG and JSON have in common.
func (a *API) iconAnswer(ic catalog.Icon, e *entity) *answer {
	return &answer{
		entity: e, cacheControl: a.CacheControl, modified: ic.Changed.Created,
		surrogate: iconKeys(ic.Ref) + " release/" + ic.Changed.ID,
		header:    [][2]string{{icon.FieldMonochrome, icon.MonochromeField(ic.Monochrome, ic.Own)}},
	}
}

// url returns the address of an icon on the CDN.
func (a *API) url(ref icon.Ref) string { return a.CDNURL + "/" + ref.String() + ".svg" }

// viewBox reads the viewBox of an SVG from package svg, whose root element has a fixed form.
func viewBox(drawing []byte) string {
	_, rest, _ := bytes.Cut(drawing, []byte(` viewBox="`))
	box, _, _ := bytes.Cut(rest, []byte(`"`))
	return string(box)
}

// list returns s, or an empty list instead of null in JSON.
func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// orNull returns a pointer to v, or nil for the zero value, which is null in JSON.
func orNull[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
