package iconify

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/icon/iconify"
	"github.com/iconedge/iconedge/origin/catalog"
	"github.com/iconedge/iconedge/origin/release"
)

// maxKeys is the number of icons up to which an answer has a surrogate key for each.
const maxKeys = 64

// data answers /{prefix}.json?icons= and its script.
func (l *Library) data(ctx context.Context, r iconify.Request) (*Answer, error) {
	p, s, sel, err := l.requested(ctx, r)
	if err != nil {
		return nil, err
	}
	body, err := appendData(nil, sel, s, r.Info)
	if err != nil {
		return nil, err
	}
	ans := written(r, body)
	return l.ofIcons(ans, p, s, sel), nil
}

// ofIcons adds the fields to an answer that depend on its icons.
func (l *Library) ofIcons(ans *Answer, p *catalog.Pack, s release.Set, sel *selection) *Answer {
	ans.Icons, ans.Partial, ans.License = true, len(sel.missing) > 0, p.LicenseURL
	ans.Keys = l.keysOf(p.Key, sel)
	ans.Modified = latest(sel.modified, l.release, s)
	return ans
}

// latest returns the later one of two changes: of the icons, and of the set.
func latest(icons time.Time, r *catalog.Release, s release.Set) time.Time {
	if set := r.Epoch(s.Seq).Created; set.After(icons) {
		return set
	}
	return icons
}

// keysOf returns the surrogate keys of an answer: those of its icons, also of the missing ones,
// which a publication may add.
func (l *Library) keysOf(prefix string, sel *selection) string {
	keys := setKeys(prefix) + " release/" + l.release.ID()
	names := slices.Concat(slices.Collect(maps.Keys(sel.icons)), slices.Collect(maps.Keys(sel.aliases)),
		slices.DeleteFunc(slices.Clone(sel.missing), func(n string) bool { return !icon.ValidKey(n) }))
	if len(names) > maxKeys {
		return keys
	}
	slices.Sort(names)
	var b strings.Builder
	for _, name := range names {
		b.WriteString("icon/" + prefix + "/" + name + " ")
	}
	return b.String() + keys
}

// appendData appends icon data: the head of the set, then icons, aliases and missing names, each
// sorted, so that all spellings of a request have one entity tag.
func appendData(dst []byte, sel *selection, s release.Set, withInfo bool) ([]byte, error) {
	dst = appendHead(dst, s)
	if withInfo {
		dst = append(append(dst, `"info":`...), s.Info...)
		dst = append(dst, ',')
	}
	dst = append(dst, `"icons":`...)
	dst, err := appendRecords(dst, sel.icons, s)
	if err != nil {
		return nil, err
	}
	dst = append(dst, `,"aliases":`...)
	if dst, err = appendRecords(dst, sel.aliases, s); err != nil {
		return nil, err
	}
	if len(sel.missing) > 0 {
		dst = appendJSON(append(dst, `,"not_found":`...), sel.missing)
	}
	return append(dst, '}'), nil
}

// appendHead appends the beginning of icon data, which all answers about a set share.
func appendHead(dst []byte, s release.Set) []byte {
	dst = append(append(dst, `{"prefix":"`...), s.Key...)
	dst = strconv.AppendInt(append(dst, `","lastModified":`...), s.LastModified, 10)
	dst = appendJSON(append(dst, `,"width":`...), s.Width)
	dst = appendJSON(append(dst, `,"height":`...), s.Height)
	return append(dst, ',')
}

func appendRecords(dst []byte, records map[string]record, s release.Set) (_ []byte, err error) {
	dst = append(dst, '{')
	for i, name := range slices.Sorted(maps.Keys(records)) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendJSON(dst, name), ':')
		if dst, err = appendRecord(dst, records[name], s); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}
