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

// A wallCase is one block of testdata/wall: what one side sends, byte for byte, and what comes of it. The files say at their top how
// they are written.
type wallCase struct {
	file, name string
	client     string            // bytes of a client
	origin     string            // or of an origin
	then       string            // what the origin does next: nothing, or close
	want       string            // outcome with --proxy-all, and without, where own is empty
	own        string            // outcome without --proxy-all
	with       map[string]string // fields that the answer has; an empty value: that it has not
}

// readCorpus reads every case of one side.
func readCorpus(t *testing.T, side string) []wallCase {
	t.Helper()
	files, err := filepath.Glob("testdata/wall/" + side + "-*.txt")
	must(t, err)
	var all []wallCase
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

// readCase reads a block: lines of a word, a colon and what it says. client and origin go on where they are given again.
func readCase(t *testing.T, block string) (c wallCase, ok bool) {
	t.Helper()
	for line := range strings.SplitSeq(block, "\n") {
		word, says, _ := strings.Cut(line, ": ")
		switch {
		case line == "", line[0] == '#':
		case word == "case":
			c.name = says
		case word == "client":
			c.client += wallBytes(t, says)
		case word == "origin":
			c.origin += wallBytes(t, says)
		case word == "then":
			c.then = says
		case word == "want":
			c.want = wallBytes(t, says)
		case word == "own":
			c.own = wallBytes(t, says)
		case word == "with":
			c.with = add(c.with, says)
		default:
			t.Fatalf("%q is no line of a case", line)
		}
	}
	if c.name != "" && (c.want == "" || !strings.Contains(block, "\nclient: ") && !strings.Contains(block, "\norigin: ")) {
		t.Fatalf("%s: no bytes, or no outcome", c.name)
	}
	return c, c.name != ""
}

func add(m map[string]string, says string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	name, value, _ := strings.Cut(says, "=")
	m[name] = value
	return m
}

var repeatedCases = regexp.MustCompile(`\{(\d+)\*([^}]*)\}`)

// hiddenRequest is what must never be read as a request.
const hiddenRequest = "GET /hidden HTTP/1.1\r\nHost: edge.test\r\n\r\n"

// wallBytes are the bytes that a line stands for: Go's escapes, {hidden}, {20*x} for twenty x.
func wallBytes(t *testing.T, says string) string {
	t.Helper()
	says = repeatedCases.ReplaceAllStringFunc(says, func(s string) string {
		m := repeatedCases.FindStringSubmatch(s)
		n, err := strconv.Atoi(m[1])
		must(t, err)
		return strings.Repeat(m[2], n)
	})
	s, err := strconv.Unquote(`"` + strings.ReplaceAll(says, `"`, `\"`) + `"`)
	if err != nil {
		t.Fatalf("%.80q: %v", says, err)
	}
	return strings.ReplaceAll(s, "{hidden}", hiddenRequest)
}

// A wanted is one answer that a client gets, in its order.
type wanted struct {
	status               int
	method, target, body string // of the request that reached the origin; no method: none did
}

// outcome reads "POST /page hello; 404 GET /missing; 400; close" for a mode: what ends it is open, close or cut, where the client
// sends no more.
func (c wallCase) outcome(t *testing.T, proxyAll bool) (answers []wanted, end string) {
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
		return wanted{status: w.status, target: first} // a method alone, of what is refused: after a HEAD no body follows
	}
	w.target, w.body, _ = strings.Cut(rest, " ")
	own := strings.HasPrefix(w.target, "/mdi/")
	switch {
	case !own && !proxyAll:
		w = wanted{status: 404, method: "", target: w.method}
	case own && w.method != "GET" && w.method != "HEAD":
		w = wanted{status: 405, method: "", target: w.method}
	}
	return w
}

// String is for messages of tests.
func (w wanted) String() string {
	return fmt.Sprintf("%d %s %s %.40q", w.status, w.method, w.target, w.body)
}
