//go:build linux

package report

import (
	"fmt"
	"strings"
)

// ReplaceSection replaces the text of a page between two lines: one that says which command makes
// it, and one that ends it.
func ReplaceSection(page, section, command, text string) (string, error) {
	begins := fmt.Sprintf("<!-- %s: made by loadtest %s -->\n", section, command)
	ends := fmt.Sprintf("<!-- end of %s -->\n", section)
	before, rest, found := strings.Cut(page, begins)
	_, after, ended := strings.Cut(rest, ends)
	if !found || !ended {
		return "", fmt.Errorf("the page has no lines %q and %q", begins, ends)
	}
	return before + begins + "\n" + text + "\n" + ends + after, nil
}
