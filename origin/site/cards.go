package site

import (
	"context"
	"net/http"
	"runtime"
	"strings"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/internal/problem"
	cards "github.com/iconedge/iconedge/origin/card"
)

// cardsCached is the Cache-Control of cards, which other sites show beside a link: that of icons.
const cardsCached = "public, max-age=86400, stale-while-revalidate=604800, stale-if-error=604800"

// cardSlots limits the cards that are drawn at a time, so that requests for cards leave processors
// to all others.
var cardSlots = make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))

// draw calls make as soon as fewer than that many cards are being drawn.
func draw(ctx context.Context, make func() ([]byte, error), keys string) (*Page, error) {
	select {
	case cardSlots <- struct{}{}:
		defer func() { <-cardSlots }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	body, err := make()
	if err != nil {
		return nil, err
	}
	return &Page{Status: http.StatusOK, MediaType: "image/png", Body: body, CacheControl: cardsCached, Keys: pagesKey + " " + keys}, nil
}

// iconCard answers with the card of an icon.
func (s *Site) iconCard(ctx context.Context, q *Request) (*Page, error) {
	name, ok := strings.CutSuffix(q.File, ".png")
	if !ok {
		return nil, noCard()
	}
	ref := icon.Ref{Pack: q.Ref.Pack, Name: name}
	ic, err := findIcon(ctx, q.Release, ref)
	if err != nil {
		return nil, err
	}
	svg, err := ic.SVG()
	if err != nil {
		return nil, err
	}
	return draw(ctx, func() ([]byte, error) { return cards.Icon(ic.Pack.Pack, ref.Name, svg) }, "pack/"+ref.Pack+" icon/"+ref.String())
}

// packCard answers with the card of a pack, which shows its samples.
func (s *Site) packCard(ctx context.Context, q *Request) (*Page, error) {
	key, ok := strings.CutSuffix(q.File, ".png")
	if !ok {
		return nil, noCard()
	}
	if q.Release.IsWithdrawn(key) {
		return nil, problem.Withdrawn()
	}
	p, ok := q.Release.Pack(key)
	if !ok {
		return nil, noPack(q.Release, key)
	}
	var samples [][]byte
	for _, name := range p.Samples {
		ic, err := q.Release.Icon(ctx, icon.Ref{Pack: key, Name: name})
		if err != nil { // a sample that the pack does not have, or that is withdrawn
			continue
		}
		svg, err := ic.SVG()
		if err != nil {
			return nil, err
		}
		samples = append(samples, svg)
	}
	return draw(ctx, func() ([]byte, error) { return cards.Pack(p.Pack, samples) }, "pack/"+key+" "+icon.LibraryKey)
}

func noCard() error { return problem.NotFound("there is no such card: a card is a PNG") }
