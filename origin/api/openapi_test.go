package api

import (
	"encoding/json"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/iconedge/iconedge/test/golden"
)

// TestOpenAPI checks that docs/reference/openapi.yaml is the same as /api/v1/openapi.json of a
// service on the default address. A difference that a client could notice needs another apiVersion.
func TestOpenAPI(t *testing.T) {
	got := asYAML(t, newEntity(Document("http://127.0.0.1:8080")).body)
	golden.Check(t, filepath.Join("..", "..", "docs", "reference", "openapi.yaml"), got)
}

// asYAML converts JSON to YAML and keeps the order of the fields.
func asYAML(t *testing.T, data []byte) []byte {
	t.Helper()
	var n yaml.Node
	if err := yaml.Unmarshal(data, &n); err != nil { // JSON is YAML
		t.Fatal(err)
	}
	plain(&n)
	var b strings.Builder
	b.WriteString("# Made from the Go types by `go test ./origin/api -update`: do not edit.\n")
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(&n); err != nil {
		t.Fatal(err)
	}
	return []byte(b.String())
}

// plain removes the braces and quotation marks of JSON.
func plain(n *yaml.Node) {
	n.Style = 0
	for _, c := range n.Content {
		plain(c)
	}
}

// TestDocumentIsWhole checks that every field of every answer is described, and that the document
// has every endpoint and parameter of the router.
func TestDocumentIsWhole(t *testing.T) {
	var d struct {
		Paths map[string]map[string]struct {
			Parameters []struct{ Name, In string }
		}
		Components struct {
			Schemas map[string]struct {
				Description string
				Properties  map[string]struct {
					Ref         string `json:"$ref"`
					Description string
				}
			}
		}
	}
	if err := json.Unmarshal(newEntity(Document("http://127.0.0.1:8080")).body, &d); err != nil {
		t.Fatal(err)
	}
	for name, s := range d.Components.Schemas {
		if s.Description == "" {
			t.Errorf("%s is not described", name)
		}
		for field, p := range s.Properties {
			if p.Ref == "" && p.Description == "" {
				t.Errorf("%s.%s is not described", name, field)
			}
		}
	}
	for path, e := range map[string]*endpoint{
		"/{pack}/{name}.svg": cdnPath, pngPath.pattern: pngPath, icoPath.pattern: icoPath,
		rowPath.pattern: rowPath, rowPNGPath.pattern: rowPNGPath,
		"/api/v1/icon/{pack}/{name}": iconPath, "/api/v1/search": searchPath,
		"/api/v1/suggest": suggestPath, "/api/v1/packs": packsPath,
		"/api/v1/packs/{pack}": packPath, "/api/v1/auth/verify": verifyPath, "/api/v1/openapi.json": openapiPath,
		"/-/release": releasePath, "/-/names": namesPath, "/healthz": healthPath,
	} {
		op := d.Paths[path][strings.ToLower(e.methods[0])]
		got := map[string]bool{}
		for _, p := range op.Parameters {
			if p.In == "query" {
				got[p.Name] = true
			}
		}
		want := map[string]bool{}
		for _, name := range e.params {
			want[name] = true
		}
		if e == pngPath || e == icoPath || e == rowPNGPath {
			delete(want, "dark") // which they refuse
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: the document has the parameters %v, the router %v", path, got, want)
		}
	}
}

// TestReferences checks that every reference leads to a component, and that the document describes
// every object with properties as a component.
func TestReferences(t *testing.T) {
	var d map[string]any
	if err := json.Unmarshal(newEntity(Document("http://127.0.0.1:8080")).body, &d); err != nil {
		t.Fatal(err)
	}
	components := d["components"].(map[string]any)
	for kind, named := range components {
		for name, c := range named.(map[string]any) {
			checkReferences(t, components, kind+"/"+name, c, true)
		}
	}
	checkReferences(t, components, "paths", d["paths"], false)
}

// checkReferences checks one value of the document and everything in it.
func checkReferences(t *testing.T, components map[string]any, at string, v any, component bool) {
	t.Helper()
	switch v := v.(type) {
	case []any:
		for i, item := range v {
			checkReferences(t, components, at+"/"+strconv.Itoa(i), item, false)
		}
	case map[string]any:
		if ref, ok := v["$ref"].(string); ok {
			kind, name, _ := strings.Cut(strings.TrimPrefix(ref, "#/components/"), "/")
			if all, ok := components[kind].(map[string]any); !ok || all[name] == nil {
				t.Errorf("%s refers to %s, which is not a component", at, ref)
			}
		}
		if _, object := v["properties"]; object && v["type"] == "object" && !component {
			t.Errorf("%s describes an object in place; add its type to answerTypes", at)
		}
		for name, item := range v {
			checkReferences(t, components, at+"/"+name, item, false)
		}
	}
}
