package icon

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
)

// ErrColor means that a string is not a valid colour. Its text says color and hex, because clients
// look for those words.
var ErrColor = errors.New("color must be a hex color: rgb, rgba, rrggbb or rrggbbaa, with or without a leading # " +
	"(written %23 in an address)")

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

// A Paint says how a monochrome SVG writes its one colour: how often, in the upper 24 bits, and in
// how many bytes, in the lower eight. The text of the colour, its literal, occurs in the SVG only
// as a paint. It is currentColor, or the colour in which the icon is drawn, in three or six
// hexadecimal digits. The cleaner ensures that PaintOf finds it.
type Paint int32

// NoPaint is the Paint of an SVG that is not recoloured.
const NoPaint Paint = -1

// PaintOf returns the paint of a monochrome SVG.
func PaintOf(svg []byte) Paint {
	literal := Literal(svg)
	if literal == nil {
		return 0 // it paints nothing
	}
	return Paint(bytes.Count(svg, literal)<<8 | len(literal))
}

func (p Paint) uses() int   { return int(p >> 8) }
func (p Paint) length() int { return int(p & 0xff) }

// Literal returns the text of the one colour of a monochrome SVG, as a part of svg; nil: the SVG
// paints nothing.
func Literal(svg []byte) []byte {
	if i := bytes.Index(svg, currentColor); i >= 0 {
		return svg[i : i+len(currentColor)]
	}
	return ownColor(svg)
}

// ownColor returns the first colour of three or six hexadecimal digits that is the beginning of a
// value of XML or CSS.
func ownColor(svg []byte) []byte {
	for at := 0; ; {
		i := bytes.IndexByte(svg[at:], '#')
		if i < 0 {
			return nil
		}
		i += at
		end := i + 1
		for end < len(svg) && isNameByte(svg[end]) {
			end++
		}
		if i > 0 && (svg[i-1] == '"' || svg[i-1] == ':') && isOpaqueHex(svg[i+1:end]) {
			return svg[i:end]
		}
		at = end
	}
}

// isOpaqueHex reports whether digits are three or six hexadecimal ones.
func isOpaqueHex(digits []byte) bool {
	for _, c := range digits {
		if !('0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f') {
			return false
		}
	}
	return len(digits) == 3 || len(digits) == 6
}

func isNameByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_' || c >= 0x80
}

// literal returns the text of the colour of an SVG whose paint is p.
func (p Paint) literal(svg []byte) []byte {
	if p.length() == len(currentColor) {
		return currentColor
	}
	return ownColor(svg)
}

// Recolour replaces the one colour of a monochrome SVG with c. A translucent c becomes the colour
// without its alpha and an opacity of the whole icon, which old renderers draw too. Recolour
// returns a new slice, or svg itself if c is empty; it does not change svg.
func Recolour(svg []byte, c Color) []byte {
	if c == "" {
		return svg
	}
	p := PaintOf(svg)
	return AppendRecoloured(make([]byte, 0, p.RecolouredLen(len(svg), c)), svg, p, c)
}

// Replace replaces the one colour of a monochrome SVG, or of its inside, with another value of a
// paint, also a translucent colour. It returns a new slice.
func Replace(svg []byte, value string) []byte {
	literal := Literal(svg)
	if literal == nil {
		return bytes.Clone(svg)
	}
	return bytes.ReplaceAll(svg, literal, []byte(value))
}

// AppendRecoloured appends Recolour(svg, c) to dst, where p is PaintOf(svg). The colour must not be
// empty. Most icons have one paint, at the beginning, so that the rest need not be searched.
func AppendRecoloured(dst, svg []byte, p Paint, c Color) []byte {
	literal := p.literal(svg)
	if c.isOpaque() {
		return appendReplaced(dst, svg, literal, p.uses(), c)
	}
	inside := bytes.IndexByte(svg, '>') + 1
	end := max(inside, len(svg)-len("</svg>"))
	value, outer := c.Opaque(), p.uses()
	if outer > 0 {
		outer = bytes.Count(svg[:inside], literal)
	}
	dst = appendReplaced(dst, svg[:inside], literal, outer, value)
	dst = c.appendGroup(dst)
	dst = appendReplaced(dst, svg[inside:end], literal, p.uses()-outer, value)
	return append(append(dst, endGroup...), svg[end:]...)
}

// appendReplaced appends part with c in the place of a literal that it has so many times.
func appendReplaced(dst, part, literal []byte, uses int, c Color) []byte {
	for range uses {
		i := bytes.Index(part, literal)
		dst = append(append(dst, part[:i]...), c...)
		part = part[i+len(literal):]
	}
	return append(dst, part...)
}

// Opaque returns the colour without its alpha; empty: there is no colour.
func (c Color) Opaque() Color { return c[:min(len(c), len("#rrggbb"))] }

// isOpaque reports whether the colour has no alpha.
func (c Color) isOpaque() bool { return len(c) <= len("#rrggbb") }

// endGroup is the end of the group of a translucent icon.
const endGroup = "</g>"

// appendGroup appends the start of a group with the alpha of the colour as its opacity. It applies
// to the icon as a whole, so that shapes which lie upon each other do not show through, and an
// opacity within it counts too.
func (c Color) appendGroup(dst []byte) []byte {
	alpha := hexDigit(c[7])<<4 | hexDigit(c[8])
	return append(AppendShare(append(dst, `<g opacity="`...), alpha), `">`...)
}

// hexDigit returns the value of a digit of a Color.
func hexDigit(c byte) uint8 {
	if c <= '9' {
		return c - '0'
	}
	return c - 'a' + 10
}

// AppendShare appends an alpha of 0 to 255 as an opacity, with so many digits that it is read as
// the same alpha again.
func AppendShare(dst []byte, alpha uint8) []byte {
	if alpha == 0 || alpha == 255 {
		return append(dst, '0'+alpha&1)
	}
	thousandths := (int(alpha)*2000 + 255) / 510
	dst = append(dst, '0', '.')
	for unit := 100; thousandths > 0; unit /= 10 {
		dst = append(dst, byte('0'+thousandths/unit))
		thousandths %= unit
	}
	return dst
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

// RecolouredLen returns the length in bytes of a recoloured SVG, which had size bytes before.
func (p Paint) RecolouredLen(size int, c Color) int {
	size += p.uses() * (min(len(c), len("#rrggbb")) - p.length())
	if !c.isOpaque() {
		var group [32]byte
		size += len(c.appendGroup(group[:0])) + len(endGroup)
	}
	return size
}

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
	svg := answer[start:end]
	if c.isOpaque() {
		svg = Recolour(svg, c) // the colours have the same form in a string of JSON
	} else if svg = recolourString(svg, c); svg == nil {
		return answer
	}
	out := make([]byte, 0, len(answer)+64)
	out = append(out, answer[:start]...)
	out = append(out, svg...)
	out = append(out, answer[end:flag]...)
	out = append(out, isRecolored...)
	return append(out, answer[flag+len(uncoloured):]...)
}

// recolourString recolours an SVG in a string of JSON, without its quotation marks, and returns the
// new string as encoding/json writes it; nil: it is no string.
func recolourString(text []byte, c Color) []byte {
	var svg string
	if json.Unmarshal(slices.Concat([]byte{'"'}, text, []byte{'"'}), &svg) != nil {
		return nil
	}
	out, err := json.Marshal(string(Recolour([]byte(svg), c)))
	if err != nil { // a string has a JSON form
		panic(err)
	}
	return out[1 : len(out)-1]
}
