package react

import (
	"regexp"
	"strings"
)

var (
	pixels    = regexp.MustCompile(`^data:image/(?:png|jpeg|jpg|gif|webp);base64,[A-Za-z0-9+/=]+$`)
	reference = regexp.MustCompile(`(?i)url\(\s*["']?#([^\s"'()\\]+)["']?\s*\)`)
)

// check rejects an attribute that could run a script or refer to something outside of the SVG:
// names that begin with on (in any case), external references, and animations of attributes whose
// values were checked.
func check(element, name, value string) error {
	local := strings.ToLower(name[strings.LastIndexByte(name, ':')+1:])
	switch {
	case strings.HasPrefix(local, "on"):
		return refused("it has an event handler")
	case name == "xmlns" && value != svgSpace, name == "xmlns:xlink" && value != xlinkSpace:
		return refused("it has a foreign namespace")
	case local == "href":
		return checkHref(element, strings.TrimSpace(value))
	case name == "attributeName" && !mayAnimate(strings.ToLower(value)):
		return refused("it animates an attribute that must not change")
	case strings.HasPrefix(name, "xmlns"):
		return nil
	}
	return checkValue(value)
}

func checkHref(element, value string) error {
	if strings.HasPrefix(value, "#") && len(value) > 1 || (element == "image" || element == "feImage") && pixels.MatchString(value) {
		return nil
	}
	return refused("it has an external reference")
}

func mayAnimate(name string) bool {
	if strings.HasPrefix(name, "on") || strings.ContainsAny(name, ": \\") {
		return false
	}
	return !rules.ForbiddenTargets[name]
}

// checkValue searches any value for addresses, because browsers follow them in more attributes than
// one can list.
func checkValue(value string) error {
	if !strings.ContainsAny(value, "(:@") {
		return nil // true of nearly all values: geometry
	}
	if strings.Contains(value, `\`) && strings.Contains(value, "(") {
		return refused("it has a backslash in a value with a function")
	}
	tight := strings.ToLower(strings.Join(strings.Fields(value), ""))
	for _, sign := range [...]string{"script:", "expression(", "@import", "data:text", "image-set(", "src("} {
		if strings.Contains(tight, sign) {
			return refused("it has a value that could run or load something")
		}
	}
	if strings.Contains(strings.ToLower(reference.ReplaceAllString(value, "")), "url(") {
		return refused("it has an external reference")
	}
	return nil
}

// Check reports whether an SVG is harmless in any context: it runs nothing, and refers to nothing
// outside. The error wraps ErrRefused. A harmless SVG need not be fit for a component.
func Check(svg string) error {
	root, err := parse(svg)
	if err != nil {
		return err
	}
	return checkSheets(root)
}

func checkSheets(n *node) error {
	for _, c := range n.children {
		if n.name == "style" {
			if err := checkValue(c.text); err != nil {
				return err
			}
		}
		if err := checkSheets(c); err != nil {
			return err
		}
	}
	return nil
}
