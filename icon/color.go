package icon

import (
	"bytes"
	"errors"
	"strings"
)

// ErrColor says that a string is not a colour this service takes. Its words name color and hex, as clients look for them.
var ErrColor = errors.New("color must be a hex color: rgb, rgba, rrggbb or rrggbbaa, with or without a leading # (written %23 in an address)")

// A Color is a colour in its one canonical spelling: "#rrggbb" in lower case, or "#rrggbbaa" where the alpha is not ff.
// The empty Color means that none was asked for.
type Color string

// ParseColor reads #rgb, #rgba, #rrggbb and #rrggbbaa (CSS Color 4, section 5.2), the # optional, in any case. All spellings
// of one colour give the same Color. The error is ErrColor.
func ParseColor(s string) (Color, error) {
	s = strings.ToLower(strings.TrimPrefix(s, "#"))
	for i := 0; i < len(s); i++ {
		if c := s[i]; !('0' <= c && c <= '9' || 'a' <= c && c <= 'f') {
			return "", ErrColor
		}
	}
	switch len(s) {
	case 3, 4:
		long := make([]byte, 0, 8)
		for i := 0; i < len(s); i++ {
			long = append(long, s[i], s[i])
		}
		s = string(long)
	case 6, 8:
	default:
		return "", ErrColor
	}
	return Color("#" + strings.TrimSuffix(s, opaque(s))), nil
}

// opaque is the alpha that is left unwritten: an "ff" in its place, else nothing.
func opaque(s string) string {
	if len(s) == 8 && s[6:] == "ff" {
		return "ff"
	}
	return ""
}

var currentColor = []byte("currentColor")

// Recolour puts c in the place of every currentColor of a monochrome drawing. The cleaner has seen to it that the keyword
// stands in a drawing only where it is a paint, and in this spelling. It returns a new slice; svg is not changed.
func Recolour(svg []byte, c Color) []byte {
	if c == "" {
		return svg
	}
	return AppendRecoloured(make([]byte, 0, RecolouredLen(len(svg), Paints(svg), c)), svg, c)
}

// AppendRecoloured appends to dst what Recolour makes of a drawing. The colour must not be empty.
func AppendRecoloured(dst, svg []byte, c Color) []byte {
	for {
		i := bytes.Index(svg, currentColor)
		if i < 0 {
			return append(dst, svg...)
		}
		dst = append(append(dst, svg[:i]...), c...)
		svg = svg[i+len(currentColor):]
	}
}

// Paints counts the places of a drawing that a colour is put into.
func Paints(svg []byte) int { return bytes.Count(svg, currentColor) }

// RecolouredLen is the length in bytes of a drawing of so many bytes and paints, once it is recoloured.
func RecolouredLen(size, paints int, c Color) int { return size + paints*(len(c)-len(currentColor)) }

var (
	svgField    = []byte(`"svg":"`)
	uncoloured  = []byte(`"recolored":false`)
	isRecolored = []byte(`"recolored":true`)
)

// RecolourAnswer does for the JSON answer of one monochrome icon what Recolour does for the drawing: it colours the "svg"
// field and sets "recolored". What it does not recognise it returns unchanged.
func RecolourAnswer(answer []byte, c Color) []byte {
	start := bytes.Index(answer, svgField)
	if c == "" || start < 0 {
		return answer
	}
	start += len(svgField)
	end := start
	for end < len(answer) && answer[end] != '"' {
		if answer[end] == '\\' {
			end++
		}
		end++
	}
	flag := bytes.LastIndex(answer, uncoloured)
	if end >= len(answer) || flag < end {
		return answer
	}
	out := make([]byte, 0, len(answer)+16)
	out = append(out, answer[:start]...)
	out = append(out, Recolour(answer[start:end], c)...)
	out = append(out, answer[end:flag]...)
	out = append(out, isRecolored...)
	return append(out, answer[flag+len(uncoloured):]...)
}
