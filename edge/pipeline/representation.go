package pipeline

import (
	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/compress"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/icon"
)

// A representation is the form in which one client receives an entry.
type representation struct {
	body   []byte
	etag   string
	coding entry.Coding
	delta  string         // a coding against a dictionary, in place of coding; empty: none
	color  icon.Color     // the colour to put in; empty: none
	fixed  bool           // the client asked for a colour, but the icon has its own
	whole  bool           // no part of the body is sent, whatever the Range
	plan   *compress.Plan // the body is coded while it is sent; nil: it is not
}

// colored returns the body with the colour in it.
func (p *representation) colored(f routes.Form) []byte {
	if p.color == "" {
		return p.body
	}
	switch f {
	case routes.FormJSON:
		return icon.RecolourAnswer(p.body, p.color)
	case routes.FormPaint:
		return icon.Replace(p.body, string(p.color))
	}
	return icon.Recolour(p.body, p.color)
}
