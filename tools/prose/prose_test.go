package main

import (
	"slices"
	"strings"
	"testing"
)

// Each row is a sentence and whether a rule forbids it.
func TestRules(t *testing.T) {
	rules, err := parseRules(rulesText)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		text      string
		forbidden bool
	}{
		{"What is stored answers it.", true},
		{"it gets the answer of who asked before", true},
		{"the origin is told what changed", true},
		{"he waits for the flight", true},
		{"A nil one is of a request that nobody follows.", false}, // the rules are not a parser
		{"of one that has ended", true},
		{"a drawing of 24 by 24", true},
		{"Decide reports what is allowed.", false},
		{"docs/reference/config.md says what is read again.", false},
		{"operators who run several edges", false},
		{"The preflight is answered by the edge.", false},
		{"the lingering close; in-flight requests", false},
		{"The stored response answers the request.", false},
	} {
		got := slices.ContainsFunc(rules, func(r rule) bool { _, broken := r.broken(row.text); return broken })
		if got != row.forbidden {
			t.Errorf("%q: forbidden %v, want %v", row.text, got, row.forbidden)
		}
	}
}

// Each file has the wanted findings, with the line of each.
func TestCheck(t *testing.T) {
	rules, err := parseRules(`\bbad words\b => good words`)
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x ", 50) + "x"
	for _, row := range []struct {
		name, file, src string
		want            []string
	}{
		{"a comment over two lines", "a.go", "package a\n\n// F has bad\n// words.\nfunc F() {}\n",
			[]string{`a.go:3: "bad words"; good words`}},
		{"a log message", "a.go", "package a\n\nfunc f() {\n\tlog.Info(\"bad words\", \"key\", 1)\n}\n",
			[]string{`a.go:4: "bad words"; good words`}},
		{"another string", "a.go", "package a\n\nvar s = help(\"bad words\")\n", []string{`a.go:3: "bad words"; good words`}},
		{"a string that is no phrase", "a.go", "package a\n\nvar s = \"/ bad=words\"\n", nil},
		{"a name", "a.go", "package a\n\nfunc TestBadWords() {}\n\ntype badWords struct{}\n", []string{
			`a.go:3: "bad words"; good words`, `a.go:5: "bad words"; good words`,
		}},
		{"a wide comment", "a.go", "package a // " + long + "\n", []string{"a.go:1: comment of 114 columns; wrap it at 100"}},
		{"wide comments, by line", "a.go", "package a\n" + strings.Repeat("\n// "+long+"\n", 9), []string{
			"a.go:3: comment of 104 columns; wrap it at 100", "a.go:5: comment of 104 columns; wrap it at 100",
			"a.go:7: comment of 104 columns; wrap it at 100", "a.go:9: comment of 104 columns; wrap it at 100",
			"a.go:11: comment of 104 columns; wrap it at 100", "a.go:13: comment of 104 columns; wrap it at 100",
			"a.go:15: comment of 104 columns; wrap it at 100", "a.go:17: comment of 104 columns; wrap it at 100",
			"a.go:19: comment of 104 columns; wrap it at 100",
		}},
		{"a wide line of code", "a.go", "package a\n\nvar s = \"" + long + "\"\n", nil},
		{"a URL", "a.go", "package a // https://" + long + "\n", nil},
		{"a paragraph", "a.md", "# A\n\nbad\nwords `bad words`\n\n```\nbad words\n```\n", []string{`a.md:3: "bad words"; good words`}},
		{"code in a document", "a.md", "`bad words`\n", nil},
		{"a script", "a.ts", "// bad words\nconst s = 'bad words'\nconst t = \"x\" + `a\\`bad words`;\n", []string{
			`a.ts:1: "bad words"; good words`, `a.ts:2: "bad words"; good words`, `a.ts:3: "bad words"; good words`,
		}},
		{"code of a script", "a.ts", "const s = bad words\n", nil},
		{"a template", "a.html", "<p class=\"bad words\">{{bad words}}\n<b>bad</b> words<img alt=\"bad words\"></p>\n", []string{
			`a.html:2: "bad words"; good words`, `a.html:2: "bad words"; good words`,
		}},
		{"values in YAML", "a.yaml", "# bad words\nbad: words\na:\n  - b: 'so bad\n      words'\n  - bad words\n", []string{
			`a.yaml:1: "bad words"; good words`, `a.yaml:4: "bad words"; good words`, `a.yaml:6: "bad words"; good words`,
		}},
		{"a title in JSON", "a.json", "{\n\"title\": \"bad words\",\n\"other\": \"bad words\"\n}\n",
			[]string{`a.json:2: "bad words"; good words`}},
		{"a Makefile", "Makefile", "test: lint ## bad words\n", []string{`Makefile:1: "bad words"; good words`}},
		{"test data", "testdata/a.txt", "GET /a\n# bad\n# words\nbody == # bad words\n",
			[]string{`testdata/a.txt:2: "bad words"; good words`}},
		{"another text", "a.txt", "# bad words\n", nil},
	} {
		if got := check(row.file, row.src, rules); !slices.Equal(got, row.want) {
			t.Errorf("%s: %q, want %q", row.name, got, row.want)
		}
	}
}

func TestBelow(t *testing.T) {
	for _, row := range []struct {
		file, list string
		want       bool
	}{
		{"edge/cache/a.go", "edge", true},
		{"edges/a.go", "edge", false},
		{"a.go", "a.go", true},
	} {
		if got := below(row.file, []string{row.list}); got != row.want {
			t.Errorf("below(%s, %s) = %v, want %v", row.file, row.list, got, row.want)
		}
	}
}
