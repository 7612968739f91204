package deploy

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestChartReadme: each value has a comment, and the table in the chart's README is made from
// values.yaml.
func TestChartReadme(t *testing.T) {
	var doc yaml.Node
	if err := yaml.Unmarshal(read(t, "helm", "iconedge", "values.yaml"), &doc); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	b.WriteString("# The chart's values\n\n`make golden` makes this page from values.yaml. values.schema.json rejects " +
		"values out of range, with a message that names them.\n\n| value | default | is |\n|---|---|---|\n")
	describe(t, &b, "", doc.Content[0], "")
	same(t, filepath.Join(chartFolder, "README.md"), b.Bytes())
}

// describe writes the lines of a value. A value without comments below it is a leaf.
func describe(t *testing.T, b *bytes.Buffer, name string, node *yaml.Node, comment string) {
	if node.Kind == yaml.MappingNode && commented(node) {
		for i := 0; i < len(node.Content); i += 2 {
			key := node.Content[i]
			describe(t, b, strings.TrimPrefix(name+"."+key.Value, "."), node.Content[i+1], key.HeadComment)
		}
		return
	}
	words := strings.Join(strings.Fields(strings.ReplaceAll(comment, "#", "")), " ")
	if words == "" {
		t.Errorf("values.yaml: %s has no comment", name)
	}
	node.HeadComment, node.LineComment, node.FootComment = "", "", ""
	if node.Kind != yaml.ScalarNode {
		node.Style = yaml.FlowStyle
	}
	value, err := yaml.Marshal(node)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(b, "| `%s` | `%s` | %s |\n", name, strings.Join(strings.Fields(string(value)), " "), strings.ReplaceAll(words, "|", `\|`))
}

// commented reports whether the entries of a mapping have comments.
func commented(node *yaml.Node) bool {
	for i := 0; i < len(node.Content); i += 2 {
		if node.Content[i].HeadComment != "" || node.Content[i+1].Kind == yaml.MappingNode && commented(node.Content[i+1]) {
			return true
		}
	}
	return false
}
