package svg

import "strings"

// role is the part that an element plays when an SVG is rendered.
type role uint8

const (
	roleGroup     role = iota // its children are painted in its place
	roleShape                 // painted by itself
	roleLine                  // a shape without an interior
	roleUse                   // paints the element that it refers to
	roleSymbol                // a group where a use element refers to it, otherwise not painted
	roleAside                 // painted only through a reference: defs, mask, filter, …
	rolePattern               // a paint server
	roleGradient              // a paint server
	roleStop                  // a stop of a gradient
	roleEffect                // a part of a filter
	roleAnimation             // changes its parent
	roleText                  // glyphs: fonts, and with them emoji, have colours of their own
	roleImage                 // pixels have colours of their own
	roleWords                 // title and desc: not painted
	roleStyle                 // CSS
)

// An element is an element type that the cleaner keeps.
type element struct {
	name  string
	role  role
	refer bool // its href may refer to something
	text  bool // its text is kept
	words bool // its child elements are left out
}

// elements is the allow-list, by the names of SVG 2 and Filter Effects 1. Names are case-sensitive.
// The list leaves out script, foreignObject, iframe, handler, metadata and every element
// that is not SVG; the cleaner removes those with all their content.
var elements = func() map[string]*element {
	table := map[string]*element{}
	add := func(r role, names string) {
		for _, name := range strings.Fields(names) {
			table[name] = &element{name: name, role: r}
		}
	}
	add(roleGroup, "g svg switch")
	add(roleShape, "path rect circle ellipse polyline polygon")
	add(roleLine, "line")
	add(roleUse, "use")
	add(roleSymbol, "symbol")
	add(roleAside, "defs clipPath mask marker filter")
	add(rolePattern, "pattern")
	add(roleGradient, "linearGradient radialGradient")
	add(roleStop, "stop")
	add(roleEffect, "feBlend feColorMatrix feComponentTransfer feComposite feConvolveMatrix feDiffuseLighting feDisplacementMap "+
		"feDistantLight feDropShadow feFlood feFuncA feFuncB feFuncG feFuncR feGaussianBlur feImage feMerge feMergeNode feMorphology "+
		"feOffset fePointLight feSpecularLighting feSpotLight feTile feTurbulence")
	add(roleAnimation, "animate animateTransform animateMotion set mpath")
	add(roleText, "text tspan textPath")
	add(roleImage, "image")
	add(roleWords, "title desc")
	add(roleStyle, "style")
	for _, name := range strings.Fields("use linearGradient radialGradient pattern textPath mpath filter animate " +
		"animateTransform animateMotion set image feImage") {
		table[name].refer = true
	}
	for _, name := range strings.Fields("text tspan textPath title desc style") {
		table[name].text = true
	}
	for _, name := range strings.Fields("title desc style") {
		table[name].words = true
	}
	table["a"] = table["g"] // the content of a link is kept, the link is not
	return table
}()

// check says how the value of an attribute is checked.
type check uint8

const (
	checkName check = iota // names and words
	// checkPlain is for geometry, numbers and transforms: browsers neither fetch nor run anything
	// for them.
	checkPlain
	checkCSS      // a presentation attribute: its value is CSS
	checkPaint    // a presentation attribute with a colour
	checkStyle    // declarations
	checkHref     // a reference "#id", or the data: URL of a raster image
	checkTarget   // the attribute that an animation changes
	checkAnimated // values that an animation sets
	checkSpace    // xmlns
)

// An attribute is an attribute that the cleaner keeps.
type attribute struct {
	name  string
	check check
	prop  property // the CSS property of that name, if any
}

// attributes is the allow-list, for all elements alike. It leaves out on… (event handlers), data-…
// (pages give those a meaning), and every attribute that SVG does not define.
var attributes = func() map[string]*attribute {
	table := map[string]*attribute{}
	add := func(c check, names string) {
		for _, name := range strings.Fields(names) {
			table[name] = &attribute{name: name, check: c, prop: properties[name]}
		}
	}
	add(checkName, "id class lang role aria-hidden aria-label aria-labelledby aria-describedby xml:space xml:lang type media "+
		"requiredFeatures requiredExtensions systemLanguage version baseProfile")
	add(checkPlain, "d points x y x1 y1 x2 y2 cx cy r rx ry fx fy fr width height dx dy rotate textLength "+
		"lengthAdjust startOffset method spacing side path pathLength "+
		"viewBox preserveAspectRatio transform gradientTransform patternTransform gradientUnits patternUnits "+
		"patternContentUnits spreadMethod offset "+
		"clipPathUnits maskUnits maskContentUnits markerUnits markerWidth markerHeight orient refX refY zoomAndPan "+
		"filterUnits primitiveUnits in in2 result mode operator k1 k2 k3 k4 stdDeviation edgeMode radius scale "+
		"xChannelSelector yChannelSelector "+
		"order kernelMatrix divisor bias targetX targetY preserveAlpha kernelUnitLength surfaceScale diffuseConstant "+
		"specularConstant specularExponent "+
		"azimuth elevation z pointsAtX pointsAtY pointsAtZ limitingConeAngle baseFrequency numOctaves seed "+
		"stitchTiles tableValues slope intercept amplitude exponent "+
		"attributeType begin dur end min max restart repeatCount repeatDur calcMode keyTimes keySplines keyPoints "+
		"additive accumulate origin")
	add(checkCSS, "alignment-baseline baseline-shift clip clip-path clip-rule color-interpolation "+
		"color-interpolation-filters color-rendering "+
		"cursor direction display dominant-baseline enable-background fill-opacity fill-rule filter flood-opacity "+
		"font font-family font-feature-settings font-kerning font-size "+
		"font-size-adjust font-stretch font-style font-variant font-weight glyph-orientation-horizontal glyph-orientation-vertical "+
		"image-rendering isolation kerning letter-spacing marker marker-end marker-mid marker-start mask mask-type "+
		"mix-blend-mode opacity overflow "+
		"paint-order pointer-events shape-rendering stop-opacity stroke-dasharray stroke-dashoffset stroke-linecap stroke-linejoin "+
		"stroke-miterlimit stroke-opacity stroke-width text-anchor text-decoration text-overflow text-rendering "+
		"transform-box transform-origin "+
		"unicode-bidi vector-effect visibility white-space word-spacing writing-mode")
	add(checkPaint, "fill stroke color stop-color flood-color lighting-color")
	add(checkStyle, "style")
	add(checkHref, "href xlink:href")
	add(checkTarget, "attributeName")
	add(checkAnimated, "values from to by")
	add(checkSpace, "xmlns")
	return table
}()

var (
	attrID        = attributes["id"]
	attrClass     = attributes["class"]
	attrStyle     = attributes["style"]
	attrHref      = attributes["href"]
	attrXlinkHref = attributes["xlink:href"]
	attrTarget    = attributes["attributeName"]
	attrType      = attributes["type"]
	attrMedia     = attributes["media"]
)
