package deploy

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

var update = flag.Bool("update", false, "write generated files instead of comparing with them")

const (
	root   = "../.."
	folder = root + "/deploy"
)

// read returns a file below deploy/.
func read(t *testing.T, path ...string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{folder}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// build builds the program for an architecture, as the container does.
func build(out string) error {
	cmd := exec.Command("go", "build", "-trimpath", "-o", out, "./cmd/iconedge")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building the program: %w\n%s", err, text)
	}
	return nil
}

// program returns the path of the program for these tests.
var program = sync.OnceValue(func() string {
	dir, err := os.MkdirTemp("", "iconedge")
	if err != nil {
		panic(err)
	}
	return filepath.Join(dir, "iconedge")
})

func TestMain(m *testing.M) {
	flag.Parse()
	if err := build(program()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	status := m.Run()
	os.RemoveAll(filepath.Dir(program()))
	os.Exit(status)
}

var flagLine = regexp.MustCompile(`(?m)^  --([a-z0-9-]+) `)

// flagsOf lists the flags of a command from its --help.
var flagsOf = func() func(t *testing.T, command string) []string {
	var mu sync.Mutex
	known := map[string][]string{}
	return func(t *testing.T, command string) []string {
		t.Helper()
		mu.Lock()
		defer mu.Unlock()
		if known[command] == nil {
			text, err := exec.Command(program(), command, "--help").Output()
			if err != nil {
				t.Fatalf("iconedge %s --help: %v", command, err)
			}
			for _, m := range flagLine.FindAllStringSubmatch(string(text), -1) {
				known[command] = append(known[command], m[1])
			}
		}
		return known[command]
	}
}()

// checkCall checks that args are a call of the program, with flags of its command.
func checkCall(t *testing.T, what string, args []string) {
	t.Helper()
	if len(args) == 0 {
		t.Errorf("%s: no command", what)
		return
	}
	known := flagsOf(t, args[0])
	for _, arg := range args[1:] {
		name, isFlag := strings.CutPrefix(arg, "--")
		name, _, _ = strings.Cut(name, "=")
		if isFlag && !slices.Contains(known, name) {
			t.Errorf("%s: iconedge %s has no --%s", what, args[0], name)
		}
	}
}

// checkVariable checks that a variable with our prefix is one of a command's flags.
func checkVariable(t *testing.T, what, command, name string) {
	t.Helper()
	ours, isOurs := strings.CutPrefix(name, "ICONEDGE_")
	if isOurs && !slices.Contains(flagsOf(t, command), strings.ReplaceAll(strings.ToLower(ours), "_", "-")) {
		t.Errorf("%s: iconedge %s has no flag for %s", what, command, name)
	}
}

// checkSites checks a configuration file by the program, with env. A file of users of basic
// authentication, which the file names by its path, is replaced by one of the test.
func checkSites(t *testing.T, what, text, users string, env ...string) {
	t.Helper()
	dir := t.TempDir()
	file, own := filepath.Join(dir, "edge.yaml"), filepath.Join(dir, "users")
	switch {
	case users == "":
	case strings.Contains(text, users):
		text = strings.ReplaceAll(text, users, own)
	default:
		t.Errorf("%s does not name %s", what, users)
	}
	for path, content := range map[string]string{file: text, own: "me:$2y$05$PtBgq3/5BWDVXeyWTDF5jeE.6gF.xK4yTrHCSdxWiShNtMqGjWmS2\n"} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	check := exec.Command(program(), "config", "check", file)
	check.Env = env
	if out, err := check.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%s: %v\n%s", what, err, out)
	}
}

// tool returns the path of a system program. Without it the test is skipped, with a message; in CI
// that is a failure.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil && os.Getenv("CI") != "" {
		t.Fatalf("no %s", name)
	}
	if err != nil {
		t.Skipf("SKIPPED: no %s here", name)
	}
	return path
}

// same compares a generated file with its expected content, or writes it.
func same(t *testing.T, path string, want []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != string(want) {
		t.Errorf("%s is not up to date (%v): run make golden and read the difference", path, err)
	}
}

// TestCalls tests the checks of the other tests: an unknown flag is reported.
func TestCalls(t *testing.T) {
	if f := flagsOf(t, "edge"); !slices.Contains(f, "tier-secret-file") || slices.Contains(f, "store") {
		t.Errorf("flags of an edge: %v", f)
	}
}
