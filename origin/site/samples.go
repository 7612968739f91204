package site

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/internal/problem"
	"github.com/iconedge/iconedge/origin/catalog"
	"github.com/iconedge/iconedge/origin/svg"
)

const (
	// maxSamples is the number of icons that show a pack in lists.
	maxSamples = 6
	// sampleSize and sampleStep are the size of a sample in the image of all, and the distance from
	// one to the next.
	sampleSize, sampleStep = 32, 44
)

// sampled returns the icons that show a pack: its samples, without those that the release does not
// have or that are withdrawn; of a pack without samples, its first icons.
func sampled(ctx context.Context, r *catalog.Release, p *icon.Pack) (icons []catalog.Icon) {
	add := func(name string) bool {
		if ic, err := r.Icon(ctx, icon.Ref{Pack: p.Key, Name: name}); err == nil && len(icons) < maxSamples {
			icons = append(icons, ic)
		}
		return len(icons) < maxSamples
	}
	for _, name := range p.Samples {
		add(name)
	}
	if len(icons) > 0 {
		return icons
	}
	if pack, ok := r.Pack(p.Key); ok {
		if c, err := pack.Open(ctx); err == nil {
			c.Names(func(name string, hidden bool) bool { return hidden || add(name) })
		}
	}
	return icons
}

// samples answers with an image of the samples of a pack in a row. A list of packs shows one image
// for each pack, because a browser takes as long for six small ones as for six pages.
func (s *Site) samples(ctx context.Context, q *Request) (*Page, error) {
	key, ok := strings.CutSuffix(q.File, ".svg")
	p, known := q.Release.Pack(key)
	switch {
	case q.Release.IsWithdrawn(key):
		return nil, problem.Withdrawn()
	case !ok || !known:
		return nil, problem.NotFound("there are no samples of such a pack")
	}
	var symbols, uses bytes.Buffer
	prefix := ""
	icons := sampled(ctx, q.Release, p.Pack)
	for n, ic := range icons {
		image, err := ic.SVG()
		if err != nil {
			return nil, err
		}
		id := fmt.Sprintf("s%d", n)
		symbol, xlink, err := svg.Symbol(image, id)
		if err != nil {
			return nil, fmt.Errorf("making a symbol of %s: %w", ic.Ref, err)
		}
		if xlink {
			prefix = ` xmlns:xlink="http://www.w3.org/1999/xlink"`
		}
		symbols.Write(symbol)
		fmt.Fprintf(&uses, `<use href="#%s" x="%d" width="%[3]d" height="%[3]d"/>`, id, n*sampleStep, sampleSize)
	}
	width := samplesWidth(len(icons))
	body := fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg"%s viewBox="0 0 %d %d" width="%[2]d" height="%[3]d">%s%s</svg>`,
		prefix, width, sampleSize, symbols.Bytes(), uses.Bytes())
	return &Page{
		Status: http.StatusOK, MediaType: "image/svg+xml", Body: body, CacheControl: cardsCached,
		Keys:   pagesKey + " pack/" + key + " " + icon.LibraryKey,
		Header: [][2]string{{"Content-Security-Policy", spritePolicy}},
	}, nil
}

// samplesWidth returns the width of the image of n samples.
func samplesWidth(n int) int { return max(0, n-1)*sampleStep + sampleSize }

// A packCard shows a pack in a list, by its own samples.
type packCard struct {
	*icon.Pack
	Samples  int
	coloured bool // one of the samples has its own colours
}

// card returns the card of a pack.
func card(ctx context.Context, r *catalog.Release, p *icon.Pack) packCard {
	icons := sampled(ctx, r, p)
	c := packCard{Pack: p, Samples: len(icons)}
	for _, ic := range icons {
		c.coloured = c.coloured || !ic.Monochrome || ic.Own
	}
	return c
}

// Restricted reports whether the licence of the pack allows no commercial use.
func (c packCard) Restricted() bool { return !c.CommercialUse }

// Width and Height return the size of the image of the samples.
func (c packCard) Width() int  { return samplesWidth(c.Samples) }
func (c packCard) Height() int { return sampleSize }

// Class returns the class of the image.
func (c packCard) Class() string {
	if c.coloured {
		return own.class()
	}
	return text.class()
}
