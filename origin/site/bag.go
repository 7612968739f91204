package site

import (
	"context"
	"html/template"
	"strings"

	"github.com/iconedge/iconedge/icon"
)

type bagView struct {
	frame
	Shared     bool // the address names the icons
	Icons      []picture
	Missing    int          // icons that the release does not have
	List       template.URL // in the form of icon.FormatBag
	Restricted bool         // an icon of the bag is non-commercial
}

// Share returns the address that shows the same bag anywhere.
func (v bagView) Share() string { return v.Site + "/bag?icons=" + string(v.List) }

// Row returns the address of a picture of all icons of the bag; empty: a row takes fewer.
func (v bagView) Row() string {
	if len(v.Icons) > icon.MaxRow {
		return ""
	}
	var names []string
	for _, i := range v.Icons {
		names = append(names, i.Ref.Pack+":"+i.Ref.Name)
	}
	return v.CDN + "/-/row.svg?icons=" + strings.Join(names, ",") + "&color=000&dark=fff"
}

// bag renders the chosen icons. Without icons in the address, the script fills in those that the
// browser has stored.
func (s *Site) bag(ctx context.Context, q *Request) (*Page, error) {
	list, given := q.Params["icons"]
	refs, err := icon.ParseBag(list)
	if err != nil {
		return nil, wrong("icons", err)
	}
	v := bagView{Shared: given}
	var found []icon.Ref
	var keys []string
	for _, ref := range refs {
		keys = append(keys, "icon/"+ref.String())
		ic, err := q.Release.Icon(ctx, ref)
		if err != nil {
			v.Missing++
			continue
		}
		p := pictureOf(q.Release, ref, lookIn(ic))
		v.Icons = append(v.Icons, p)
		v.Restricted = v.Restricted || p.Restricted
		found = append(found, ref)
	}
	v.List = template.URL(icon.FormatBag(found)) // names of icons need no escapes in a query
	v.frame = s.frame("Bag · iconedge", "The icons that you have chosen, to download with their licences.", "")
	if len(keys) > 8 { // a release that changes one of many icons renews the page with the lists
		keys = nil
	}
	return s.render("bag", v, append([]string{icon.LibraryKey}, keys...)...)
}
