package mcp

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"
)

// read decodes a JSON file into a type that must have all of its members.
func read(t *testing.T, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// variables returns the environment variables of the flags of `iconedge mcp`.
func variables() map[string]bool {
	fs := flag.NewFlagSet("mcp", flag.ContinueOnError)
	new(Config).Flags(fs)
	m := map[string]bool{}
	fs.VisitAll(func(f *flag.Flag) { m["ICONEDGE_"+strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))] = true })
	return m
}

// TestServerJSON: server.json has the form that the MCP registry requires (schema of 2025-12-11),
// and every variable in it exists.
func TestServerJSON(t *testing.T) {
	type variable struct {
		Name, Description, Placeholder string
		IsRequired, IsSecret           bool
	}
	var s struct {
		Schema                            string `json:"$schema"`
		Name, Title, Description, Version string
		Repository                        struct{ URL, Source, Subfolder string }
		Packages                          []struct {
			RegistryType, Identifier, RuntimeHint string
			PackageArguments                      []struct{ Type, Value string }
			Transport                             struct{ Type string }
			EnvironmentVariables                  []variable
		}
	}
	read(t, "server.json", &s)
	for what, ok := range map[string]bool{
		"schema":      s.Schema == "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
		"name":        regexp.MustCompile(`^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$`).MatchString(s.Name) && len(s.Name) <= 200,
		"title":       s.Title != "" && len(s.Title) <= 100,
		"description": s.Description != "" && len(s.Description) <= 100,
		"version":     regexp.MustCompile(`^\d+\.\d+\.\d+$`).MatchString(s.Version),
		"repository":  s.Repository.URL != "" && s.Repository.Source == "github",
		"package": len(s.Packages) == 1 && s.Packages[0].RegistryType == "oci" &&
			strings.HasSuffix(s.Packages[0].Identifier, ":"+s.Version) &&
			s.Packages[0].PackageArguments[0] == struct{ Type, Value string }{"positional", "mcp"} &&
			s.Packages[0].Transport.Type == "stdio",
	} {
		if !ok {
			t.Errorf("its %s is not as the registry takes it: %+v", what, s)
		}
	}
	for _, v := range s.Packages[0].EnvironmentVariables {
		if !variables()[v.Name] || !v.IsRequired || v.IsSecret != strings.Contains(v.Name, "TOKEN") {
			t.Errorf("variable %+v", v)
		}
	}
}

// TestManifest: the bundle's manifest lists the tools, prompts and variables that exist. `make
// conformance` checks it against its schema.
func TestManifest(t *testing.T) {
	var m struct {
		Tools, Prompts []struct{ Name, Description string }
		Server         struct {
			MCPConfig struct{ Env map[string]string } `json:"mcp_config"`
		}
		UserConfig map[string]struct{ Sensitive, Required bool } `json:"user_config"`
	}
	data, err := os.ReadFile("bundle/manifest.json")
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range m.Tools {
		if _, ok := tools[tool.Name]; !ok || tool.Description == "" {
			t.Errorf("tool %+v", tool)
		}
	}
	if len(m.Tools) != len(tools) || len(m.Prompts) != 1 || m.Prompts[0].Name != "use_icon" {
		t.Errorf("%d tools, prompts %+v", len(m.Tools), m.Prompts)
	}
	for name, value := range m.Server.MCPConfig.Env {
		key, _ := strings.CutPrefix(strings.TrimSuffix(value, "}"), "${user_config.")
		if _, asked := m.UserConfig[key]; !variables()[name] || !asked || m.UserConfig[key].Sensitive != strings.Contains(name, "TOKEN") {
			t.Errorf("%s is %s", name, value)
		}
	}
}
