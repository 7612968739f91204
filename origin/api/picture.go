package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/icon/raster"
	"github.com/iconedge/iconedge/internal/problem"
	"github.com/iconedge/iconedge/origin/catalog"
	"github.com/iconedge/iconedge/origin/picture"
)

// Media types of pictures.
const (
	typePNG = "image/png"
	typeICO = "image/x-icon"
)

// png answers GET /{pack}/{name}.png.
func (a *API) png(_ http.ResponseWriter, c *call) (*answer, error) {
	d, err := icon.ParsePicture(c.params, icon.ParamCSSColor)
	if err != nil {
		return nil, err
	}
	return a.released(c, func(ic catalog.Icon) (*answer, error) { return a.pngAnswer(c.Context(), ic, d) })
}

// ico answers GET /{pack}/{name}.ico.
func (a *API) ico(_ http.ResponseWriter, c *call) (*answer, error) {
	d, err := icon.ParseFavicon(c.params)
	if err != nil {
		return nil, err
	}
	return a.released(c, func(ic catalog.Icon) (*answer, error) {
		s, err := render(ic, requestedVariant{d.Color, d.Variant})
		if err != nil {
			return nil, err
		}
		file, err := a.Painter.ICO(c.Context(), s.svg, ic.Pack.Attribution)
		return a.pictureAnswer(ic, s, typeICO, file, err)
	})
}

// pngAnswer answers with the icon in pixels.
func (a *API) pngAnswer(ctx context.Context, ic catalog.Icon, d icon.Picture) (*answer, error) {
	s, err := render(ic, requestedVariant{d.Color, d.Variant})
	if err != nil {
		return nil, err
	}
	file, err := a.Painter.PNG(ctx, s.svg, s.width, s.height, ic.Pack.Attribution)
	return a.pictureAnswer(ic, s, typePNG, file, err)
}

// pictureAnswer answers with a picture, or with the problem that there is none.
func (a *API) pictureAnswer(ic catalog.Icon, s renderedIcon, mediaType string, file []byte, err error) (*answer, error) {
	if errors.Is(err, picture.ErrTooLarge) {
		return nil, problem.BadParameter("size", fmt.Sprintf(
			"a side of the picture would have more than %d pixels: name a smaller size, or width", icon.MaxPictureSide))
	}
	if err := undrawn(err); err != nil {
		return nil, err
	}
	ans := a.iconAnswer(ic, newPicture(mediaType, file))
	ans.describe(ic, s)
	return ans, nil
}

// newPicture makes an entity of a picture, which is compressed by itself.
func newPicture(mediaType string, file []byte) *entity {
	return &entity{mediaType: mediaType, body: file, tag: tagOf(file), gzip: func() []byte { return file }}
}

// undrawn returns the problem of a picture that was not drawn.
func undrawn(err error) error {
	switch {
	case errors.Is(err, picture.ErrBusy), errors.Is(err, context.DeadlineExceeded):
		return problem.New(http.StatusServiceUnavailable, "too many pictures are drawn at the moment").With("Retry-After", retryAfter)
	case errors.Is(err, raster.ErrUnsupported), errors.Is(err, raster.ErrTooComplex), errors.Is(err, raster.ErrMalformed):
		return problem.New(http.StatusUnprocessableEntity,
			"this can't be drawn as pixels; the SVG can be used. The reason: "+err.Error())
	}
	return err
}
