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

// policy lets a drawing that is opened as a page style itself, and do nothing else.
const policy = "default-src 'none'; style-src 'unsafe-inline'; sandbox"

// cdn answers GET /{pack}/{name}.svg.
func (a *API) cdn(_ http.ResponseWriter, c *call) (*answer, error) {
	d, err := parseDrawn(c.params)
	if err != nil {
		return nil, err
	}
	id, pinned := c.params["release"]
	if !pinned {
		ic, err := findIcon(c.Context(), c.release, c.route.ref)
		if err != nil {
			return nil, err
		}
		return a.drawing(ic, d)
	}
	ic, err := a.pinned(c, id)
	if err != nil {
		return nil, err
	}
	ans, err := a.drawing(ic, d)
	if err == nil {
		ans.cacheControl = forever
	}
	return ans, err
}

// icon answers GET /api/v1/icon/{pack}/{name}.
func (a *API) icon(_ http.ResponseWriter, c *call) (*answer, error) {
	bare, err := format(c.params)
	if err != nil {
		return nil, err
	}
	d, err := parseDrawn(c.params)
	if err != nil {
		return nil, err
	}
	ic, err := findIcon(c.Context(), c.release, c.route.ref)
	if err != nil {
		return nil, err
	}
	if bare {
		return a.drawing(ic, d)
	}
	return a.described(ic, d)
}

// pinned finds the drawing of one release. Where that release is the one in which the drawing last changed, the current one is it, also
// when the store has forgotten the release.
func (a *API) pinned(c *call, id string) (catalog.Icon, error) {
	ic, err := findIcon(c.Context(), c.release, c.route.ref)
	if id == c.release.ID() || err == nil && id == ic.Changed.ID {
		return ic, err
	}
	kept, err := a.Catalog.Kept(c.Context(), id)
	switch {
	case errors.Is(err, catalog.ErrNoRelease):
		return catalog.Icon{}, problem.NotFound("no release of that id is kept; without release you get the current drawing")
	case err != nil:
		return catalog.Icon{}, unavailable(err)
	}
	c.held = kept
	return findIcon(c.Context(), kept, c.route.ref)
}

func unavailable(err error) error {
	return problem.New(http.StatusServiceUnavailable, "the store of releases can't be read at the moment").Because(err).With("Retry-After", retryAfter)
}

// findIcon finds a drawing, or says which of pack and name there is not.
func findIcon(ctx context.Context, r *catalog.Release, ref icon.Ref) (catalog.Icon, error) {
	ic, err := r.Icon(ctx, ref)
	switch {
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

// shown is a drawing as it was asked for.
type shown struct {
	svg           []byte
	width, height float64
	recolored     bool
	plain         bool // the bytes are those of the archive
}

func show(ic catalog.Icon, d drawn) (s shown, err error) {
	plain, err := ic.SVG()
	if err != nil {
		return s, err
	}
	s.svg, s.width, s.height, err = svg.Transform(plain, d.variant)
	if err != nil {
		return s, fmt.Errorf("transforming %s: %w", ic.Ref, err)
	}
	if s.recolored = d.color != "" && ic.Meta.Monochrome; s.recolored {
		s.svg = icon.Recolour(s.svg, d.color)
	}
	s.plain = d.variant.Plain() && !s.recolored
	return s, nil
}

// drawing answers with the SVG alone.
func (a *API) drawing(ic catalog.Icon, d drawn) (*answer, error) {
	s, err := show(ic, d)
	if err != nil {
		return nil, err
	}
	ans := a.iconAnswer(ic, newContent(typeSVG, s.svg))
	if s.plain {
		ans.gzip = func() []byte { return gzipped(ic, s.svg) }
	}
	ans.header = append(ans.header, [2]string{"Content-Security-Policy", policy})
	if url := ic.Pack.LicenseURL; linkable(url) {
		ans.header = append(ans.header, [2]string{"Link", "<" + url + `>; rel="license"`})
	}
	if d.color != "" && !s.recolored {
		ans.header = append(ans.header, [2]string{"Icon-Recolored", "?0"})
	}
	return ans, nil
}

// gzipped wraps what lies deflated in the archive; it costs no compression.
func gzipped(ic catalog.Icon, svg []byte) []byte {
	deflated, crc, size, err := ic.Deflated()
	if err != nil { // read a moment ago: the disk is failing
		return compress(svg)
	}
	return wrap(deflated, crc, size)
}

// linkable reports whether a licence's address can stand between the angle brackets of a Link field (RFC 8288, section 3).
func linkable(url string) bool {
	return url != "" && !bytes.ContainsFunc([]byte(url), func(r rune) bool { return r <= ' ' || r > '~' || r == '<' || r == '>' || r == '"' })
}

// described answers with the SVG and all that is known of it, in JSON.
func (a *API) described(ic catalog.Icon, d drawn) (*answer, error) {
	s, err := show(ic, d)
	if err != nil {
		return nil, err
	}
	p, m := ic.Pack, ic.Meta
	return a.iconAnswer(ic, newEntity(icon.Answer{
		Pack: ic.Ref.Pack, Name: ic.Ref.Name, SVG: string(s.svg), License: p.License,
		Metadata: icon.Metadata{
			Width: s.width, Height: s.height, ViewBox: viewBox(s.svg), Monochrome: m.Monochrome, AliasOf: orNull(m.AliasOf),
			Categories: list(m.Categories), Tags: list(m.Tags), PackName: p.Name, License: p.LicenseOf(), CommercialUse: p.CommercialUse,
			Attribution: p.Attribution, URL: a.url(ic.Ref), Recolored: s.recolored, Release: ic.Changed.ID,
		},
	})), nil
}

// iconAnswer is what drawings and descriptions have in common.
func (a *API) iconAnswer(ic catalog.Icon, e *entity) *answer {
	monochrome := "?0"
	if ic.Meta.Monochrome {
		monochrome = "?1"
	}
	return &answer{
		entity: e, cacheControl: a.CacheControl, modified: ic.Changed.Created,
		surrogate: iconKeys(ic.Ref) + " release/" + ic.Changed.ID,
		header:    [][2]string{{icon.FieldMonochrome, monochrome}},
	}
}

// url is the CDN's address of an icon.
func (a *API) url(ref icon.Ref) string { return a.CDNURL + "/" + ref.String() + ".svg" }

// viewBox reads it from a drawing of package svg, whose root element has a fixed form.
func viewBox(drawing []byte) string {
	_, rest, _ := bytes.Cut(drawing, []byte(` viewBox="`))
	box, _, _ := bytes.Cut(rest, []byte(`"`))
	return string(box)
}

// list is s as a JSON list: never null.
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
