package main

import (
	"context"
	_ "embed"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/test/harness"
)

//go:embed testdata/editors/neovim.lua
var neovimScript []byte

// TestPluginNeovim runs the language server in Neovim, against a real edge and origin: completion
// by a synonym, hover, diagnostics, quick fixes, links, the command iconedge.insert and its undo.
// The script has the checks; a failed one ends Neovim with a status.
func TestPluginNeovim(t *testing.T) {
	nvim := tool(t, "nvim")
	home := withPacks(t)
	edge := harness.Start(t, home, "run", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0").Ready()
	base := "http://" + edge.Address("public")
	folder := t.TempDir()
	script := filepath.Join(folder, "test.lua")
	if err := os.WriteFile(script, neovimScript, 0o600); err != nil {
		t.Fatal(err)
	}
	program := plugin(t, base, "lsp")
	ctx, cancel := context.WithTimeout(t.Context(), harness.Longest)
	defer cancel()
	cmd := exec.CommandContext(ctx, nvim, "--headless", "--clean", "-n", "-c", "luafile "+script)
	cmd.Dir = folder
	cmd.Env = append(program.Env, "ICONEDGE_PROGRAM="+program.Path, "XDG_STATE_HOME="+folder)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "all checks passed") {
		t.Errorf("neovim: %v\n%s", err, out)
	}
	t.Logf("%s", out)
}
