package listening

import (
	"net"
	"os"
	"os/exec"
	"testing"
)

// TestPassSockets: the program finds the sockets from descriptor 3 on, and its own number beside
// their count and names.
func TestPassSockets(t *testing.T) {
	var files []*os.File
	for range 2 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		f, err := l.(*net.TCPListener).File()
		l.Close()
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		files = append(files, f)
	}
	cmd := exec.Command("/bin/sh", "-c",
		`[ "$LISTEN_PID" = $$ ] && [ -S /dev/fd/3 ] && [ -S /dev/fd/4 ] && echo "$LISTEN_FDS $LISTEN_FDNAMES $KEPT $1"`, "sh", "argument")
	cmd.Env = []string{"KEPT=kept"}
	PassSockets(cmd, []string{"public", "admin"}, files)
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != "2 public:admin kept argument\n" {
		t.Errorf("the program wrote %q, %v", out, err)
	}
}
