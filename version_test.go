package iconedge

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/test/golden"
)

// versioned has the files in which the version stands, and where: each match of the expression has
// it as its group.
var versioned = map[string]string{
	"clients/package.json":            `"version": "(.*?)"`,
	"clients/package-lock.json":       `"name": "@iconedge/plugins",\s*"version": "(.*?)"`,
	"clients/react/package.json":      `"version": "(.*?)"`,
	"clients/react/package-lock.json": `"name": "@iconedge/react",\s*"version": "(.*?)"`,
	"deploy/Containerfile":            `(?m)^ARG VERSION=(.*)$`,
	"deploy/helm/iconedge/Chart.yaml": `(?m)^(?:version|appVersion): "?([^"\n]*)`,
	"mcp/bundle/manifest.json":        `"version": "(.*?)"`,
	"mcp/server.json":                 `"version": "(.*?)"|ghcr.io/iconedge/iconedge:([^"]*)`,
}

// The packages of clients, the chart and the manifests have the version that programs print, of
// internal/cli/version.txt; -update writes it into them. It is also the newest one of the
// changelog. Plugins have 0.0.0, which make plugins replaces.
func TestVersion(t *testing.T) {
	text, err := os.ReadFile("internal/cli/version.txt")
	if err != nil {
		t.Fatal(err)
	}
	version := strings.TrimSpace(string(text))
	for name, expression := range versioned {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var want strings.Builder
		rest := 0
		for _, at := range regexp.MustCompile(expression).FindAllSubmatchIndex(text, -1) {
			group := at[2:4]
			if group[0] < 0 {
				group = at[4:6]
			}
			want.Write(text[rest:group[0]])
			want.WriteString(version)
			rest = group[1]
		}
		if rest == 0 {
			t.Errorf("%s has no version", name)
		}
		want.Write(text[rest:])
		golden.Check(t, name, []byte(want.String()))
	}
	changes, err := os.ReadFile("CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	newest := regexp.MustCompile(`(?m)^## (\d+\.\d+\.\d+) · \d{4}-\d\d-\d\d$`).FindSubmatch(changes)
	if newest == nil || string(newest[1]) != version {
		t.Errorf("the newest version of CHANGELOG.md is %q, want %s with its date", newest, version)
	}
}
