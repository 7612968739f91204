package main

import (
	"encoding/xml"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// An element is one of the property list of the workflow.
type element struct {
	XMLName  xml.Name
	Text     string    `xml:",chardata"`
	Children []element `xml:",any"`
}

// valueOf returns the text after the key in a tree of elements.
func valueOf(e element, key string) (string, bool) {
	for i, child := range e.Children {
		if child.XMLName.Local == "key" && child.Text == key && i+1 < len(e.Children) {
			return e.Children[i+1].Text, true
		}
		if v, ok := valueOf(child, key); ok {
			return v, true
		}
	}
	return "", false
}

// The script of Alfred's workflow passes the query on as one argument, whatever characters it has,
// and says what is missing without the program.
func TestAlfredScript(t *testing.T) {
	data, err := os.ReadFile("../../clients/alfred/info.plist")
	if err != nil {
		t.Fatal(err)
	}
	var list element
	if err := xml.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	script, ok := valueOf(list, "script")
	if !ok {
		t.Fatal("the workflow has no script")
	}
	bin := t.TempDir()
	script = strings.Replace(script, "/opt/homebrew/bin:/usr/local/bin", bin, 1)
	run := func(query string) string {
		t.Helper()
		cmd := exec.Command("/bin/sh", "-c", script, "sh", query)
		cmd.Env = []string{"PATH=" + bin}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	const missing = `{"items":[{"title":"iconedge-client is not installed","subtitle":"Put it into /usr/local/bin.","valid":false}]}`
	if got := run("home"); got != missing {
		t.Errorf("without the program: %s", got)
	}
	program := "#!/bin/sh\nprintf '[%s]' \"$@\"\n"
	if err := os.WriteFile(filepath.Join(bin, "iconedge-client"), []byte(program), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{"home", `a "quoted" $(id) word`, "'; exit", "-x"} {
		if got, want := run(query), "[launcher][alfred][--]["+query+"]"; got != want {
			t.Errorf("query %s: %s, want %s", query, got, want)
		}
	}
}
