package edge

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// A corpusCase is one block of testdata/hostile: the bytes that one side sends, and their outcome.
// The beginning of each file describes the format.
type corpusCase struct {
	file, name string
	client     string            // bytes that a client sends
	origin     string            // or bytes that an origin sends
	then       string            // the origin's next action: none, or close
	want       string            // outcome; without --proxy-all only if own is empty
	own        string            // outcome without --proxy-all
	with       map[string]string // fields of the response; an empty value: no such field
}

// readCorpus reads all cases of one side.
func readCorpus(t *testing.T, side string) []corpusCase {
	t.Helper()
	files, err := filepath.Glob("testdata/hostile/" + side + "-*.txt")
	must(t, err)
	var all []corpusCase
	for _, file := range files {
		b, err := os.ReadFile(file)
		must(t, err)
		for block := range strings.SplitSeq(string(b), "\n\n") {
			if c, ok := readCase(t, block); ok {
				c.file = filepath.Base(file)
				all = append(all, c)
			}
		}
	}
	return all
}

// readCase parses a block of lines, each with a word, a colon and a value. Several client or origin
// lines are joined.
func readCase(t *testing.T, block string) (c corpusCase, ok bool) {
	t.Helper()
	for line := range strings.SplitSeq(block, "\n") {
		word, text, _ := strings.Cut(line, ": ")
		switch {
		case line == "", line[0] == '#':
		case word == "case":
			c.name = text
		case word == "client":
			c.client += corpusBytes(t, text)
		case word == "origin":
			c.origin += corpusBytes(t, text)
		case word == "then":
			c.then = text
		case word == "want":
			c.want = corpusBytes(t, text)
		case word == "own":
			c.own = corpusBytes(t, text)
		case word == "with":
			c.with = add(c.with, text)
		default:
			t.Fatalf("%q is not a line of a case", line)
		}
	}
	if c.name != "" && (c.want == "" || !strings.Contains(block, "\nclient: ") && !strings.Contains(block, "\norigin: ")) {
		t.Fatalf("%s: no bytes, or no outcome", c.name)
	}
	return c, c.name != ""
}

func add(m map[string]string, text string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	name, value, _ := strings.Cut(text, "=")
	m[name] = value
	return m
}

var repeatedCases = regexp.MustCompile(`\{(\d+)\*([^}]*)\}`)

// hiddenRequest must never be read as a request.
const hiddenRequest = "GET /hidden HTTP/1.1\r\nHost: edge.test\r\n\r\n"

// corpusBytes returns the bytes that a line stands for. It replaces Go's escapes, {hidden}, and
// {20*x} by twenty x.
func corpusBytes(t *testing.T, text string) string {
	t.Helper()
	text = repeatedCases.ReplaceAllStringFunc(text, func(s string) string {
		m := repeatedCases.FindStringSubmatch(s)
		n, err := strconv.Atoi(m[1])
		must(t, err)
		return strings.Repeat(m[2], n)
	})
	s, err := strconv.Unquote(`"` + strings.ReplaceAll(text, `"`, `\"`) + `"`)
	if err != nil {
		t.Fatalf("%.80q: %v", text, err)
	}
	return strings.ReplaceAll(s, "{hidden}", hiddenRequest)
}

// A wanted is one response that a client expects.
type wanted struct {
	status               int
	method, target, body string // of the request that the origin receives; no method: none
}

// outcome parses "POST /page hello; 404 GET /missing; 400; close" for a mode. The last item is
// open, close, or cut if the connection ends only after the client has ended its side.
func (c corpusCase) outcome(t *testing.T, proxyAll bool) (answers []wanted, end string) {
	t.Helper()
	text := c.want
	if !proxyAll && c.own != "" {
		text = c.own
	}
	items := strings.Split(text, "; ")
	for _, item := range items[:len(items)-1] {
		answers = append(answers, readWanted(t, item, proxyAll))
	}
	return answers, items[len(items)-1]
}

func readWanted(t *testing.T, item string, proxyAll bool) wanted {
	t.Helper()
	w := wanted{status: 200}
	first, rest, more := strings.Cut(item, " ")
	if n, err := strconv.Atoi(first); err == nil {
		w.status = n
		if !more {
			return w
		}
		first, rest, _ = strings.Cut(rest, " ")
	}
	if w.method = first; rest == "" {
		return wanted{status: w.status, target: first} // refused: no body after HEAD
	}
	w.target, w.body, _ = strings.Cut(rest, " ")
	own := strings.HasPrefix(w.target, "/mdi/") || w.target == "/"
	switch {
	case !own && !proxyAll:
		w = wanted{status: 404, method: "", target: w.method}
	case own && w.method != "GET" && w.method != "HEAD":
		w = wanted{status: 405, method: "", target: w.method}
	}
	return w
}

// String formats a wanted response for failure messages.
func (w wanted) String() string {
	return fmt.Sprintf("%d %s %s %.40q", w.status, w.method, w.target, w.body)
}
