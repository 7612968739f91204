package config

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Options says how a file is read.
type Options struct {
	// Lookup returns the value of an environment variable; nil: that of the process.
	Lookup func(name string) (value string, set bool)
	// Flags are the flags that have no place of their own in a file, by name. Each is a key of its
	// name in snake case.
	Flags map[string]Flag
	// Matches and Actions are the terms of rules, besides the fields of Entries and Rule.
	Matches, Actions []Term
	// Class returns an error for the name of a class, or PLAN:CLASS, that limits can't have; nil:
	// every plan and its classes are right.
	Class func(name string) error
}

// A Flag is the form of a flag's value in a file.
type Flag struct {
	Form       Form
	Repeatable bool                     // the key may have a list
	Check      func(value string) error // nil: every text is right
}

// A Form is the form of a flag's values.
type Form int

// The forms of flags.
const (
	Text Form = iota
	Time
	Bytes
	Boolean // true or false
	Switch  // on or off
	Whole   // a whole number
	Table   // a map, whose entries are NAME=VALUE on the command line
)

// Load reads a file. The error is Findings, also if the file can't be read.
func Load(name string, o Options) (*File, error) {
	fail := func(text string) (*File, error) {
		return nil, Findings{{File: name, Line: 1, Field: "file", Text: text}}
	}
	f, err := os.Open(name)
	if err != nil {
		return fail(reason(err) + "; must be a readable file")
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return fail(reason(err) + "; must be a readable file")
	}
	return Parse(name, text, o)
}

// Parse reads the text of a file; see Load.
func Parse(name string, text []byte, o Options) (*File, error) {
	sum := sha256.Sum256(text)
	f := &File{Name: name, Text: text, SHA256: hex.EncodeToString(sum[:]), Flags: map[string]Values{}, lines: map[string]int{}}
	fail := func(line int, text string) (*File, error) {
		return nil, Findings{{File: name, Line: line, Field: "file", Text: text}}
	}
	switch {
	case len(text) > maxFile:
		return fail(1, fmt.Sprintf("longer than %d bytes; must be shorter", maxFile))
	case !utf8.Valid(text):
		return fail(1+bytes.Count(text[:firstInvalid(text)], []byte("\n")), "no UTF-8; must be text in UTF-8")
	}
	root, rest, err := parse(text)
	if err != nil {
		line, problem := syntax(err)
		line = min(line, 1+bytes.Count(bytes.TrimRight(text, "\n"), []byte("\n")))
		return fail(line, problem+"; must be YAML")
	}
	d := &decoder{file: f, options: o}
	switch {
	case root == nil || root.Kind == yaml.ScalarNode && root.ShortTag() == "!!null":
		return fail(1, "empty; must have version: 1 and sites")
	case rest:
		return fail(root.Line, "more than one document; must be one, without a line of ---")
	}
	d.value("", root, f)
	if !d.stopped && root.Kind == yaml.MappingNode {
		d.check()
	}
	if len(d.findings) > 0 {
		return f, d.findings
	}
	return f, nil
}

// parse returns the root of the first document, nil if it is empty, and whether another follows.
// The parser panics for some texts.
func parse(text []byte) (root *yaml.Node, rest bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("yaml: %v", p)
		}
	}()
	if levels := nested(text); levels > maxNested {
		return nil, false, fmt.Errorf("yaml: line 1: %d values inside each other", levels)
	}
	in := yaml.NewDecoder(bytes.NewReader(text))
	var doc, next yaml.Node
	if err := in.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return nil, false, err
	}
	if err := in.Decode(&next); err == nil {
		rest = true
	} else if !errors.Is(err, io.EOF) {
		return nil, false, err
	}
	if len(doc.Content) == 0 {
		return nil, rest, nil
	}
	return doc.Content[0], rest, nil
}

// maxNested bounds brackets inside each other, because the time of the parser grows with the square
// of their number.
const maxNested = 1000

// nested returns how many brackets of a text are open at most, without regard to quotes.
func nested(text []byte) (most int) {
	open := 0
	for _, c := range text {
		switch c {
		case '[', '{':
			open++
			most = max(most, open)
		case ']', '}':
			open = max(0, open-1)
		case '\n':
		}
	}
	return most
}

func firstInvalid(text []byte) int {
	at := 0
	for at < len(text) {
		r, n := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		at += n
	}
	return at
}

var lineInError = regexp.MustCompile(`line (\d+): `)

// syntax returns the line and the text of an error of the YAML parser.
func syntax(err error) (line int, text string) {
	text, _, _ = strings.Cut(strings.TrimPrefix(err.Error(), "yaml: "), "\n")
	line = 1
	if m := lineInError.FindStringSubmatchIndex(text); m != nil {
		line, _ = strconv.Atoi(text[m[2]:m[3]])
		text = text[:m[0]] + text[m[1]:]
		if strings.HasPrefix(text, "did not find expected") {
			line++ // the parser counts from 0 here
		}
	}
	return max(1, line), clip(text)
}

// snake returns the key of a flag: origin-timeout is origin_timeout.
func snake(flag string) string { return strings.ReplaceAll(flag, "-", "_") }

// Override decodes settings, as YAML, over those of every site and of the defaults. The error is
// Findings.
func (f *File) Override(settings []byte) error {
	var doc yaml.Node
	if err := yaml.Unmarshal(settings, &doc); err != nil {
		return err
	}
	d := &decoder{file: f}
	d.value("defaults", doc.Content[0], &f.Defaults)
	for i := range f.Sites {
		d.value(f.Sites[i].At, doc.Content[0], &f.Sites[i].Settings)
	}
	if len(d.findings) > 0 {
		return d.findings
	}
	return nil
}
