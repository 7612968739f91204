package react

import "strings"

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// elements are those of a drawing: what origin/svg keeps. Not among them: script, foreignObject, a, feImage, and all of HTML.
var elements = set("svg g switch path rect circle ellipse polyline polygon line use symbol defs clipPath mask marker filter pattern " +
	"linearGradient radialGradient stop feBlend feColorMatrix feComponentTransfer feComposite feConvolveMatrix feDiffuseLighting " +
	"feDisplacementMap feDistantLight feDropShadow feFlood feFuncA feFuncB feFuncG feFuncR feGaussianBlur feMerge feMergeNode " +
	"feMorphology feOffset fePointLight feSpecularLighting feSpotLight feTile feTurbulence animate animateTransform animateMotion " +
	"set mpath text tspan textPath image title desc style")

// texts are the elements whose text is shown.
var texts = set("text tspan textPath title desc")

// rootOmits are attributes of the outermost svg that the component says itself, or that say nothing.
var rootOmits = set("xmlns xmlns:xlink x y version baseProfile zoomAndPan")

// forbiddenTargets are attributes that no animation may change.
var forbiddenTargets = set("href src style class id attributename xmlns type media target values from to by begin end cursor")

// attributes gives each attribute that is kept its name in React: mostly its own.
var attributes = func() map[string]string {
	m := map[string]string{"class": "className", "xlink:href": "xlinkHref", "xml:space": "xmlSpace", "xml:lang": "xmlLang", "mask-type": "mask-type"}
	for _, name := range strings.Fields("id lang role aria-hidden aria-label aria-labelledby aria-describedby type media focusable " +
		"requiredFeatures requiredExtensions systemLanguage d points x y x1 y1 x2 y2 cx cy r rx ry fx fy fr width height dx dy rotate " +
		"textLength lengthAdjust startOffset method spacing path pathLength viewBox preserveAspectRatio transform gradientTransform " +
		"patternTransform gradientUnits patternUnits patternContentUnits spreadMethod offset clipPathUnits maskUnits maskContentUnits " +
		"markerUnits markerWidth markerHeight orient refX refY filterUnits primitiveUnits in in2 result mode operator k1 k2 k3 k4 " +
		"stdDeviation edgeMode radius scale xChannelSelector yChannelSelector order kernelMatrix divisor bias targetX targetY " +
		"preserveAlpha kernelUnitLength surfaceScale diffuseConstant specularConstant specularExponent azimuth elevation z pointsAtX " +
		"pointsAtY pointsAtZ limitingConeAngle baseFrequency numOctaves seed stitchTiles tableValues slope intercept amplitude exponent " +
		"attributeName attributeType begin dur end min max restart repeatCount repeatDur calcMode keyTimes keySplines keyPoints additive " +
		"accumulate origin values from to by href clip color cursor direction display fill filter kerning mask opacity overflow stroke visibility") {
		m[name] = name
	}
	for _, name := range strings.Fields("alignment-baseline baseline-shift clip-path clip-rule color-interpolation color-interpolation-filters " +
		"color-rendering dominant-baseline enable-background fill-opacity fill-rule flood-color flood-opacity font-family font-size " +
		"font-size-adjust font-stretch font-style font-variant font-weight glyph-orientation-horizontal glyph-orientation-vertical " +
		"image-rendering letter-spacing lighting-color marker-end marker-mid marker-start paint-order pointer-events shape-rendering " +
		"stop-color stop-opacity stroke-dasharray stroke-dashoffset stroke-linecap stroke-linejoin stroke-miterlimit stroke-opacity " +
		"stroke-width text-anchor text-decoration text-rendering unicode-bidi vector-effect word-spacing writing-mode") {
		m[name] = camel(name)
	}
	return m
}()

// styled are presentation attributes that one of React 18.3 and 19, or its types, has no name for: they are written as styles.
var styled = func() map[string]string {
	m := map[string]string{}
	for name := range set("font font-feature-settings font-kerning isolation marker mix-blend-mode text-overflow transform-box transform-origin white-space") {
		m[name] = name
	}
	return m
}()

// keywords are the values that React's types know of an attribute that takes words alone.
var keywords = lists("accumulate: none sum\nadditive: replace sum\npreserveAlpha: true false\nfocusable: true false auto\naria-hidden: true false\n" +
	"alignment-baseline: auto baseline before-edge text-before-edge middle central after-edge text-after-edge ideographic alphabetic hanging mathematical inherit\n" +
	"dominant-baseline: auto use-script no-change reset-size ideographic alphabetic hanging mathematical central middle text-after-edge text-before-edge inherit\n" +
	"color-interpolation-filters: auto sRGB linearRGB inherit\nfill-rule: nonzero evenodd inherit\nstroke-linecap: butt round square inherit\n" +
	"stroke-linejoin: miter round bevel inherit\ntext-anchor: start middle end inherit")

// cssProperties are those that can change how a drawing looks.
var cssProperties = set("alignment-baseline baseline-shift clip clip-path clip-rule color color-interpolation color-interpolation-filters " +
	"color-rendering cursor direction display dominant-baseline fill fill-opacity fill-rule filter flood-color flood-opacity font font-family " +
	"font-feature-settings font-kerning font-size font-size-adjust font-stretch font-style font-variant font-weight image-rendering isolation " +
	"letter-spacing lighting-color marker marker-end marker-mid marker-start mask mask-type mix-blend-mode opacity overflow paint-order " +
	"pointer-events shape-rendering stop-color stop-opacity stroke stroke-dasharray stroke-dashoffset stroke-linecap stroke-linejoin " +
	"stroke-miterlimit stroke-opacity stroke-width text-anchor text-decoration text-overflow text-rendering transform transform-box " +
	"transform-origin unicode-bidi vector-effect visibility white-space word-spacing writing-mode -webkit-mask -webkit-clip-path -webkit-transform -ms-transform")

// cssWords are the values that React's types know of a property that takes words alone.
var cssWords = lists("alignment-baseline: alphabetic baseline central ideographic mathematical middle text-after-edge text-before-edge\n" +
	"clip-rule: evenodd nonzero\nfill-rule: evenodd nonzero\ncolor-interpolation: auto linearRGB sRGB\ncolor-interpolation-filters: auto linearRGB sRGB\n" +
	"color-rendering: auto optimizeQuality optimizeSpeed\ndirection: ltr rtl\n" +
	"dominant-baseline: alphabetic auto central hanging ideographic mathematical middle text-bottom text-top\nfont-kerning: auto none normal\n" +
	"image-rendering: auto crisp-edges pixelated smooth\nisolation: auto isolate\nmask-type: alpha luminance\n" +
	"mix-blend-mode: normal multiply screen overlay darken lighten color-dodge color-burn hard-light soft-light difference exclusion hue saturation color luminosity plus-lighter\n" +
	"pointer-events: all auto fill none painted stroke visible visibleFill visiblePainted visibleStroke\n" +
	"shape-rendering: auto crispEdges geometricPrecision optimizeSpeed\nstroke-linecap: butt round square\nstroke-linejoin: bevel miter round\n" +
	"text-anchor: end middle start\ntext-rendering: auto geometricPrecision optimizeLegibility optimizeSpeed\n" +
	"transform-box: border-box content-box fill-box stroke-box view-box\nunicode-bidi: bidi-override embed isolate isolate-override normal plaintext\n" +
	"vector-effect: non-scaling-stroke none\nvisibility: collapse hidden visible inherit\nwriting-mode: horizontal-tb vertical-lr vertical-rl")

// lists reads lines of "name: word word".
func lists(lines string) map[string][]string {
	m := map[string][]string{}
	for line := range strings.Lines(lines) {
		name, words, _ := strings.Cut(line, ":")
		m[name] = strings.Fields(words)
	}
	return m
}
