package iconify

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/iconedge/iconedge/icon/iconify"
	"github.com/iconedge/iconedge/origin/release"
)

// wholes limits how many whole sets are written at a time, because the largest has 100 MB.
var wholes = make(chan struct{}, 1)

// whole answers with a whole set, as the file icons.json of its npm package.
func (l *Library) whole(ctx context.Context, r iconify.Request) (*Answer, error) {
	p, s, err := l.set(r.Prefix)
	if err != nil {
		return nil, err
	}
	select {
	case wholes <- struct{}{}:
		defer func() { <-wholes }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	icons, err := p.Open(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for name := range icons.Names {
		names = append(names, name)
	}
	sel, err := l.pick(ctx, r.Prefix, s, names)
	if err != nil {
		return nil, err
	}
	body, err := appendData(nil, sel, s, true)
	if err != nil {
		return nil, err
	}
	body = appendExtras(body[:len(body)-1], chars(p.Withdrew, s), s)
	ans := l.ofIcons(written(r, body), p, s, sel)
	ans.Keys = setKeys(r.Prefix) + " release/" + l.release.ID()
	// No change of an icon or of the set has the time at which an alias was removed, or an icon
	// withdrawn.
	ans.Modified = time.Time{}
	return ans, nil
}

// chars returns the font characters of a set whose icons are not withdrawn.
func chars(withdrew func(name string) bool, s release.Set) map[string]string {
	kept := maps.Clone(s.Chars)
	maps.DeleteFunc(kept, func(_, name string) bool { return withdrew(name) })
	return kept
}

// appendExtras appends the members that icon data of single icons lacks, and the end.
func appendExtras(dst []byte, chars map[string]string, s release.Set) []byte {
	for _, o := range []struct {
		name  string
		value []byte
	}{{"prefixes", s.Prefixes}, {"suffixes", s.Suffixes}, {"themes", s.Themes}} {
		if o.value != nil {
			dst = append(append(dst, `,"`+o.name+`":`...), o.value...)
		}
	}
	if len(chars) > 0 {
		dst = append(dst, `,"chars":{`...)
		for i, c := range slices.Sorted(maps.Keys(chars)) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendJSON(append(appendJSON(dst, c), ':'), chars[c])
		}
		dst = append(dst, '}')
	}
	return append(dst, '}')
}
