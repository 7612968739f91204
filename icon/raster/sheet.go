package raster

import (
	"slices"
	"strings"
)

// A declaration is an attribute or a CSS declaration.
type declaration struct {
	name, value string
	important   bool
}

// A styleRule has one selector, because each selector of a list has a specificity of its own.
type styleRule struct {
	selector
	declarations []declaration
}

// readSheet reads the rules of a style element. It draws no sheet with at-rules, or selectors that
// it does not know, because it could not say what they change.
func readSheet(rules []styleRule, css string) ([]styleRule, error) {
	for css = strings.TrimSpace(uncommented(css)); css != ""; css = strings.TrimSpace(css) {
		prelude, rest, ok := strings.Cut(css, "{")
		body, after, closed := strings.Cut(rest, "}")
		if !ok || !closed || strings.Contains(body, "{") || strings.HasPrefix(prelude, "@") {
			return nil, unsupported("style sheet")
		}
		css = after
		list := declarations(body)
		for s := range strings.SplitSeq(prelude, ",") {
			selector, ok := readSelector(s)
			if !ok {
				return nil, unsupported("style sheet")
			}
			if rules = append(rules, styleRule{selector, list}); len(rules) > 1000 {
				return nil, ErrTooComplex
			}
		}
	}
	return rules, nil
}

func uncommented(css string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(css, "/*")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		_, css, _ = strings.Cut(rest, "*/")
	}
}

func sortRules(rules []styleRule) {
	slices.SortStableFunc(rules, func(a, b styleRule) int { return a.specificity - b.specificity })
}

// declarations reads the declarations of a rule or a style attribute.
func declarations(s string) (list []declaration) {
	for part := range strings.SplitSeq(s, ";") {
		name, value, ok := strings.Cut(part, ":")
		if !ok {
			continue
		}
		value, important := strings.CutSuffix(strings.TrimSpace(value), "!important")
		list = append(list, declaration{strings.ToLower(strings.TrimSpace(name)), strings.TrimSpace(value), important})
	}
	return list
}
