package lsp

import (
	"path"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A position is a line and a character in it, both from 0, in the units of the session.
type position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

type span struct {
	Start position `json:"start"`
	End   position `json:"end"`
}

// A document is one version of an open text. It is never changed.
type document struct {
	uri, language string
	version       int
	text          string
	lines         []int // offsets of the beginnings of lines
	utf8          bool  // characters are bytes, else UTF-16 code units
}

func newDocument(uri, language string, version int, text string, inBytes bool) *document {
	d := &document{uri: uri, language: language, version: version, text: text, utf8: inBytes, lines: []int{0}}
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\r' && i+1 < len(text) && text[i+1] == '\n':
			// the line ends after the pair
		case text[i] == '\n', text[i] == '\r':
			d.lines = append(d.lines, i+1)
		}
	}
	return d
}

// line returns the offset of a line and its text without the line end.
func (d *document) line(n int) (start int, text string) {
	start, end := d.lines[n], len(d.text)
	if n+1 < len(d.lines) {
		end = d.lines[n+1]
	}
	return start, strings.TrimRight(d.text[start:end], "\r\n")
}

// offset returns the offset of a position in bytes. A position after the end of a line or of the
// text is its end (LSP 3.17, Position).
func (d *document) offset(p position) int {
	switch {
	case p.Line < 0:
		return 0
	case p.Line >= len(d.lines):
		return len(d.text)
	}
	start, line := d.line(p.Line)
	units := 0
	for i, r := range line {
		if units >= p.Character {
			return start + i
		}
		units += d.width(line[i:], r)
	}
	return start + len(line)
}

// width returns the number of units of the character at the beginning of s.
func (d *document) width(s string, r rune) int {
	if d.utf8 {
		_, size := utf8.DecodeRuneInString(s)
		return size
	}
	return max(1, utf16.RuneLen(r))
}

// position returns the position of an offset.
func (d *document) position(offset int) position {
	low, high := 0, len(d.lines)
	for high-low > 1 {
		if middle := (low + high) / 2; d.lines[middle] <= offset {
			low = middle
		} else {
			high = middle
		}
	}
	units, before := 0, d.text[d.lines[low]:offset]
	for i, r := range before {
		units += d.width(before[i:], r)
	}
	return position{low, units}
}

func (d *document) span(start, end int) span { return span{d.position(start), d.position(end)} }

// A change is an edit of a document. Without a range it replaces the whole text.
type change struct {
	Range *span  `json:"range"`
	Text  string `json:"text"`
}

// apply returns the document after changes, which apply one after another.
func (d *document) apply(version int, changes []change) *document {
	for _, c := range changes {
		text := c.Text
		if c.Range != nil {
			start, end := d.offset(c.Range.Start), d.offset(c.Range.End)
			if end < start {
				start, end = end, start
			}
			text = d.text[:start] + c.Text + d.text[end:]
		}
		d = newDocument(d.uri, d.language, version, text, d.utf8)
	}
	return d
}

// languageOf returns the language of a document: the editor's name for it, else that of the file's
// extension.
func languageOf(uri, language string) string {
	extension := strings.TrimPrefix(path.Ext(uri), ".")
	byExtension := map[string]string{"htm": "html", "md": "markdown", "jsx": "javascriptreact",
		"tsx": "typescriptreact", "svg": "xml"}[extension]
	switch {
	case language == "javascript" && extension == "jsx", language == "typescript" && extension == "tsx":
		return byExtension
	case language != "":
		return language
	case byExtension != "":
		return byExtension
	}
	return extension
}
