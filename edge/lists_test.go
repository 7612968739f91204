package edge

import (
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/iconedge/iconedge/edge/access"
	"github.com/iconedge/iconedge/edge/own/owntest"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/internal/files"
)

// listed starts an edge with an allow list and a deny list, and a limit of two searches an hour. It
// returns the paths of both lists.
func listed(t *testing.T, change ...func(*Config)) (e *edgeTest, allow, deny string) {
	t.Helper()
	dir := t.TempDir()
	allow, deny = filepath.Join(dir, "allow"), filepath.Join(dir, "deny")
	writeList(t, allow, "192.0.2.1\n")
	writeList(t, deny, "198.51.100.0/24\n192.0.2.1 # the allow list overrides this\n")
	e = newEdgeTest(t, owntest.NewOrigin(), append(change, func(c *Config) {
		c.AllowFile, c.DenyFile = allow, deny
		c.Limits.Set("search=2/1h")
	})...)
	must(t, e.library.Poll())
	return e, allow, deny
}

// exported returns the page of metrics.
func (e *edgeTest) exported() string {
	w := httptest.NewRecorder()
	e.metrics.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return w.Body.String()
}

// runLists watches the files of the lists until the test ends. A signal sent on the channel that it
// returns makes it read both at once.
func (e *edgeTest) runLists(t *testing.T) chan<- os.Signal {
	signals := make(chan os.Signal, 1)
	go e.admission.Lists.Run(t.Context(), signals)
	return signals
}

func writeList(t *testing.T, file, text string) {
	t.Helper()
	must(t, os.WriteFile(file, []byte(text), 0o600))
}

func TestLists(t *testing.T) {
	e, _, _ := listed(t)
	const search = "/api/v1/search?q=home"
	from := func(client, method, target string) answer {
		return e.do(t, method, target, "X-Forwarded-For", client)
	}
	for _, target := range []string{search, "/mdi/home.svg", "/api/v1/icon/mdi/home", "/api/v1/packs", "/",
		"/nowhere", "/api/v1/auth/verify"} {
		for range 3 { // the allowed client stores it in between
			a := from("198.51.100.9", "GET", target)
			if a.StatusCode != 403 || a.Header.Get("Cache-Control") != "no-store" ||
				a.Header.Get("RateLimit") != "" || a.Header.Get("Access-Control-Allow-Origin") != "*" ||
				!strings.Contains(a.body, `"status":403`) {
				t.Fatalf("%s: %d %v %s", target, a.StatusCode, a.Header, a.body)
			}
			from("192.0.2.1", "GET", target)
		}
	}
	if a := from("198.51.100.9", "OPTIONS", search); a.StatusCode != 403 {
		t.Errorf("a preflight of a denied client: %d", a.StatusCode)
	}
	if a := from("198.51.100.9", "GET", routes.HealthPath); a.StatusCode != 200 {
		t.Errorf("the health check of a denied client: %d", a.StatusCode)
	}
	for i := range 5 {
		if a := from("192.0.2.1", "GET", search); a.StatusCode != 200 || a.Header.Get("RateLimit") != "" {
			t.Errorf("call %d of an allowed client: %d %v", i+1, a.StatusCode, a.Header)
		}
		if a := from("203.0.113.5", "GET", search); (a.StatusCode == 200) != (i < 2) {
			t.Errorf("call %d of another client: %d", i+1, a.StatusCode)
		}
	}
}

// The edge reads a changed file again when two checks in a row have found it the same. A file that
// can't be used leaves the list unchanged.
func TestListsAreReadAgain(t *testing.T) {
	e, _, deny := listed(t)
	status := func(client string) int { return e.get(t, "/mdi/home.svg", "X-Forwarded-For", client).StatusCode }
	succeeded := func() bool {
		return strings.Contains(e.exported(), `iconedge_edge_list_last_reload_successful{list="deny"} 1`)
	}
	check := func() { e.admission.Lists.Allow.Check(time.Now()); e.admission.Lists.Deny.Check(time.Now()) }
	writeList(t, deny, "203.0.113.0/24\n")
	if check(); status("203.0.113.5") != 200 {
		t.Error("the file was read although its writer may not have finished")
	}
	if check(); status("203.0.113.5") != 403 || status("198.51.100.9") != 200 || !succeeded() {
		t.Error("the changed file was not read")
	}
	for _, broken := range []string{"203.0.113.0/24\nnobody\n", ""} {
		if broken == "" {
			must(t, os.Remove(deny))
		} else {
			writeList(t, deny, broken)
		}
		if check(); succeeded() {
			check()
		}
		if status("203.0.113.5") != 403 || succeeded() {
			t.Errorf("%q: status %d, want 403; the metric reports success: %v, want false", broken, status("203.0.113.5"), succeeded())
		}
	}
	writeList(t, deny, "# nobody\n")
	check()
	if check(); status("203.0.113.5") != 200 || !succeeded() {
		t.Error("the corrected file was not read")
	}
}

// A signal makes the edge read the lists at once. Without one it checks their files every few
// seconds.
func TestListsRun(t *testing.T) {
	e, _, deny := listed(t)
	synctest.Test(t, func(t *testing.T) {
		signals := e.runLists(t)
		denies := func(client string) bool {
			synctest.Wait()
			return e.admission.Lists.Of(netip.MustParseAddr(client)) == access.Denied
		}
		writeList(t, deny, "203.0.113.1")
		if signals <- syscall.SIGHUP; !denies("203.0.113.1") {
			t.Error("the list was not read on a signal")
		}
		writeList(t, deny, "203.0.113.22")
		time.Sleep(files.Every) // takes no real time in a synctest bubble
		if denies("203.0.113.22") {
			t.Error("the changed file was read at the first check")
		}
		if time.Sleep(files.Every); !denies("203.0.113.22") {
			t.Error("the changed file was not read without a signal")
		}
	})
}

// A signal makes the edge read each list, even if the file of the other can't be used. The list of
// such a file stays unchanged.
func TestListsAreIndependent(t *testing.T) {
	e, allow, deny := listed(t)
	synctest.Test(t, func(t *testing.T) {
		signals := e.runLists(t)
		for _, row := range []struct {
			allow, deny       string // contents of the files
			allowed, isDenied string // clients with that standing afterwards
		}{
			{"nobody", "203.0.113.1", "192.0.2.1", "203.0.113.1"},
			{"192.0.2.7", "nobody", "192.0.2.7", "203.0.113.1"},
		} {
			writeList(t, allow, row.allow)
			writeList(t, deny, row.deny)
			signals <- syscall.SIGHUP
			synctest.Wait()
			if e.admission.Lists.Of(netip.MustParseAddr(row.allowed)) != access.Allowed ||
				e.admission.Lists.Of(netip.MustParseAddr(row.isDenied)) != access.Denied {
				t.Errorf("after reading %q and %q, %s is not allowed or %s is not denied", row.allow, row.deny, row.allowed, row.isDenied)
			}
		}
	})
}

// A list that can't be read at the start is a usage error, because without it the edge would serve
// the clients that it denies.
func TestListMustBeThere(t *testing.T) {
	file := filepath.Join(t.TempDir(), "list")
	for _, flag := range []string{"--allow-file", "--deny-file"} {
		if _, err := parseFlags(flag, file); err == nil || !strings.Contains(err.Error(), flag) {
			t.Errorf("%s with a missing file: %v", flag, err)
		}
	}
	writeList(t, file, "a")
	if _, err := parseFlags("--deny-file", file); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("a malformed list: %v", err)
	}
	writeList(t, file, "192.0.2.1")
	if _, err := parseFlags("--deny-file", file); err != nil {
		t.Error(err)
	}
}
