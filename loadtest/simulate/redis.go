//go:build linux

package simulate

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/iconedge/iconedge/loadtest/load"
)

// A server is a redis-server whose address stays the same when it is started again.
type server struct {
	address string
	folder  string
	args    []string
	process *exec.Cmd
}

// startRedis starts a redis-server, whose log on disk is in a folder, on a free port.
func startRedis(ctx context.Context, folder string) (*server, error) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := free.Addr().String()
	free.Close()
	_, port, _ := net.SplitHostPort(address)
	s := &server{address: address, folder: folder, args: []string{"--port", port, "--bind", "127.0.0.1", "--dir", folder, "--save", "",
		"--appendonly", "yes", "--appendfsync", "everysec", "--tcp-backlog", "4096"}}
	return s, s.start(ctx)
}

func (s *server) start(ctx context.Context) error {
	s.process = exec.Command("redis-server", s.args...)
	s.process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := s.process.Start(); err != nil {
		return fmt.Errorf("starting redis-server: %w", err)
	}
	for {
		if _, err := s.read(); err == nil {
			return nil
		}
		if err := load.Pause(ctx, 10*time.Millisecond); err != nil {
			return fmt.Errorf("starting redis-server: %w", err)
		}
	}
}

// kill ends the server as kill -9 does.
func (s *server) kill() {
	s.process.Process.Kill()
	s.process.Wait()
}

// forget gives the server an empty folder for its next start.
func (s *server) forget() error {
	folder, err := os.MkdirTemp(s.folder, "empty")
	s.args = append(s.args, "--dir", folder) // the last one counts
	return err
}

// A usage is what Redis has counted since its start.
type usage struct {
	at          time.Time
	commands    float64 // of clients, without the calls inside of scripts
	scripts     float64 // of these, checks of limits
	in, out     float64 // bytes
	cpu         float64 // seconds
	connections float64 // accepted
	open        float64 // now
}

// since returns the counts a second, and of the connections those accepted and open.
func (u usage) since(before usage) usage {
	s := u.at.Sub(before.at).Seconds()
	return usage{at: u.at, commands: (u.commands - before.commands) / s, scripts: (u.scripts - before.scripts) / s,
		in: (u.in - before.in) / s, out: (u.out - before.out) / s, cpu: (u.cpu - before.cpu) / s,
		connections: u.connections - before.connections, open: u.open}
}

// ofClients are the commands that edges send by themselves. Redis counts those that the script of
// a window calls too; of these TIME is the only one that edges may also send.
var ofClients = []string{"evalsha", "eval", "xread", "xadd", "xrange", "xinfo|stream", "auth", "hello", "info"}

// read reads the counts over a new connection.
func (s *server) read() (u usage, err error) {
	conn, err := net.DialTimeout("tcp", s.address, time.Second)
	if err != nil {
		return u, err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	fmt.Fprint(conn, "INFO everything\r\n")
	r := bufio.NewReader(conn)
	line, err := r.ReadString('\n')
	if err != nil {
		return u, err
	}
	size, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(line, "$")))
	if err != nil {
		return u, fmt.Errorf("redis answered %q", line) // it is still reading its log
	}
	text := make([]byte, size)
	if _, err := io.ReadFull(r, text); err != nil {
		return u, err
	}
	return parseUsage(string(text), time.Now()), nil
}

// parseUsage reads the answer of INFO.
func parseUsage(text string, now time.Time) usage {
	number := func(name string) (n float64) {
		_, after, _ := strings.Cut(text, "\n"+name)
		fmt.Sscan(strings.FieldsFunc(after+" ", func(r rune) bool { return r == ',' || r == '\r' || r == '\n' })[0], &n)
		return n
	}
	u := usage{at: now, in: number("total_net_input_bytes:"), out: number("total_net_output_bytes:"),
		cpu:         number("used_cpu_user:") + number("used_cpu_sys:"),
		connections: number("total_connections_received:"), open: number("connected_clients:")}
	for _, name := range ofClients {
		if strings.Contains(text, "cmdstat_"+name+":") {
			u.commands += number("cmdstat_" + name + ":calls=")
		}
	}
	if strings.Contains(text, "cmdstat_evalsha:") {
		u.scripts = number("cmdstat_evalsha:calls=")
	}
	return u
}
