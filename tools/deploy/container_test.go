package deploy

import (
	"bytes"
	"debug/elf"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/linter"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

// stages parses the Containerfile as BuildKit does, and fails on warnings of its linter. The bases
// are the defaults of their arguments.
func stages(t *testing.T) []instructions.Stage {
	t.Helper()
	file, err := parser.Parse(bytes.NewReader(read(t, "Containerfile")))
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range file.Warnings {
		t.Errorf("Containerfile: %s", w.Short)
	}
	lint := linter.New(&linter.Config{Warn: func(rule, _, _, said string,
		at []parser.Range) {
		t.Errorf("Containerfile: %s: %s %v", rule, said, at)
	}})
	stages, args, err := instructions.Parse(file.AST, lint)
	if err != nil {
		t.Fatal(err)
	}
	for i := range stages {
		for _, arg := range args {
			for _, a := range arg.Args {
				if stages[i].BaseName == "$"+a.Key {
					stages[i].BaseName = a.ValueString()
				}
			}
		}
	}
	return stages
}

// TestContainerfile: the bases are pinned, and the last stage has one program, an unprivileged user
// and a health check.
func TestContainerfile(t *testing.T) {
	all := stages(t)
	for _, s := range all {
		if _, tag, ok := strings.Cut(s.BaseName, ":"); !ok || tag == "latest" {
			t.Errorf("the base %s has no tag of its own", s.BaseName)
		}
		if !strings.Contains(string(read(t, "Containerfile")), "="+s.BaseName+"\n") {
			t.Errorf("the base %s is no argument: nobody can pin it by its digest", s.BaseName)
		}
	}
	if all[0].Platform != "$BUILDPLATFORM" {
		t.Errorf("the compiler runs on %q: it would be emulated", all[0].Platform)
	}
	var user string
	var calls [][]string
	for _, c := range all[len(all)-1].Commands {
		switch c := c.(type) {
		case *instructions.UserCommand:
			user = c.User
		case *instructions.RunCommand:
			t.Errorf("there is no shell to run %v", c)
		case *instructions.HealthCheckCommand:
			if c.Health.Test[0] != "CMD" || c.Health.Test[1] != "/usr/local/bin/iconedge" {
				t.Errorf("the health check is %v: there is no shell", c.Health.Test)
			}
			calls = append(calls, c.Health.Test[2:])
		case *instructions.CmdCommand:
			if c.PrependShell {
				t.Error("CMD wants a shell")
			}
			calls = append(calls, c.CmdLine)
		}
	}
	if user != "65532:65532" {
		t.Errorf("it runs as %q", user)
	}
	if len(calls) != 2 {
		t.Fatalf("calls of the program: %v", calls)
	}
	for _, args := range calls {
		checkCall(t, "Containerfile", args)
	}
}

// TestStatic: the program is static, so an image without libraries can run it. Only `make image`
// builds it for the other architecture, which takes minutes.
func TestStatic(t *testing.T) {
	file, err := elf.Open(program())
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, p := range file.Progs {
		if p.Type == elf.PT_INTERP {
			t.Error("it wants a dynamic loader")
		}
	}
}

// TestIgnored: the builder gets the sources of the program, and nothing else.
func TestIgnored(t *testing.T) {
	sent := strings.Fields(string(read(t, "Containerfile.dockerignore")))
	cmd := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "./cmd/iconedge")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	needed := []string{"!go.mod", "!go.sum"}
	for path := range strings.Lines(string(out)) {
		if ours, ok := strings.CutPrefix(strings.TrimSpace(path), "github.com/iconedge/iconedge/"); ok {
			first, rest, _ := strings.Cut(ours, "/")
			if first == "clients" { // most of that folder is in other languages
				second, _, _ := strings.Cut(rest, "/")
				first = "clients/" + second
			}
			needed = append(needed, "!"+first)
		}
	}
	slices.Sort(needed)
	needed = slices.Compact(needed)
	for _, n := range needed {
		if !slices.Contains(sent, n) {
			t.Errorf("Containerfile.dockerignore has no %s, of which the program is made", n)
		}
	}
	for _, s := range sent {
		if strings.HasPrefix(s, "!") && !slices.Contains(needed, s) {
			t.Errorf("Containerfile.dockerignore has %s, of which the program has nothing", s)
		}
	}
	if !slices.Contains(sent, "*") {
		t.Error("Containerfile.dockerignore leaves nothing out")
	}
}
