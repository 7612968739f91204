package site

import (
	"context"
	"net/http"
	"strings"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/internal/problem"
	"github.com/iconedge/iconedge/origin/bag"
)

// spritePolicy lets a sprite that a browser opens as a page apply its own styles, and do nothing
// else. It is that of icons.
const spritePolicy = "default-src 'none'; style-src 'unsafe-inline'; sandbox"

// bagArchive answers with the ZIP archive of a bag.
func (s *Site) bagArchive(ctx context.Context, q *Request) (*Page, error) {
	items, keys, err := bagItems(ctx, q)
	if err != nil {
		return nil, err
	}
	body, err := bag.Zip(items)
	if err != nil {
		return nil, err
	}
	return bagFile("application/zip", body, keys, [2]string{"Content-Disposition", `attachment; filename="icons.zip"`}), nil
}

// bagSprite answers with the sprite of a bag.
func (s *Site) bagSprite(ctx context.Context, q *Request) (*Page, error) {
	items, keys, err := bagItems(ctx, q)
	if err != nil {
		return nil, err
	}
	body, err := bag.Sprite(items)
	if err != nil {
		return nil, err
	}
	return bagFile("image/svg+xml", body, keys, [2]string{"Content-Security-Policy", spritePolicy}), nil
}

// maxKeys is the number of icons up to which a file has a surrogate key of each, so that the field
// stays short. One of more icons is renewed with the library.
const maxKeys = 200

// maxBagBytes bounds the SVGs of a bag together, because the origin and its edges hold its files in
// memory.
const maxBagBytes = 12 << 20

func bagFile(mediaType string, body []byte, keys string, header ...[2]string) *Page {
	return &Page{Status: http.StatusOK, MediaType: mediaType, Body: body, CacheControl: pagesCached, Keys: keys, Header: header}
}

// bagItems reads the icons that a request names, and returns the surrogate keys of a file with
// them. A bag with an unknown icon is a 404, and one with a withdrawn icon a 410; both name the
// pack, so that a person can find the icon.
func bagItems(ctx context.Context, q *Request) (items []bag.Item, keys string, err error) {
	refs, err := icon.ParseBag(q.Params["icons"])
	if err != nil || len(refs) == 0 {
		return nil, "", wrong("icons", err)
	}
	var b strings.Builder
	bytes := 0
	b.WriteString(pagesKey)
	if len(refs) > maxKeys {
		b.WriteString(" " + icon.LibraryKey)
	}
	for i, ref := range refs {
		ic, err := findIcon(ctx, q.Release, ref)
		if err != nil {
			return nil, "", inBag(err, q, ref)
		}
		item, err := itemOf(ic)
		if err != nil {
			return nil, "", err
		}
		if bytes += len(item.SVG); bytes > maxBagBytes {
			return nil, "", problem.BadParameter("icons", "the icons of this bag have together more than 12 MiB: take fewer")
		}
		items = append(items, item)
		if i == 0 || refs[i-1].Pack != ref.Pack {
			b.WriteString(" pack/" + ref.Pack)
		}
		if len(refs) <= maxKeys {
			b.WriteString(" icon/" + ref.String())
		}
	}
	return items, b.String(), nil
}

// inBag returns the problem of an icon as the problem of its bag. It names the pack of the icon, if
// there is such a pack.
func inBag(err error, q *Request, ref icon.Ref) error {
	p := problem.From(err)
	_, known := q.Release.Pack(ref.Pack)
	switch {
	case p.Status == http.StatusGone && known:
		p.Detail = "the operator of this service has withdrawn an icon of the pack " + ref.Pack +
			" that is in this bag; the page of the bag leaves it out"
	case p.Status == http.StatusGone:
		p.Detail = "the operator of this service has withdrawn a pack of which this bag has an icon; the page of the bag leaves it out"
	case p.Status == http.StatusNotFound && known:
		p.Detail = "the pack " + ref.Pack + " lacks an icon that is in this bag; the page of the bag leaves it out"
	case p.Status == http.StatusNotFound:
		p.Detail = "this bag has an icon of an unknown pack; the page of the bag leaves it out"
	}
	return p
}
