package apps

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"text/template"

	"github.com/iconedge/iconedge/test/harness"
)

// A setting fills a template of testdata, the configuration of a server that can't take port 0.
type setting struct {
	Dir    string // a folder of the server's own
	Files  string // the folder that it serves or stores in, or the lines of a location
	Listen string // HOST:PORT
	Root   bool   // the test runs as root: some programs must then be given a user
}

// startServer fills a template of testdata, starts a program with {config} and {listen} replaced in
// its arguments, and returns its address once it accepts connections. Folders without a name are
// new.
func startServer(t *testing.T, config, files, program string, args ...string) string {
	t.Helper()
	need(t, program)
	s := setting{Dir: harness.OpenDir(t), Files: files, Listen: harness.FreeAddress(t), Root: os.Geteuid() == 0}
	if files == "" {
		s.Files = harness.OpenDir(t)
	}
	path := filepath.Join(s.Dir, config)
	text, err := template.ParseFiles(testdata(t, config))
	if err != nil {
		t.Fatal(err)
	}
	var filled strings.Builder
	if err := text.Execute(&filled, s); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(filled.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	for i := range args {
		args[i] = strings.NewReplacer("{config}", path, "{listen}", s.Listen).Replace(args[i])
	}
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = s.Dir
	cmd.Env = append(os.Environ(), "HOME="+s.Dir)
	// Apache's prefork ends its whole process group, which would be that of the tests.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	log := harness.StartOther(t, cmd)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s:\n%s", program, log)
		}
	})
	harness.AwaitListener(t, program, s.Listen)
	return "http://" + s.Listen
}

// nginxPath returns the path of nginx, or nothing if it is not installed.
func nginxPath() string { return harness.Peer{Program: "nginx"}.Installed() }

func startNginx(t *testing.T, files string) string {
	t.Helper()
	return startServer(t, "nginx.conf", files, nginxPath(), "-c", "{config}")
}
