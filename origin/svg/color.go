package svg

import (
	"bytes"
	"strings"

	"github.com/iconedge/iconedge/icon"
)

// paintKind is the kind of value that fill, stroke or another colour property has.
type paintKind uint8

const (
	paintUnset   paintKind = iota // not declared: the default applies
	paintNone                     // none, or a fully transparent colour
	paintCurrent                  // currentColor
	paintColor
	paintURL     // a gradient or pattern
	paintInherit // the paint of the parent
	paintUnknown // anything else
)

// A paint is the value of a colour property.
type paint struct {
	kind  paintKind
	color rgba
	ref   []byte // "#id", with paintURL only
	src   *[]byte
}

// rgba is a colour with 8 bits a channel.
type rgba = icon.RGBA

var black = rgba{A: 255}

// readPaint reads a clean value, in which currentColor has its canonical spelling.
func readPaint(v []byte) paint {
	v = bytes.TrimSpace(v)
	switch {
	case string(v) == "currentColor":
		return paint{kind: paintCurrent}
	case string(v) == "none":
		return paint{kind: paintNone}
	}
	if ref, ok := onlyURL(v); ok {
		return paint{kind: paintURL, ref: ref}
	}
	switch s := strings.ToLower(string(v)); s {
	case "none", "transparent":
		return paint{kind: paintNone}
	case "inherit":
		return paint{kind: paintInherit}
	default:
		if c, ok := icon.ReadColor(s); ok {
			if c.A == 0 {
				return paint{kind: paintNone}
			}
			return paint{kind: paintColor, color: c}
		}
	}
	return readFallback(v)
}

// readFallback reads a reference with a fallback, which a browser paints if the reference leads
// nowhere. A fallback that is a colour counts as painted.
func readFallback(v []byte) paint {
	end := bytes.IndexByte(v, ')')
	if end < 0 {
		return paint{kind: paintUnknown}
	}
	ref, ok := onlyURL(v[:end+1])
	switch readPaint(v[end+1:]).kind {
	case paintNone, paintCurrent:
		if ok {
			return paint{kind: paintURL, ref: ref}
		}
	}
	return paint{kind: paintUnknown}
}
