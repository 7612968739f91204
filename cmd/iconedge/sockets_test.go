package main

import (
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/iconedge/iconedge/test/harness"
	"github.com/iconedge/iconedge/test/listening"
)

// A held socket is one that the test keeps open, as systemd does, for one process after another.
type held struct {
	name string
	file *os.File
	addr net.Addr
}

// hold opens a socket: for UDP if the name is quic.
func hold(t *testing.T, name, address string) held {
	t.Helper()
	var socket interface {
		File() (*os.File, error)
		Close() error
	}
	var addr net.Addr
	if name == quicSocket {
		c, err := net.ListenPacket("udp", address)
		if err != nil {
			t.Fatal(err)
		}
		socket, addr = c.(*net.UDPConn), c.LocalAddr()
	} else {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		socket, addr = l.(*net.TCPListener), l.Addr()
	}
	file, err := socket.File()
	if err != nil {
		t.Fatal(err)
	}
	socket.Close() // file is a duplicate of the socket
	t.Cleanup(func() { file.Close() })
	return held{name, file, addr}
}

// passing returns cmd, to which it passes sockets.
func passing(cmd *exec.Cmd, sockets ...held) *exec.Cmd {
	var names []string
	var files []*os.File
	for _, s := range sockets {
		names, files = append(names, s.name), append(files, s.file)
	}
	listening.PassSockets(cmd, names, files)
	return cmd
}

// TestWrongSockets: sockets that a command can't use are one line with the reason, and exit status
// 2.
func TestWrongSockets(t *testing.T) {
	home := t.TempDir()
	named := func(name string) held { return hold(t, name, "127.0.0.1:0") }
	as := func(name string, s held) held { s.name = name; return s }
	connected, err := net.Dial("tcp", named("any").addr.String())
	if err != nil {
		t.Fatal(err)
	}
	defer connected.Close()
	connection, err := connected.(*net.TCPConn).File()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		command string
		sockets []held
		stderr  string
	}{
		{"edge", []held{named("iconedge-edge.socket")},
			`systemd passed in a socket called "iconedge-edge.socket": FileDescriptorName must be one of public, tls, quic, admin`},
		{"run", []held{named("web")}, `"web"`},
		{"origin", []held{named("tls")}, "must be one of public, admin"},
		{"edge", []held{named("public"), named("public")}, "two sockets called public"},
		{"edge", []held{named("quic")}, "none called tls"},
		{"edge", []held{named("tls")}, "--tls-cert"}, // the certificate that TLS needs
		{"edge", []held{as("public", named("quic"))}, "called public"},
		{"edge", []held{named("tls"), as("quic", named("public"))}, "called quic"},
		{"edge", []held{{name: "public", file: connection}}, "Accept=no"},
	} {
		cmd := passing(harness.Program(t, home, row.command), row.sockets...)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		cmd.Run()
		if status := cmd.ProcessState.ExitCode(); status != 2 || strings.Count(stderr.String(), "\n") != 1 ||
			!strings.Contains(stderr.String(), row.stderr) {
			t.Errorf("iconedge %s: status %d, want 2; stderr %q, want one line with %q", row.command, status, stderr.String(), row.stderr)
		}
	}
}

// A manager receives the notifications of sd_notify.
func manager(t *testing.T) (address string, received func(string) string) {
	t.Helper()
	address = filepath.Join(t.TempDir(), "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: address, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { socket.Close() })
	return address, func(want string) string {
		t.Helper()
		socket.SetReadDeadline(time.Now().Add(harness.Longest))
		for buf := make([]byte, 4096); ; {
			n, err := socket.Read(buf)
			if err != nil {
				t.Fatalf("the manager never received %q: %v", want, err)
			}
			if message := string(buf[:n]); strings.Contains(message, want) {
				return message
			}
		}
	}
}

// noOrigin is the URL of an origin that does not exist: no test takes its port.
const noOrigin = "http://127.0.0.1:1"

// TestSupervised: a server notifies the service manager when it is ready, that it is alive, and
// that it stops, even if it has no origin.
func TestSupervised(t *testing.T) {
	home := t.TempDir()
	harness.Must(t, home, "publish", harness.Library(t, "M0 0h8v8z"))
	for name, row := range map[string]struct {
		args   []string
		status string
	}{
		"run":                    {[]string{"run"}, "STATUS=ready"},
		"edge":                   {[]string{"edge", "--origin", noOrigin}, "STATUS=serving, not ready yet: see the log"},
		"origin":                 {[]string{"origin"}, "STATUS=ready"},
		"origin without /readyz": {[]string{"origin", "--admin-listen", "none"}, "STATUS=ready"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			message := ""
			var s *harness.Server
			var received func(string) string
			for range 3 { // on a busy machine a server may be ready later than readyWithin
				var address string
				address, received = manager(t)
				cmd := harness.Program(t, home, append([]string{row.args[0], "--listen", "127.0.0.1:0",
					"--admin-listen", "127.0.0.1:0"}, row.args[1:]...)...)
				cmd.Env = append(cmd.Env, "NOTIFY_SOCKET="+address, "WATCHDOG_USEC=200000")
				s = harness.StartCommand(t, cmd)
				if message = received("READY=1"); message == "READY=1\n"+row.status {
					break
				}
				s.Stop()
			}
			if message != "READY=1\n"+row.status {
				t.Fatalf("the manager received %q, want %q", message, row.status)
			}
			received("WATCHDOG=1")
			if err := s.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			received("STOPPING=1")
		})
	}
}

// TestSupervisedEnd: a server that returns has notified the service manager that it stops, however
// late the goroutine runs that sees the signal: here, never.
func TestSupervisedEnd(t *testing.T) {
	address, received := manager(t)
	t.Setenv("NOTIFY_SOCKET", address)
	var admin net.Listener
	ended, err := supervised(t.Context(), slog.New(slog.DiscardHandler), noAdmin, &admin)
	if err != nil {
		t.Fatal(err)
	}
	ended()
	received("STOPPING=1")
}

// TestHealth: `iconedge health` checks a server for containers.
func TestHealth(t *testing.T) {
	home := t.TempDir()
	s := harness.Start(t, home, "edge", "--origin", noOrigin, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0")
	admin := "http://" + s.Address("admin")
	for _, row := range []struct {
		args   []string
		status int
		stderr string
	}{
		{[]string{admin + "/healthz"}, 0, ""},
		{[]string{admin + "/readyz"}, 1, http.StatusText(http.StatusServiceUnavailable)},
		{[]string{noOrigin}, 1, "refused"},
		{[]string{"ftp://x"}, 2, "http://"},
		{[]string{"nonsense"}, 2, "http://"},
		{[]string{admin, admin}, 2, "one URL"},
	} {
		if _, stderr, status := harness.Call(t, home,
			append([]string{"health", "--within", "3m"}, row.args...)...); status != row.status || !strings.Contains(stderr, row.stderr) {
			t.Errorf("iconedge health %v: status %d, want %d; stderr %q, want %q", row.args, status, row.status, stderr, row.stderr)
		}
	}
}
