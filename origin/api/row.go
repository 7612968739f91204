package api

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/internal/problem"
	"github.com/iconedge/iconedge/origin/catalog"
	"github.com/iconedge/iconedge/origin/picture"
	"github.com/iconedge/iconedge/origin/svg"
)

// maxLinks is the size in bytes of a Link field with the licences of a row. Some servers in front
// of a service accept no head of more than 4 kB. The comment in the SVG has all licences.
const maxLinks = 1 << 10

// row answers GET /-/row.svg.
func (a *API) row(_ http.ResponseWriter, c *call) (*answer, error) {
	r, err := a.rowOf(c, icon.ParseRow)
	if err != nil {
		return nil, err
	}
	ans := a.rowAnswer(c, r, newContent(typeSVG, r.svg))
	ans.header = append(ans.header, [2]string{"Content-Security-Policy", policy})
	return ans, nil
}

// rowPNG answers GET /-/row.png.
func (a *API) rowPNG(_ http.ResponseWriter, c *call) (*answer, error) {
	r, err := a.rowOf(c, icon.ParseRowPicture)
	if err != nil {
		return nil, err
	}
	var credits []string
	for _, p := range r.packs() {
		credits = append(credits, p.Attribution)
	}
	file, err := a.Painter.RowPNG(c.Context(), r.svg, r.width, r.height, strings.Join(credits, "; "))
	if errors.Is(err, picture.ErrTooLarge) {
		return nil, problem.BadParameter("size", fmt.Sprintf(
			"the row would have more than %d pixels in all, or %d in a line: name a smaller size, or fewer icons",
			icon.MaxRowPixels, icon.MaxRowSide))
	}
	if err := undrawn(err); err != nil {
		return nil, err
	}
	return a.rowAnswer(c, r, newPicture(typePNG, file)), nil
}

// A row is several icons in one picture.
type row struct {
	icons  []catalog.Icon
	svg    []byte
	width  float64
	height float64
	// No icon has taken the colour, or the width of strokes, that the request names.
	unchanged, unstroked bool
}

// rowOf makes the picture of the row that the call asks for, whose parameters read reads.
func (a *API) rowOf(c *call, read func(icon.Params) (icon.Row, error)) (r row, err error) {
	d, err := read(c.params)
	if err != nil {
		return row{}, err
	}
	if r.icons, err = a.rowIcons(c, d.Refs); err != nil {
		return row{}, err
	}
	request := requestedVariant{d.Color, d.Variant}
	r.unchanged, r.unstroked = request.recolours(), d.Stroke != 0
	var list []svg.RowIcon
	var names []string
	for n, ic := range r.icons {
		s, err := render(ic, request)
		if err != nil {
			return row{}, err
		}
		r.unchanged, r.unstroked = r.unchanged && !s.recolored, r.unstroked && s.unstroked
		list = append(list, svg.RowIcon{SVG: s.svg, ID: rowID(d.Refs, n)})
		names = append(names, strings.ReplaceAll(ic.Ref.Name, "-", " "))
	}
	var credits []string
	for _, p := range r.packs() {
		credits = append(credits, p.Key+": "+p.Credit())
	}
	r.svg, r.width, r.height, err = svg.Row(list, float64(d.Gap), strings.Join(names, ", "), strings.Join(credits, "\n"))
	return r, err
}

// rowID returns the id of an icon of a row. Names have no underscores, so that no other icon has
// it. The same icon has the same id in every row.
func rowID(refs []icon.Ref, n int) string {
	id := "row_" + strings.ReplaceAll(refs[n].Pack+"__"+refs[n].Name, "-", "_")
	before := 0
	for _, ref := range refs[:n] {
		if ref == refs[n] {
			before++
		}
	}
	if before > 0 {
		id += "__" + strconv.Itoa(before+1)
	}
	return id
}

// rowIcons finds the icons of a row. Its error names the positions of icons that do not exist, with
// suggestions for the first.
func (a *API) rowIcons(c *call, refs []icon.Ref) (icons []catalog.Icon, err error) {
	var missing []int
	var first error
	size := 0
	for n, ref := range refs {
		ic, err := a.find(c, ref)
		switch p := problem.From(err); {
		case err == nil:
		case errors.Is(err, catalog.ErrNoRelease):
			return nil, err
		case p.Status == http.StatusGone:
			p.Detail = fmt.Sprintf("the operator of this service has withdrawn the icon at position %d of this row", n+1)
			return nil, p
		case p.Status == http.StatusNotFound:
			if missing = append(missing, n+1); first == nil {
				first = err
			}
			continue
		default:
			return nil, err
		}
		m, err := ic.Member()
		if err != nil {
			return nil, err
		}
		if size += m.Size(); size > icon.MaxRowBytes {
			return nil, problem.BadParameter("icons", fmt.Sprintf(
				"the icons of a row may have %d bytes as SVG, and these have more: name fewer", icon.MaxRowBytes))
		}
		icons = append(icons, ic)
	}
	if len(missing) > 0 {
		return nil, noRow(c.release, refs[missing[0]-1], missing, first)
	}
	return icons, nil
}

// noRow returns the problem of a row that has icons which do not exist, at these positions. ref is
// the first of them, and err its problem.
func noRow(r *catalog.Release, ref icon.Ref, positions []int, err error) error {
	of := problem.From(err)
	var list []string
	for _, near := range of.Suggestions {
		other := icon.Ref{Pack: ref.Pack, Name: near}
		if _, known := r.Pack(ref.Pack); !known { // they are packs
			other = icon.Ref{Pack: near, Name: ref.Name}
		}
		list = append(list, other.Pack+":"+other.Name)
	}
	const most = 5
	places, more := "position", ""
	if len(positions) > 1 {
		places = "positions"
	}
	if len(positions) > most {
		positions, more = positions[:most], ", …"
	}
	p := problem.NotFound(fmt.Sprintf("the row has unknown icons, at %s %s%s. Of the first: %s", places,
		strings.Trim(strings.ReplaceAll(fmt.Sprint(positions), " ", ", "), "[]"), more, of.Detail), list...)
	p.Parameter = "icons"
	return p
}

// packs returns the packs of the icons, each once.
func (r row) packs() (packs []*icon.Pack) {
	for _, ic := range r.icons {
		if !slices.ContainsFunc(packs, func(p *icon.Pack) bool { return p.Key == ic.Ref.Pack }) {
			packs = append(packs, ic.Pack.Pack)
		}
	}
	return packs
}

// rowAnswer makes an answer with the fields that SVG and PNG have in common.
func (a *API) rowAnswer(c *call, r row, e *entity) *answer {
	ans := &answer{entity: e, cacheControl: a.lifetime(c)}
	var keys, releases, links []string
	size := 0
	for _, ic := range r.icons {
		if ic.Changed.Created.After(ans.modified) {
			ans.modified = ic.Changed.Created
		}
		keys = append(keys, "icon/"+ic.Ref.String())
		releases = append(releases, "release/"+ic.Changed.ID)
	}
	for _, p := range r.packs() {
		keys = append(keys, "pack/"+p.Key)
		link := licenseLink(p.LicenseURL)
		if !linkable(p.LicenseURL) || slices.Contains(links, link) || size+len(link) > maxLinks {
			continue
		}
		links, size = append(links, link), size+len(link)+len(", ")
	}
	ans.surrogate = strings.Join(distinct(append(keys, releases...)), " ")
	if len(links) > 0 {
		ans.header = append(ans.header, [2]string{"Link", strings.Join(links, ", ")})
	}
	if r.unchanged {
		ans.header = append(ans.header, [2]string{"Icon-Recolored", "?0"})
	}
	if r.unstroked {
		ans.header = append(ans.header, [2]string{"Icon-Restroked", "?0"})
	}
	return ans
}

// distinct returns each of some words once, in their order.
func distinct(words []string) (list []string) {
	for _, w := range words {
		if !slices.Contains(list, w) {
			list = append(list, w)
		}
	}
	return list
}
