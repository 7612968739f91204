package apps

import (
	"net"
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
	s := setting{Dir: openFolder(t), Files: files, Listen: harness.FreeAddress(t), Root: os.Geteuid() == 0}
	if files == "" {
		s.Files = openFolder(t)
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
	harness.Eventually(t, program+" listens", func() bool {
		conn, err := net.Dial("tcp", s.Listen)
		if err != nil {
			return false
		}
		conn.Close()
		return true
	})
	return "http://" + s.Listen
}

// openFolder returns a folder that a program can write to after it has given up root's rights; it
// can't enter the folders of t.TempDir.
func openFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "apps")
	if err == nil {
		err = os.Chmod(dir, 0o777)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// nginxPath returns the path of nginx, or nothing if it is not installed.
func nginxPath() string { return harness.Peer{Program: "nginx"}.Installed() }

func startNginx(t *testing.T, files string) string {
	t.Helper()
	return startServer(t, "nginx.conf", files, nginxPath(), "-c", "{config}")
}
