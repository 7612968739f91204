package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../.."

var (
	link    = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	// mention matches the path of a page from the root of the repository, also within an address.
	mention = regexp.MustCompile(`(?:^|[^\w./-])(?:https://github\.com/iconedge/iconedge/blob/main/)?(docs/[\w./-]*\w\.(?:md|yaml|json))\b`)
	blob    = regexp.MustCompile(`https://github\.com/iconedge/iconedge/blob/main/([\w./-]+\.(?:md|yaml))\b`)
)

// TestLinks checks that every relative link of a tracked Markdown file leads to a file, and to a
// heading of it where the link has an anchor, and that every page of docs/ that a tracked file
// names exists.
func TestLinks(t *testing.T) {
	files, err := tracked(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		src, err := os.ReadFile(filepath.Join(root, file))
		if err != nil || bytes.IndexByte(src, 0) >= 0 {
			continue // deleted in the work tree, a link to a folder, or not a text
		}
		for _, problem := range deadLinks(file, string(src)) {
			t.Error(problem)
		}
	}
}

// TestDeadLinks checks deadLinks. Each row is a line of docs/README.md, and whether its link is
// dead.
func TestDeadLinks(t *testing.T) {
	for _, row := range []struct {
		text string
		dead bool
	}{
		{"[api](reference/api.md)", false},
		{"[api](api.md)", true},
		{"[purging](reference/caching.md#purging)", false},
		{"[purging](reference/caching.md#no-such-heading)", true},
		{"[elsewhere](https://example.com/api.md)", false},
		{"see docs/reference/api.md", false},
		{"see docs/api" + ".md", true}, // in two parts, because this file is checked as well
		{"https://github.com/iconedge/iconedge/blob/main/docs/api" + ".md", true},
		{"`docs/openapi" + ".yaml`", true},
		{"```\n[api](api.md)\n```", false},
	} {
		if got := deadLinks("docs/README.md", row.text); (len(got) > 0) != row.dead {
			t.Errorf("%q: findings %q, want some: %v", row.text, got, row.dead)
		}
	}
}

// deadLinks returns the findings in one file.
func deadLinks(file, src string) (found []string) {
	for _, m := range append(mention.FindAllStringSubmatch(src, -1), blob.FindAllStringSubmatch(src, -1)...) {
		if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
			found = append(found, fmt.Sprintf("%s names %s, which does not exist", file, m[1]))
		}
	}
	if filepath.Ext(file) != ".md" {
		return found
	}
	for _, p := range markdown(src) {
		for _, m := range link.FindAllStringSubmatch(p.text, -1) {
			if strings.Contains(m[1], ":") {
				continue // an address
			}
			path, anchor, _ := strings.Cut(m[1], "#")
			to := filepath.Join(root, filepath.Dir(file), path)
			if path == "" {
				to = filepath.Join(root, file)
			}
			if _, err := os.Stat(to); err != nil {
				found = append(found, fmt.Sprintf("%s:%d: the link %s leads to no file", file, p.line, m[1]))
			} else if anchor != "" && !hasHeading(to, anchor) {
				found = append(found, fmt.Sprintf("%s:%d: the link %s leads to no heading", file, p.line, m[1]))
			}
		}
	}
	return found
}

// hasHeading reports whether a heading of the page has the anchor, as GitHub forms it: lower case,
// without punctuation, spaces as hyphens.
func hasHeading(page, anchor string) bool {
	src, err := os.ReadFile(page)
	if err != nil {
		return false
	}
	for _, m := range heading.FindAllStringSubmatch(string(src), -1) {
		name := punctuation.ReplaceAllString(strings.ToLower(m[1]), "")
		if strings.ReplaceAll(name, " ", "-") == anchor {
			return true
		}
	}
	return false
}

var punctuation = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
