package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/origin/catalog"
	"github.com/iconedge/iconedge/origin/svg"
	"github.com/iconedge/iconedge/problem"
)

// policy lets an SVG that a browser opens as a page apply its own styles, and do nothing else.
const policy = "default-src 'none'; style-src 'unsafe-inline'; sandbox"

// cdn answers GET /{pack}/{name}.svg.
func (a *API) cdn(_ http.ResponseWriter, c *call) (*answer, error) {
	d, err := parseCDNVariant(c.params)
	if err != nil {
		return nil, err
	}
	id, pinned := c.params["release"]
	if !pinned {
		ic, err := findIcon(c.Context(), c.release, c.route.ref)
		if err != nil {
			return nil, err
		}
		return a.svgAnswer(ic, d)
	}
	ic, err := a.pinned(c, id)
	if err != nil {
		return nil, err
	}
	ans, err := a.svgAnswer(ic, d)
	if err == nil {
		ans.cacheControl = forever
	}
	return ans, err
}

// icon answers GET /api/v1/icon/{pack}/{name}.
func (a *API) icon(_ http.ResponseWriter, c *call) (*answer, error) {
	svgOnly, err := format(c.params)
	if err != nil {
		return nil, err
	}
	d, err := parseVariant(c.params)
	if err != nil {
		return nil, err
	}
	ic, err := findIcon(c.Context(), c.release, c.route.ref)
	if err != nil {
		return nil, err
	}
	if svgOnly {
		return a.svgAnswer(ic, d)
	}
	return a.described(ic, d)
}

// pinned finds the icon of one release. If the icon last changed in that release, pinned returns
// the current icon, which is the same, even if the store no longer has the release.
func (a *API) pinned(c *call, id string) (catalog.Icon, error) {
	ic, err := findIcon(c.Context(), c.release, c.route.ref)
	if id == c.release.ID() || err == nil && id == ic.Changed.ID {
		return ic, err
	}
	kept, err := a.Catalog.Stored(c.Context(), id)
	switch {
	case errors.Is(err, catalog.ErrNoRelease):
		return catalog.Icon{}, problem.NotFound("no release with this id is stored; without the release parameter you get the current icon")
	case err != nil:
		return catalog.Icon{}, unavailable(err)
	}
	c.held = kept
	return findIcon(c.Context(), kept, c.route.ref)
}

func unavailable(err error) error {
	return problem.New(http.StatusServiceUnavailable, "the releases can't be read at the moment").Because(err).With("Retry-After", retryAfter)
}

// findIcon finds an icon. Its error says whether the pack or the icon does not exist.
func findIcon(ctx context.Context, r *catalog.Release, ref icon.Ref) (catalog.Icon, error) {
	ic, err := r.Icon(ctx, ref)
	switch {
	case errors.Is(err, catalog.ErrWithdrawn):
		return ic, problem.Withdrawn()
	case errors.Is(err, catalog.ErrNoPack):
		return ic, noPack(r, ref.Pack)
	case errors.Is(err, catalog.ErrNoIcon) && !icon.ValidKey(ref.Name):
		return ic, problem.NotFound("the pack has no such icon: names have lower-case letters, digits and single hyphens")
	case errors.Is(err, catalog.ErrNoIcon):
		p, _ := r.Pack(ref.Pack)
		return ic, problem.NotFound(icon.NoIcon, p.Near(ref.Name)...)
	case err != nil && r.Whole():
		return ic, err
	case err != nil:
		return ic, unavailable(err)
	}
	return ic, nil
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
}

func render(ic catalog.Icon, d requestedVariant) (s renderedIcon, err error) {
	plain, err := ic.SVG()
	if err != nil {
		return s, err
	}
	s.svg, s.width, s.height, err = svg.Transform(plain, d.variant)
	if err != nil {
		return s, fmt.Errorf("transforming %s: %w", ic.Ref, err)
	}
	if s.recolored = d.color != "" && ic.Monochrome; s.recolored {
		s.svg = icon.Recolour(s.svg, d.color)
	}
	return s, nil
}

// svgAnswer answers with the SVG.
func (a *API) svgAnswer(ic catalog.Icon, d requestedVariant) (*answer, error) {
	recolored := d.color != "" && ic.Monochrome
	var e *entity
	if d.variant.Plain() && !recolored {
		m, err := ic.Member()
		if err != nil {
			return nil, err
		}
		e = newStored(m)
	} else {
		s, err := render(ic, d)
		if err != nil {
			return nil, err
		}
		e = newContent(typeSVG, s.svg)
	}
	ans := a.iconAnswer(ic, e)
	ans.header = append(ans.header, [2]string{"Content-Security-Policy", policy})
	if url := ic.Pack.LicenseURL; linkable(url) {
		ans.header = append(ans.header, [2]string{"Link", "<" + url + `>; rel="license"`})
	}
	if d.variant.Download {
		ans.header = append(ans.header, [2]string{"Content-Disposition", `attachment; filename="` + ic.Ref.Name + `.svg"`})
	}
	if d.color != "" && !recolored {
		ans.header = append(ans.header, [2]string{"Icon-Recolored", "?0"})
	}
	return ans, nil
}

// linkable reports whether the address of a licence can be between the angle brackets of a Link
// field (RFC 8288, section 3).
func linkable(url string) bool {
	return url != "" && !bytes.ContainsFunc([]byte(url), func(r rune) bool { return r <= ' ' || r > '~' || r == '<' || r == '>' || r == '"' })
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
			Width: s.width, Height: s.height, ViewBox: viewBox(s.svg), Monochrome: m.Monochrome, AliasOf: orNull(m.AliasOf),
			Categories: list(m.Categories), Tags: list(m.Tags), PackName: p.Name, License: p.LicenseOf(), CommercialUse: p.CommercialUse,
			Attribution: p.Attribution, URL: a.url(ic.Ref), Recolored: s.recolored, Release: ic.Changed.ID,
		},
	})), nil
}

// iconAnswer makes an answer with the fields that SVG and JSON have in common.
func (a *API) iconAnswer(ic catalog.Icon, e *entity) *answer {
	monochrome := "?0"
	if ic.Monochrome {
		monochrome = "?1"
	}
	return &answer{
		entity: e, cacheControl: a.CacheControl, modified: ic.Changed.Created,
		surrogate: iconKeys(ic.Ref) + " release/" + ic.Changed.ID,
		header:    [][2]string{{icon.FieldMonochrome, monochrome}},
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

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
