package icon

import (
	"bytes"
	"errors"
	"strings"
)

// ErrColor means that a string is not a valid colour. Its text says color and hex, because clients
// look for those words.
var ErrColor = errors.New("color must be a hex color: rgb, rgba, rrggbb or rrggbbaa, with or without a leading # (written %23 in an address)")

// A Color is a colour in its canonical form: "#rrggbb" in lower case, or "#rrggbbaa" where the
// alpha is not ff. The empty Color means that the request names no colour.
type Color string

// ParseColor reads #rgb, #rgba, #rrggbb and #rrggbbaa (CSS Color 4, section 5.2), with or without
// the #, in any case. All spellings of a colour give the same Color. The error is ErrColor.
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

// opaque returns the alpha that the canonical form leaves out: "ff" if s has it, otherwise nothing.
func opaque(s string) string {
	if len(s) == 8 && s[6:] == "ff" {
		return "ff"
	}
	return ""
}

var currentColor = []byte("currentColor")

// Recolour replaces every currentColor in a monochrome SVG with c. The cleaner ensures that the
// keyword occurs in an SVG only as a paint, and in this spelling. Recolour returns a new slice, or
// svg itself if c is empty; it does not change svg.
func Recolour(svg []byte, c Color) []byte {
	if c == "" {
		return svg
	}
	n := Paints(svg)
	return AppendRecoloured(make([]byte, 0, RecolouredLen(len(svg), n, c)), svg, n, c)
}

// AppendRecoloured appends Recolour(svg, c) to dst, where paints is Paints(svg). The colour must
// not be empty. Most icons have one paint, at the beginning, so that the rest need not be searched.
func AppendRecoloured(dst, svg []byte, paints int, c Color) []byte {
	for range paints {
		i := bytes.Index(svg, currentColor)
		dst = append(append(dst, svg[:i]...), c...)
		svg = svg[i+len(currentColor):]
	}
	return append(dst, svg...)
}

// AppendHexColor appends the canonical form of a colour of three or six hexadecimal digits to dst.
func AppendHexColor(dst, digits []byte) (out []byte, ok bool) {
	if len(digits) != 3 && len(digits) != 6 {
		return dst, false
	}
	out = append(dst, '#')
	for _, c := range digits {
		if 'A' <= c && c <= 'F' {
			c |= 0x20
		}
		if !('0' <= c && c <= '9' || 'a' <= c && c <= 'f') {
			return dst, false
		}
		if out = append(out, c); len(digits) == 3 {
			out = append(out, c)
		}
	}
	return out, true
}

// Paints counts the places in an SVG where Recolour inserts the colour.
func Paints(svg []byte) int { return bytes.Count(svg, currentColor) }

// RecolouredLen returns the length in bytes of a recoloured SVG, which had size bytes and paints
// places before.
func RecolouredLen(size, paints int, c Color) int { return size + paints*(len(c)-len(currentColor)) }

var (
	svgField    = []byte(`"svg":"`)
	uncoloured  = []byte(`"recolored":false`)
	isRecolored = []byte(`"recolored":true`)
)

// RecolourAnswer recolours the JSON answer of one monochrome icon: it applies Recolour to the "svg"
// field and sets "recolored". It returns an answer of any other form unchanged.
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
