package conformance

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/iconedge/iconedge/test/harness"
)

// withMCP is the environment variable with which `make conformance` runs the public tools against
// the MCP server; it names the program as users get it.
const withMCP = "ICONEDGE_MCP"

// TestConformanceMCP runs the Inspector's command line, the public conformance suite and the
// checker of bundles, all from npm, on a Node from npm. tools/mcp/expected.yml lists the failures
// that are expected because the suite asks for the fixtures of a test server.
func TestConformanceMCP(t *testing.T) {
	binary := os.Getenv(withMCP)
	if binary == "" {
		t.Skip("needs the tools that tools/mcp pins: " + withMCP + "=PROGRAM runs it")
	}
	home := t.TempDir()
	harness.Must(t, home, "publish", harness.NPM(t, "@iconify-json/lucide"))
	edge := harness.Start(t, home, "run", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0").Ready()
	env := []string{"ICONEDGE_API=http://" + edge.Address("public"),
		"ICONEDGE_LICENSE_TOKEN=" + strings.TrimSpace(harness.Must(t, home, "token", "issue"))}

	t.Run("inspector", func(t *testing.T) {
		call := func(args ...string) string {
			return runPinned(t, home, append([]string{"mcp-inspector", "--cli", "-e", env[0], "-e", env[1], binary, "mcp"}, args...)...)
		}
		if got := call("--method", "tools/list"); strings.Count(got, `"inputSchema"`) != 4 {
			t.Errorf("tools/list: %s", got)
		}
		if got := call("--method", "tools/call", "--tool-name", "get_icon", "--tool-arg", "pack=lucide", "--tool-arg",
			"name=house"); !strings.Contains(got, "<svg") || !strings.Contains(got, "ISC") {
			t.Errorf("tools/call: %s", got)
		}
		if got := call("--method", "resources/list"); !strings.Contains(got, "icon://packs") {
			t.Errorf("resources/list: %s", got)
		}
	})
	t.Run("suite", func(t *testing.T) {
		cmd := exec.Command(binary, "mcp", "--http", "127.0.0.1:0")
		cmd.Env = append([]string{"HOME=" + home}, env...)
		log := harness.NewLog()
		cmd.Stderr = log
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { cmd.Process.Kill(); cmd.Wait() }()
		address := log.Wait(regexp.MustCompile(`msg=listening address=(\S+) for=mcp`))[1]
		got := runPinned(t, home, "conformance", "server", "--url", "http://"+address+"/mcp", "--expected-failures",
			filepath.Join(toolsMCP(t), "expected.yml"))
		t.Log(got[strings.Index(got, "=== SUMMARY"):])
	})
	t.Run("bundle", func(t *testing.T) {
		runPinned(t, home, "mcpb", "validate", "../../mcp/bundle/manifest.json")
	})
	t.Run("figures", func(t *testing.T) {
		took, resident := measure(t, binary, append([]string{"HOME=" + home}, env...))
		t.Logf("start to initialize %s, resident %.1f MB after 100 calls", took, resident)
		if took > 300*time.Millisecond || resident > 40 {
			t.Error("more than 300 ms or 40 MB")
		}
	})
}

// toolsMCP returns the folder that pins the tools.
func toolsMCP(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "..", "tools", "mcp"))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// runPinned runs a program of tools/mcp on the Node that is pinned there, and returns its output.
func runPinned(t *testing.T, home string, args ...string) string {
	t.Helper()
	bin := filepath.Join(toolsMCP(t), "node_modules", ".bin")
	cmd := exec.Command(filepath.Join(bin, "node"), append([]string{filepath.Join(bin, args[0])}, args[1:]...)...)
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "HOME="+home)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// measure measures a program on stdin and stdout: the time from its start to its first response,
// and its memory at the end.
func measure(t *testing.T, binary string, env []string) (took time.Duration, megabytes float64) {
	t.Helper()
	cmd := exec.Command(binary, "mcp")
	cmd.Env = env
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(in, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for i := 0; i <= 100 && lines.Scan(); i++ {
		if !json.Valid(lines.Bytes()) {
			t.Fatalf("%q", lines.Text())
		}
		if i == 0 {
			took = time.Since(began)
		}
		fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"get_icon","arguments":{"pack":"lucide","name":"house","format":"react","color":"#%06x"}}}`+"\n", i+1, i)
	}
	megabytes = resident(t, cmd.Process.Pid)
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	return took, megabytes
}

// resident returns the memory of a process in MB, as Linux reports it (proc_pid_status(5), VmRSS).
func resident(t *testing.T, pid int) float64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		harness.Missing(t, "no /proc on this machine: %v", err)
	}
	m := regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindSubmatch(status)
	if m == nil {
		t.Fatalf("%s", status)
	}
	kb, err := strconv.Atoi(string(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	return float64(kb) / 1024
}
