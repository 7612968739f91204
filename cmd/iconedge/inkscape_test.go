package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/test/harness"
)

// inkscapeFolder has the extension.
const inkscapeFolder = "../../clients/inkscape"

// python runs a command of Debian's Python, whose packages Inkscape's extensions use.
func python(t *testing.T, env []string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), harness.Longest)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/usr/bin/python3", append([]string{"-B", "-W", "ignore"}, args...)...)
	cmd.Dir, cmd.Env = inkscapeFolder, env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// inkex skips the test if Inkscape, or a package that its extensions import, is not installed.
func inkex(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("inkscape"); err != nil {
		t.Skip("SKIPPED: inkscape is not installed")
	}
	if _, err := python(t, []string{"PATH=/usr/bin:/bin"}, "-c", "import cssselect, gi, lxml, numpy"); err != nil {
		t.Skip("SKIPPED: python3-cssselect, python3-gi, python3-lxml or python3-numpy is not installed")
	}
}

// TestPluginInkscapeCases runs the extension's own tests on Inkscape's module inkex: documents, bad
// responses, hostile SVGs, the table of searches.
func TestPluginInkscapeCases(t *testing.T) {
	inkex(t)
	out, err := python(t, []string{"HOME=" + t.TempDir(), "PATH=/usr/bin:/bin"}, "-m", "unittest", "discover", "-s", "test")
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

const document = `<svg xmlns="http://www.w3.org/2000/svg" xmlns:inkscape="http://www.inkscape.org/namespaces/inkscape" xmlns:sodipodi="http://sodipodi.sourceforge.net/DTD/sodipodi-0.dtd" width="100" height="100" viewBox="0 0 100 100">` +
	`<sodipodi:namedview inkscape:cx="50" inkscape:cy="40"/><rect id="kept" width="3" height="4" transform="translate(1,2)"/></svg>`

// TestPluginInkscape runs the extension in Inkscape, and its window, with a real edge and origin
// behind them.
func TestPluginInkscape(t *testing.T) {
	inkscape, xdotool := tool(t, "inkscape"), tool(t, "xdotool")
	inkex(t)
	screen := display(t)
	home := withPacks(t)
	edge := harness.Start(t, home, "run", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0").Ready()
	base := "http://" + edge.Address("public")
	folder := t.TempDir()
	profile := filepath.Join(folder, "profile")
	write := func(name, text string) string {
		t.Helper()
		file := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	for _, name := range []string{"iconedge.inx", "iconedge.py"} {
		text, err := os.ReadFile(filepath.Join(inkscapeFolder, name))
		if err != nil {
			t.Fatal(err)
		}
		write("profile/extensions/"+name, string(text))
	}
	write("profile/preferences.xml",
		`<inkscape version="1"><group id="extensions" org.iconedge.insert.icon="mdi/home" org.iconedge.insert.size="24"/></inkscape>`)
	in, made := write("in.svg", document), filepath.Join(folder, "out.svg")
	env := []string{"DISPLAY=" + screen, "HOME=" + folder, "PATH=/usr/bin:/bin", "ICONEDGE_API=" + base,
		"XDG_CACHE_HOME=" + folder, "INKSCAPE_PROFILE_DIR=" + profile, "LANG=C.UTF-8"}
	ctx, cancel := context.WithTimeout(t.Context(), harness.Longest)
	defer cancel()
	cmd := exec.CommandContext(ctx, inkscape, "--batch-process",
		"--actions=org.iconedge.insert.noprefs;export-filename:"+made+";export-do", in)
	cmd.Env = env
	out, err := cmd.CombinedOutput()
	svg, _ := os.ReadFile(made)
	for _, part := range []string{`inkscape:label="mdi/home"`,
		"mdi/home: license Apache-2.0; attribution: Material Design Icons by Pictogrammers", `id="kept"`, `transform="translate(38,`} {
		if !strings.Contains(string(svg), part) {
			t.Errorf("no %s in the document: %v\n%s\n%s", part, err, out, svg)
		}
	}

	type ending struct {
		out string
		err error
	}
	ended := make(chan ending, 1)
	script, err := filepath.Abs(filepath.Join(inkscapeFolder, "iconedge.py"))
	if err != nil {
		t.Fatal(err)
	}
	chosen := filepath.Join(folder, "chosen.svg")
	go func() {
		out, err := python(t, append(env, "PYTHONPATH=/usr/share/inkscape/extensions"), script, "--output="+chosen, in)
		ended <- ending{out, err}
	}()
	keys := func(args ...string) string {
		press := exec.Command(xdotool, args...)
		press.Env = []string{"DISPLAY=" + screen}
		out, _ := press.Output()
		return string(out)
	}
	harness.Eventually(t, "the extension has a window",
		func() bool { return keys("search", "--onlyvisible", "--name", "Insert Icon") != "" })
	keys("type", "--delay", "60", "trash")
	harness.Eventually(t, "Enter inserts the first icon", func() bool {
		keys("key", "Return") // without rows it does nothing
		select {
		case e := <-ended:
			svg, err := os.ReadFile(chosen)
			if e.err != nil || err != nil || !strings.Contains(string(svg), "trash: license ") {
				t.Errorf("the window: %v, %v\n%s\n%s", e.err, err, e.out, svg)
			}
			return true
		default:
			return false
		}
	})
}
