package iconify

import (
	"context"
	"errors"
	"fmt"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/icon/iconify"
	"github.com/iconedge/iconedge/origin/svg"
)

// icon answers the addresses of SVGs.
func (l *Library) icon(ctx context.Context, r iconify.Request) (*Answer, error) {
	p, s, err := l.set(r.Prefix)
	if err != nil {
		return nil, err
	}
	rec, err := l.find(ctx, r.Prefix, r.Name)
	if target, isChar := s.Chars[r.Name]; isChar && errors.Is(err, errMissing) {
		rec, err = l.find(ctx, r.Prefix, target)
	}
	if errors.Is(err, errMissing) {
		return nil, noIcon()
	}
	if err != nil {
		return nil, err
	}
	plain, err := rec.icon.SVG()
	if err != nil {
		return nil, err
	}
	out, err := svg.Customise(plain, r.Variant, false)
	if err != nil {
		return nil, fmt.Errorf("transforming %s: %w", rec.icon.Ref, err)
	}
	ans := &Answer{
		MediaType: typeSVG, Icons: true, License: p.LicenseURL, Modified: rec.icon.Changed.Created,
		Monochrome: rec.icon.Monochrome, Own: rec.icon.Own, Colorable: r.Color != "",
		Keys: "icon/" + rec.icon.Ref.String() + " pack/" + r.Prefix + " release/" + rec.icon.Changed.ID,
	}
	if rec.icon.Ref.Name != r.Name { // a publication may give the character to another icon
		ans.Keys += " set/" + r.Prefix
	}
	if r.Color != "" && ans.Monochrome {
		out, ans.Recolored = icon.Replace(out, string(r.Color)), true
	}
	if ans.Body = out; r.Variant.Download {
		ans.Download = r.Name + ".svg"
	}
	return ans, nil
}
