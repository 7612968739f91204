package documents

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/iconedge/iconedge/test/harness"
	"github.com/iconedge/iconedge/test/parallel"
)

func TestMain(m *testing.M) {
	parallel.AtOnce(16) // pages mostly wait for servers
	os.Exit(harness.Main(m))
}

// pages returns the documents whose commands are tested.
func pages(t *testing.T) (all []string) {
	t.Helper()
	for _, pattern := range []string{"README.md", "docs/start/*.md", "docs/how-to/*.md", "docs/how-to/*/*.md"} {
		found, err := filepath.Glob("../../" + pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v, %v", pattern, found, err)
		}
		all = append(all, found...)
	}
	return all
}

// Every block with commands is run, or says why it is not.
func TestMarked(t *testing.T) {
	for _, page := range pages(t) {
		blocks, err := Blocks(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range blocks {
			at := fmt.Sprintf("%s:%d", page, b.Line)
			switch b.Language {
			case "":
				t.Errorf("%s: the block has no language; text is one", at)
			case sh:
				if b.Info == "" {
					t.Errorf("%s: the commands are not run, and the block does not say why: write ```sh REASON, or "+
						"```console with the output", at)
				}
			case console:
				if !strings.HasPrefix(b.Text, "$ ") {
					t.Errorf("%s: a console block begins with a command after \"$ \"", at)
				}
			case "bash", "shell", "zsh":
				t.Errorf("%s: blocks with commands are called console or sh", at)
			}
		}
	}
}

// The commands of each page, one after the other, print what the page says.
func TestCommands(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		harness.Missing(t, "curl is not installed")
	}
	for _, page := range pages(t) {
		blocks, err := Blocks(page)
		if err != nil {
			t.Fatal(err)
		}
		name, _ := strings.CutPrefix(filepath.ToSlash(page), "../../")
		if !runs(blocks) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newReader(t, blocks)
			for _, b := range blocks {
				r.follow(page, b)
			}
		})
	}
}

// runs reports whether any block has commands to run.
func runs(blocks []Block) bool {
	for _, b := range blocks {
		if b.Language == console {
			return true
		}
	}
	return false
}

// A reader does what a page says, in a folder of its own, on ports of its own.
type reader struct {
	t      *testing.T
	folder string
	env    []string
	ports  map[string]string // of the page, to free ones
}

// loopback is an address in a command.
var loopback = regexp.MustCompile(`(?:127\.0\.0\.1|localhost):(\d{4,5})\b`)

// newReader prepares a reader: with a small library where npm installs it, and, if the page has an
// application at port 3000, that application.
func newReader(t *testing.T, blocks []Block) *reader {
	t.Helper()
	r := &reader{t: t, folder: t.TempDir(), ports: map[string]string{}}
	for _, modules := range []string{"node_modules", "tools/library/node_modules"} {
		if err := os.CopyFS(filepath.Join(r.folder, modules, "@iconify/json"), os.DirFS("testdata/json")); err != nil {
			t.Fatal(err)
		}
	}
	for _, port := range []string{"8080", "8081", "8082", "8083"} { // defaults of the program
		r.port(port)
	}
	for _, b := range blocks {
		if strings.Contains(b.Text, "127.0.0.1:3000") && r.ports["3000"] == "" {
			_, port, _ := net.SplitHostPort(application(t))
			r.ports["3000"] = port
		}
	}
	// Without a terminal, curl writes its progress; a reader sees none.
	if err := os.WriteFile(filepath.Join(r.folder, ".curlrc"), []byte("silent\nshow-error\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	program := harness.Program(t, r.folder)
	r.env = append(program.Env, "PROGRAM="+program.Path, "ICONEDGE_API=http://127.0.0.1:"+r.ports["8080"],
		"ICONEDGE_ADMIN=127.0.0.1:"+r.ports["8082"],
		"XDG_DATA_HOME="+filepath.Join(r.folder, ".local/share"))
	return r
}

// port returns the free port that stands for a port of the page.
func (r *reader) port(of string) string {
	if r.ports[of] == "" {
		_, port, _ := net.SplitHostPort(harness.FreeAddress(r.t))
		r.ports[of] = port
	}
	return r.ports[of]
}

// application starts an application such as a reader has: a style sheet that may be cached, and a
// page that may not.
func application(t *testing.T) string {
	mux := http.NewServeMux()
	mux.HandleFunc("/style.css", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/css")
		w.Header().Set("Cache-Control", "max-age=60")
		w.Write([]byte("body { color: navy }\n"))
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "1"})
		fmt.Fprintf(w, "hello from %s\n", r.Host)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// follow does what a block says.
func (r *reader) follow(page string, b Block) {
	r.t.Helper()
	at := fmt.Sprintf("%s:%d", page, b.Line)
	name, _, _ := strings.Cut(b.Info, " ")
	switch {
	case b.Language == before:
		for line := range strings.Lines(strings.TrimSuffix(b.Text, "-->")) {
			if command, server := strings.CutSuffix(strings.TrimSpace(line), " &"); server {
				ready := "msg=ready"
				if strings.HasPrefix(command, "iconedge run") {
					ready = "msg=ready open="
				}
				if strings.HasPrefix(command, "iconedge edge") { // it logs no readiness
					ready = "for=admin"
				}
				r.serve(at, Command{Text: command, Output: gap + "\n" + gap + ready + gap + "\n"})
			} else if command != "" {
				r.run(at, Command{Text: command, Output: gap}, false)
			}
		}
	case b.Language == console:
		for _, c := range b.Commands() {
			if b.Info == "server" {
				r.serve(at, c)
			} else {
				r.run(at, c, b.Info == "numbers")
			}
		}
	case strings.Contains(name, ".") && b.Language != sh: // a file
		file := filepath.Join(r.folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			r.t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(r.ported(b.Text)), 0o644); err != nil {
			r.t.Fatal(err)
		}
	}
}

// ported returns a text of the page with the reader's own ports.
func (r *reader) ported(text string) string {
	return loopback.ReplaceAllStringFunc(text, func(address string) string {
		host, port, _ := strings.Cut(address, ":")
		return host + ":" + r.port(port)
	})
}

// asOnPage returns output as the page has it.
func (r *reader) asOnPage(output string) string {
	for of, port := range r.ports {
		output = strings.ReplaceAll(output, ":"+port, ":"+of)
	}
	return strings.ReplaceAll(strings.ReplaceAll(output, "\r", ""), r.folder, "~")
}

// shell is what runs before each command: iconedge listens on the reader's ports by default.
const shell = `iconedge() {
  case $1 in
    run|edge) ICONEDGE_LISTEN=127.0.0.1:%[1]s ICONEDGE_ADMIN_LISTEN=127.0.0.1:%[3]s "$PROGRAM" "$@" ;;
    origin) ICONEDGE_LISTEN=127.0.0.1:%[2]s ICONEDGE_ADMIN_LISTEN=127.0.0.1:%[4]s "$PROGRAM" "$@" ;;
    *) "$PROGRAM" "$@" ;;
  esac
}
`

func (r *reader) command(ctx context.Context, text string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "sh", "-c", fmt.Sprintf(shell, r.port("8080"), r.port("8081"), r.port("8082"),
		r.port("8083"))+r.ported(text))
	cmd.Dir, cmd.Env = r.folder, r.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // the shell and what it starts
	return cmd
}

// deadline is that of a command, and of the first lines of a server.
const deadline = 3 * time.Minute

// run runs a command, and compares its output.
func (r *reader) run(at string, c Command, numbers bool) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), deadline)
	defer cancel()
	output, err := r.command(ctx, c.Text).CombinedOutput()
	if len(output) > 0 && !bytes.HasSuffix(output, []byte("\n")) {
		output = append(output, '\n')
	}
	if got := r.asOnPage(string(output)); err != nil || !c.Pattern(false, numbers).MatchString(got) {
		r.t.Fatalf("%s: %s printed (%v)\n%s\nand the page says\n%s", at, strings.TrimSpace(c.Text), err, got, c.Output)
	}
}

// serve starts a server, and waits until its output begins as the page says.
func (r *reader) serve(at string, c Command) {
	r.t.Helper()
	cmd := r.command(context.Background(), c.Text)
	var log output
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
		cmd.Wait() // its status is that of a shell that was ended
	})
	const server, numbers = true, false
	pattern := c.Pattern(server, numbers)
	if !harness.WaitFor(func() bool { return pattern.MatchString(r.asOnPage(log.String())) }) {
		r.t.Fatalf("%s: %s printed\n%s\nand the page says\n%s", at, strings.TrimSpace(c.Text), r.asOnPage(log.String()), c.Output)
	}
}

// output collects what a server writes.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

// String returns what the server has written.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// A change of the output fails a page: the patterns are not so wide that they accept anything.
func TestPatterns(t *testing.T) {
	tests := []struct {
		name, promised, got string
		server, numbers     bool
		match               bool
	}{
		{name: "equal", promised: "a\nb\n", got: "a\nb\n", match: true},
		{name: "another line", promised: "a\n", got: "a\nb\n"},
		{name: "a missing line", promised: "a\nb\n", got: "a\n"},
		{name: "a gap in a line", promised: "a … c\n", got: "a b c\n", match: true},
		{name: "a gap ends with its line", promised: "a … c\n", got: "a b\nc\n"},
		{name: "lines", promised: "…\nb\n", got: "a\na\nb\n", match: true},
		{name: "no line", promised: "…\nb\n", got: "b\n", match: true},
		{name: "lines, then another", promised: "…\nb\n", got: "a\nc\n"},
		{name: "nothing", match: true},
		{name: "something", got: "a\n"},
		{name: "special characters", promised: "a.*\n", got: "abc\n"},
		{name: "a server continues", promised: "a\n", got: "a\nb\n", server: true, match: true},
		{name: "a server began otherwise", promised: "a\n", got: "b\na\n", server: true},
		{name: "other numbers", promised: "a 1,000 b 0.3 MB\n", got: "a 2 b 17 MB\n", numbers: true},
		{name: "other numbers", promised: "a 10 b 0.3 MB\n", got: "a 2 b 17 MB\n", numbers: true, match: true},
		{name: "a word for a number", promised: "a 10\n", got: "a x\n", numbers: true},
		{name: "numbers that must be equal", promised: "a 10\n", got: "a 11\n"},
	}
	for _, test := range tests {
		if got := (Command{Output: test.promised}).Pattern(test.server, test.numbers).MatchString(test.got); got != test.match {
			t.Errorf("%s: %t", test.name, got)
		}
	}
}

func TestBlocks(t *testing.T) {
	file := harness.TextFile(t, "# A\n\n<!-- before:\nx\n-->\n\n```console\n$ a \\\n  b\n1\n2\n$ c\n```\n\n1. d\n\n   "+
		"```sh needs e\n   f\n   ```\n")
	blocks, err := Blocks(file)
	if err != nil || len(blocks) != 3 {
		t.Fatalf("%+v, %v", blocks, err)
	}
	if b := blocks[0]; b.Language != before || strings.TrimSpace(strings.TrimSuffix(b.Text, "-->")) != "x" {
		t.Errorf("%+v", b)
	}
	commands := blocks[1].Commands()
	if want := []Command{{"a \\\n  b\n", "1\n2\n"}, {"c\n", ""}}; fmt.Sprint(commands) != fmt.Sprint(want) || blocks[1].Line != 7 {
		t.Errorf("line %d: %q", blocks[1].Line, commands)
	}
	if b := blocks[2]; b.Language != sh || b.Info != "needs e" || b.Text != "f\n" {
		t.Errorf("%+v", b)
	}
}
