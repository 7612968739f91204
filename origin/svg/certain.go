package svg

import (
	"slices"
	"strconv"
	"strings"
)

// A grammar describes the values of a property that every browser understands, and understands
// alike in a style sheet and in an attribute.
type grammar struct {
	form  valueForm
	words []string
}

type valueForm uint8

const (
	formWords   valueForm = iota
	formPaint             // a colour or a reference
	formNumber            // a number or a percentage
	formLength            // a number of a unit
	formMeasure           // a number, with or without a unit
	formList              // such numbers
	formURL               // a reference
	formFont              // names and strings
)

// grammars has the presentation attributes (SVG 2, section 6.6) whose values can be judged.
var grammars = func() map[string]grammar {
	table := map[string]grammar{}
	add := func(form valueForm, names, words string) {
		for _, name := range strings.Fields(names) {
			table[name] = grammar{form, append(strings.Fields(words), "inherit")}
		}
	}
	add(formPaint, "fill stroke color stop-color flood-color lighting-color", "")
	add(formNumber, "opacity fill-opacity stroke-opacity stop-opacity flood-opacity stroke-miterlimit", "")
	add(formMeasure, "stroke-width stroke-dashoffset", "")
	add(formList, "stroke-dasharray", "none")
	add(formURL, "clip-path mask filter marker-start marker-mid marker-end", "none")
	add(formLength, "font-size", "xx-small x-small small medium large x-large xx-large smaller larger")
	add(formLength, "letter-spacing word-spacing", "normal")
	add(formFont, "font-family", "")
	add(formNumber, "font-weight", "normal bold bolder lighter")
	add(formWords, "fill-rule clip-rule", "nonzero evenodd")
	add(formWords, "stroke-linecap", "butt round square")
	add(formWords, "stroke-linejoin", "miter round bevel")
	add(formWords, "visibility", "visible hidden collapse")
	add(formWords, "display", "none inline block")
	add(formWords, "overflow", "visible hidden scroll auto")
	add(formWords, "text-anchor", "start middle end")
	add(formWords, "font-style", "normal italic oblique")
	add(formWords, "font-variant", "normal small-caps")
	add(formWords, "font-stretch", "normal condensed expanded")
	add(formWords, "dominant-baseline", "auto middle central hanging alphabetic mathematical")
	add(formWords, "shape-rendering", "auto optimizeSpeed crispEdges geometricPrecision")
	add(formWords, "text-rendering", "auto optimizeSpeed optimizeLegibility geometricPrecision")
	add(formWords, "image-rendering", "auto optimizeSpeed optimizeQuality pixelated")
	add(formWords, "color-interpolation color-interpolation-filters", "auto sRGB linearRGB")
	add(formWords, "mask-type", "luminance alpha")
	add(formWords, "vector-effect", "none non-scaling-stroke")
	add(formWords, "paint-order", "normal fill stroke markers")
	return table
}()

// isInvalid reports whether a declaration of a style sheet has no effect because its length has no
// unit. In a style attribute of an SVG, browsers would accept it (Quirks Mode Standard, section
// 3.2).
func isInvalid(name string, value []byte) bool {
	switch name {
	case "font-size", "letter-spacing", "word-spacing", "width", "height":
		v := strings.TrimSpace(string(value))
		return isMeasure(v, true) && strings.Trim(v, "+-.0") != ""
	}
	return false
}

// isCertain reports whether a declaration means the same as the attribute of that name, and is
// valid. Browsers ignore an invalid declaration, and the ones that it would override apply.
func isCertain(name string, value []byte) bool {
	g, known := grammars[name]
	if !known {
		return false
	}
	v := strings.TrimSpace(string(value))
	if slices.ContainsFunc(g.words, func(w string) bool { return strings.EqualFold(w, v) }) {
		return true
	}
	switch g.form {
	case formPaint:
		switch p := readPaint(value); p.kind {
		case paintNone:
			return name == "fill" || name == "stroke" || !strings.EqualFold(v, "none")
		case paintCurrent, paintColor:
			return true
		case paintURL:
			return name == "fill" || name == "stroke"
		}
	case formNumber:
		switch name {
		case "font-weight":
			return len(v) == 3 && isMeasure(v, true)
		case "stroke-miterlimit":
			return isMeasure(v, true)
		}
		return isMeasure(v, true, "%")
	case formLength:
		return isMeasure(v, v == "0", lengthUnits...) && (name != "font-size" || !strings.HasPrefix(v, "-"))
	case formMeasure:
		return isMeasure(v, true, lengthUnits...) && (name == "stroke-dashoffset" || !strings.HasPrefix(v, "-"))
	case formList:
		list := strings.FieldsFunc(v, func(r rune) bool { return r == ' ' || r == ',' })
		return len(list) > 0 && !slices.ContainsFunc(list,
			func(one string) bool { return !isMeasure(one, true, lengthUnits...) || strings.HasPrefix(one, "-") })
	case formURL:
		_, ok := onlyURL([]byte(v))
		return ok
	case formFont:
		return !slices.ContainsFunc(tokens(value), func(t token) bool {
			return t.kind != tokIdent && t.kind != tokString && t.kind != tokSpace && !t.is(",")
		})
	}
	return false
}

var lengthUnits = []string{"px", "pt", "pc", "mm", "cm", "in", "em", "ex", "rem", "%"}

// isMeasure reports whether s is a number, plain or with one of the units.
func isMeasure(s string, plain bool, units ...string) bool {
	list := tokens([]byte(s))
	if len(list) != 1 || list[0].kind != tokNumber {
		return false
	}
	if _, err := strconv.ParseFloat(list[0].text, 64); err != nil {
		return false
	}
	if list[0].unit == "" {
		return plain
	}
	return slices.Contains(units, strings.ToLower(list[0].unit))
}
