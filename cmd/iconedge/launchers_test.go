package main

import (
	"bufio"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/godbus/dbus/v5"

	"github.com/iconedge/iconedge/test/harness"
)

// tool returns the path of a program of Debian, or skips the test, also in CI: make test does not
// install the hosts of plugins. make plugins-test runs these tests, and make test does not.
func tool(t *testing.T, name string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("make plugins-test runs it")
	}
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("SKIPPED: %s is not installed", name)
	}
	return path
}

// display starts an X server without a screen, and returns its DISPLAY.
func display(t *testing.T) string {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	cmd := exec.CommandContext(t.Context(), tool(t, "Xvfb"), "-displayfd", "3", "-screen", "0", "800x600x24", "-nolisten", "tcp")
	cmd.ExtraFiles = []*os.File{write}
	harness.StartOther(t, cmd)
	write.Close()
	number, err := bufio.NewReader(read).ReadString('\n')
	if err != nil {
		t.Fatal("Xvfb did not start: ", err)
	}
	return ":" + strings.TrimSpace(number)
}

// clipboard returns the text on the clipboard of a display.
func clipboard(t *testing.T, display string) string {
	cmd := exec.Command(tool(t, "xclip"), "-o", "-selection", "clipboard")
	cmd.Env = []string{"DISPLAY=" + display}
	out, _ := cmd.Output()
	return string(out)
}

// TestPluginRofi types into rofi on an X server, with a real edge and origin behind it: words,
// Enter, and Enter on the first row copies that icon.
func TestPluginRofi(t *testing.T) {
	rofi, xdotool := tool(t, "rofi"), tool(t, "xdotool")
	screen := display(t)
	home := withPacks(t)
	edge := harness.Start(t, home, "run", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0").Ready()
	base := "http://" + edge.Address("public")
	program := plugin(t, base)
	cache := t.TempDir()
	env := append(program.Env, "DISPLAY="+screen, "XDG_CACHE_HOME="+cache, "XDG_RUNTIME_DIR="+t.TempDir(),
		"ICONEDGE_INSERT_AS=url", "LANG=C.UTF-8")
	cmd := exec.CommandContext(t.Context(), rofi, "-show-icons", "-modi", "icons:"+program.Path+" launcher rofi", "-show", "icons")
	cmd.Env = env
	log := harness.NewLog()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() { cmd.Process.Kill() })
	keys := func(args ...string) {
		t.Helper()
		press := exec.Command(xdotool, args...)
		press.Env = []string{"DISPLAY=" + screen}
		if out, err := press.CombinedOutput(); err != nil {
			t.Fatalf("xdotool %v: %v %s", args, err, out)
		}
	}
	harness.Eventually(t, "rofi has a window", func() bool {
		search := exec.Command(xdotool, "search", "--onlyvisible", "--class", "rofi")
		search.Env = []string{"DISPLAY=" + screen}
		out, _ := search.Output()
		return len(out) > 0
	})
	keys("type", "--delay", "60", "home")
	keys("key", "Return")
	harness.Eventually(t, "the icons of the rows are stored", func() bool {
		icons, _ := filepath.Glob(filepath.Join(cache, "iconedge", "icons", "mdi", "home*.svg"))
		return len(icons) > 0
	})
	harness.Eventually(t, "the first row is copied", func() bool {
		keys("key", "Return") // on an empty list, before the rows have come, it does nothing
		copied := clipboard(t, screen)
		return strings.HasPrefix(copied, base+"/") && strings.HasSuffix(copied, ".svg") && strings.Contains(copied, "home")
	})
	if err := <-ended; err != nil {
		t.Errorf("rofi: %v\n%s", err, log)
	}
}

// A desktop is a private session bus.
type desktop struct {
	t    *testing.T
	conn *dbus.Conn
}

// newDesktop starts a bus whose service org.iconedge.Icons is the program.
func newDesktop(t *testing.T, program *exec.Cmd, env ...string) *desktop {
	t.Helper()
	data := t.TempDir()
	services := filepath.Join(data, "dbus-1", "services")
	if err := os.MkdirAll(services, 0o755); err != nil {
		t.Fatal(err)
	}
	service := "[D-BUS Service]\nName=org.iconedge.Icons\nExec=" + program.Path + " launcher dbus --idle 1s\n"
	if err := os.WriteFile(filepath.Join(services, "org.iconedge.Icons.service"), []byte(service), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), tool(t, "dbus-daemon"), "--session", "--nofork", "--nopidfile", "--print-address=3")
	cmd.Env = append(append(program.Env, "XDG_DATA_DIRS="+data, "XDG_CACHE_HOME="+t.TempDir()), env...)
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	cmd.ExtraFiles = []*os.File{write}
	output := harness.StartOther(t, cmd)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the bus and its services:\n%s", output)
		}
	})
	write.Close()
	address, err := bufio.NewReader(read).ReadString('\n')
	if err != nil {
		t.Fatal("the bus did not start: ", err)
	}
	conn, err := dbus.Connect(strings.TrimSpace(address))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &desktop{t, conn}
}

// call calls a method of the service, which the bus starts if need be.
func (d *desktop) call(path dbus.ObjectPath, method string, result any, args ...any) {
	d.t.Helper()
	call := d.conn.Object("org.iconedge.Icons", path).Call(method, 0, args...)
	if call.Err == nil && result != nil {
		call.Err = call.Store(result)
	}
	if call.Err != nil {
		d.t.Fatalf("%s: %v", method, call.Err)
	}
}

func (d *desktop) search(words ...string) (names []string) {
	d.t.Helper()
	d.call("/org/iconedge/Icons", "org.gnome.Shell.SearchProvider2.GetInitialResultSet", &names, words)
	return names
}

func (d *desktop) running() (running bool) {
	if err := d.conn.BusObject().Call("org.freedesktop.DBus.NameHasOwner", 0, "org.iconedge.Icons").Store(&running); err != nil {
		d.t.Fatal(err)
	}
	return running
}

// TestPluginDBus calls the service as GNOME Shell and KRunner do, on a private bus that starts it,
// with a real edge and origin behind it. The service ends when it is idle.
func TestPluginDBus(t *testing.T) {
	screen := display(t)
	home := withPacks(t)
	edge := harness.Start(t, home, "run", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0").Ready()
	base := "http://" + edge.Address("public")
	d := newDesktop(t, plugin(t, base), "DISPLAY="+screen, "ICONEDGE_INSERT_AS=svg")

	if names := d.search("home"); len(names) != 0 || !d.running() {
		t.Errorf("a query for others: %v", names)
	}
	var names []string
	harness.Eventually(t, "results for icon home", func() bool {
		names = d.search("icon", "home")
		return len(names) > 0
	})
	if len(names) > 10 || !slices.ContainsFunc(names, func(n string) bool { return strings.Contains(n, "home") }) {
		t.Errorf("results %v", names)
	}
	var metas []map[string]dbus.Variant
	harness.Eventually(t, "metas with icons", func() bool {
		d.call("/org/iconedge/Icons", "org.gnome.Shell.SearchProvider2.GetResultMetas", &metas, names)
		return !slices.ContainsFunc(metas, func(m map[string]dbus.Variant) bool { _, ok := m["gicon"]; return !ok })
	})
	for n, m := range metas {
		text := func(key string) string { s, _ := m[key].Value().(string); return s }
		svg, err := os.ReadFile(text("gicon"))
		if text("id") != names[n] || text("name") != names[n] || !strings.Contains(text("description"), "license ") ||
			err != nil || !strings.HasPrefix(string(svg), "<svg") {
			t.Errorf("meta %d: %v, %v", n, m, err)
		}
	}
	d.call("/org/iconedge/Icons", "org.gnome.Shell.SearchProvider2.ActivateResult", nil, "mdi/home", []string{"icon", "home"}, uint32(0))
	harness.Eventually(t, "the icon is copied", func() bool {
		return strings.HasPrefix(clipboard(t, screen), "<!-- mdi/home: license Apache-2.0;")
	})

	var matches []struct {
		ID, Text, Icon string
		Type           uint32
		Relevance      float64
		Properties     map[string]dbus.Variant
	}
	harness.Eventually(t, "matches for icon trash", func() bool {
		d.call("/runner", "org.kde.krunner1.Match", &matches, "icon trash")
		return len(matches) > 0 && matches[0].Icon != ""
	})
	if subtext, _ := matches[0].Properties["subtext"].Value().(string); matches[0].Relevance <= 0 ||
		!strings.Contains(subtext, "license ") {
		t.Errorf("matches %+v", matches)
	}
	var actions []struct{ ID, Text, Icon string }
	d.call("/runner", "org.kde.krunner1.Actions", &actions)
	d.call("/runner", "org.kde.krunner1.Run", nil, "lucide/house", "")
	harness.Eventually(t, "the icon is copied", func() bool {
		return strings.HasPrefix(clipboard(t, screen),
			"<!-- lucide/house: license ISC;")
	})
	if call := d.conn.Object("org.iconedge.Icons", "/runner").Call("org.kde.krunner1.Run", 0, "../../etc/passwd", ""); call.Err == nil {
		t.Error("Run took a name that is none")
	}
	harness.Eventually(t, "the idle service has ended", func() bool { return !d.running() })
	if d.search("nothing"); !d.running() {
		t.Error("the bus did not start the service again")
	}
}

// TestPluginDBusSlow: while the service does not answer, a search has no results; the late response
// is used for the next key.
func TestPluginDBusSlow(t *testing.T) {
	home := withPacks(t)
	edge := harness.Start(t, home, "run", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0").Ready()
	target, err := url.Parse("http://" + edge.Address("public"))
	if err != nil {
		t.Fatal(err)
	}
	release, once := make(chan struct{}), sync.Once{}
	let := func() { once.Do(func() { close(release) }) }
	forward := httputil.NewSingleHostReverseProxy(target)
	forward.ErrorLog = log.New(io.Discard, "", 0) // requests that the program gives up
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/api/v1/search") {
			io.Copy(io.Discard, r.Body)
			<-release
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(slow.Close)
	t.Cleanup(let)
	d := newDesktop(t, plugin(t, slow.URL))
	if names := d.search("icon", "hom"); len(names) != 0 {
		t.Errorf("before the service has answered: %v", names)
	}
	let()
	harness.Eventually(t, "the late response", func() bool {
		return len(d.search("icon", "hom")) > 0
	})
	if names := d.search("icon", "home"); len(names) == 0 {
		t.Error("after the next key there is nothing")
	}
}
