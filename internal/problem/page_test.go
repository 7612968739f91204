package problem

import (
	"strings"
	"testing"
)

func TestWantsPage(t *testing.T) {
	for _, row := range []struct {
		accept string
		want   bool
	}{
		// A browser, for an address that a person opens.
		{"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", true},
		{"Text/HTML; q=0.5", true},
		{"text/html, application/xhtml+xml, image/jxr, */*", true},
		{"text/html;level=1;q=0.7, */*;q=0.7", true},
		{"application/json, text/html;q=0.9", false},
		{"image/*, text/html;q=0.1", false},
		// Images of Chromium and Firefox.
		{"image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8", false},
		{"image/avif,image/webp,image/png,image/svg+xml,image/*;q=0.8,*/*;q=0.5", false},
		{"text/html;q=NaN", false},
		{"text/html;q=2", false},
		{"text/html;q=", false},
		{strings.Repeat("text/html;q=0,", 500), false},
		{"application/json, text/html;charset=utf-8", true},
		{"*/*", false}, // curl, and fetch of scripts
		{"", false},
		{"text/*", false},
		{"application/problem+json", false},
		{"text/html;q=0, application/json", false},
		{"text/html; q=0.000", false},
		{"text/html5", false},
	} {
		if got := WantsPage(row.accept); got != row.want {
			t.Errorf("WantsPage(%q) = %v, want %v", row.accept, got, row.want)
		}
	}
}

func TestPage(t *testing.T) {
	page := string(New(429, "try <b> again").Page(`a"b`))
	for _, part := range []string{"<!DOCTYPE html>", "<h1>Too Many Requests</h1>", "<p>Try &lt;b&gt; again.</p>",
		`lang="en"`, `action="/search"`, `value="a&#34;b"`} {
		if !strings.Contains(page, part) {
			t.Errorf("the page lacks %s:\n%s", part, page)
		}
	}
	for _, part := range []string{"<style", "<script", "<b>"} {
		if strings.Contains(page, part) {
			t.Errorf("the page has %s:\n%s", part, page)
		}
	}
}
