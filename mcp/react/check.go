package react

import (
	"regexp"
	"strings"
)

var (
	pixels    = regexp.MustCompile(`^data:image/(?:png|jpeg|jpg|gif|webp);base64,[A-Za-z0-9+/=]+$`)
	reference = regexp.MustCompile(`(?i)url\(\s*["']?#([^\s"'()\\]+)["']?\s*\)`)
)

// check refuses an attribute that could run something or reach out of the drawing: on… in any spelling, other references than
// those inside, and animations of what must stay as it was looked at.
func check(element, name, value string) error {
	local := strings.ToLower(name[strings.LastIndexByte(name, ':')+1:])
	switch {
	case strings.HasPrefix(local, "on"):
		return refused("it has an event handler")
	case name == "xmlns" && value != svgSpace, name == "xmlns:xlink" && value != xlinkSpace:
		return refused("it has a namespace that is not SVG's")
	case local == "href":
		return checkHref(element, strings.TrimSpace(value))
	case name == "attributeName" && !mayAnimate(strings.ToLower(value)):
		return refused("it animates what no drawing may")
	case strings.HasPrefix(name, "xmlns"):
		return nil
	}
	return checkValue(value)
}

func checkHref(element, value string) error {
	if strings.HasPrefix(value, "#") && len(value) > 1 || element == "image" && pixels.MatchString(value) {
		return nil
	}
	return refused("it has a reference that leads out of it")
}

func mayAnimate(name string) bool {
	if strings.HasPrefix(name, "on") || strings.ContainsAny(name, ": \\") {
		return false
	}
	return !rules.ForbiddenTargets[name]
}

// checkValue looks for addresses in a value, whatever it is the value of: no reader is trusted to know where those are followed.
func checkValue(value string) error {
	if !strings.ContainsAny(value, "(:@") {
		return nil // geometry, nearly always
	}
	if strings.Contains(value, `\`) && strings.Contains(value, "(") {
		return refused("it has an escape where a function is named")
	}
	tight := strings.ToLower(strings.Join(strings.Fields(value), ""))
	for _, sign := range [...]string{"script:", "expression(", "@import", "data:text", "image-set(", "src("} {
		if strings.Contains(tight, sign) {
			return refused("it has a value that could run, or be fetched")
		}
	}
	if strings.Contains(strings.ToLower(reference.ReplaceAllString(value, "")), "url(") {
		return refused("it has a reference that leads out of it")
	}
	return nil
}

// Check reports whether a drawing is harmless wherever it is put: nothing in it runs or leads out of it. The error wraps
// ErrRefused. What is harmless need not be fit for a component.
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
