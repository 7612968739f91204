package iconify

import (
	"context"
	"fmt"
	"slices"

	"github.com/iconedge/iconedge/icon/iconify"
	"github.com/iconedge/iconedge/origin/svg"
)

// stylesheet answers /{prefix}.css?icons=.
func (l *Library) stylesheet(ctx context.Context, r iconify.Request) (*Answer, error) {
	p, s, sel, err := l.requested(ctx, r)
	if err != nil {
		return nil, err
	}
	var shown []iconify.Styled
	for _, name := range r.Names {
		if slices.Contains(sel.missing, name) {
			continue
		}
		one, err := l.styled(sel, name)
		if err != nil {
			return nil, err
		}
		shown = append(shown, one)
	}
	css := r.Style.Sheet(r.Prefix, palette(p, s), shown, len(sel.missing))
	ans := &Answer{MediaType: typeCSS, Body: []byte(css)}
	if r.Variant.Download {
		ans.Download = r.Prefix + ".css"
	}
	return l.ofIcons(ans, p, s, sel), nil
}

// styled returns an icon or alias of a selection, for a stylesheet.
func (l *Library) styled(sel *selection, name string) (iconify.Styled, error) {
	rec, ok := sel.aliases[name]
	if !ok {
		rec = sel.icons[name]
	}
	plain, err := rec.icon.SVG()
	if err != nil {
		return iconify.Styled{}, err
	}
	body, box, err := svg.Body(plain)
	if err != nil {
		return iconify.Styled{}, fmt.Errorf("reading %s: %w", rec.icon.Ref, err)
	}
	return iconify.Styled{Name: name, Body: string(body), Box: box, Own: rec.icon.Own}, nil
}
