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
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/files"
)

// listed is an edge with both lists, each of one address, and a limit of two calls.
func listed(t *testing.T, change ...func(*Config)) (e *edgeTest, allow, deny string) {
	t.Helper()
	dir := t.TempDir()
	allow, deny = filepath.Join(dir, "allow"), filepath.Join(dir, "deny")
	writeList(t, allow, "192.0.2.1\n")
	writeList(t, deny, "198.51.100.0/24\n192.0.2.1 # allowed all the same\n")
	e = newEdgeTest(t, newOurOrigin(), append(change, func(c *Config) {
		c.AllowFile, c.DenyFile = allow, deny
		c.Limits.Set("search=2/1h")
	})...)
	must(t, e.library.Poll())
	return e, allow, deny
}

// exported is what the metrics say.
func (e *edgeTest) exported() string {
	w := httptest.NewRecorder()
	e.metrics.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return w.Body.String()
}

// runLists has the lists read again until the test ends, and at once when something is sent.
func (e *edgeTest) runLists(t *testing.T) chan<- os.Signal {
	told := make(chan os.Signal, 1)
	go e.admission.Lists.Run(t.Context(), told)
	return told
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
	for _, target := range []string{search, "/mdi/home.svg", "/api/v1/icon/mdi/home", "/api/v1/packs", "/", "/nowhere", "/api/v1/auth/verify"} {
		for range 3 { // from the cache too
			a := from("198.51.100.9", "GET", target)
			if a.StatusCode != 403 || a.Header.Get("Cache-Control") != "no-store" || a.Header.Get("RateLimit") != "" || a.Header.Get("Access-Control-Allow-Origin") != "*" || !strings.Contains(a.body, `"status":403`) {
				t.Fatalf("%s: %d %v %s", target, a.StatusCode, a.Header, a.body)
			}
			from("192.0.2.1", "GET", target)
		}
	}
	if a := from("198.51.100.9", "OPTIONS", search); a.StatusCode != 403 {
		t.Errorf("a preflight of a denied client: %d", a.StatusCode)
	}
	if a := from("198.51.100.9", "GET", routes.HealthPath); a.StatusCode != 200 {
		t.Errorf("whether the process lives: %d", a.StatusCode)
	}
	for i := range 5 {
		if a := from("192.0.2.1", "GET", search); a.StatusCode != 200 || a.Header.Get("RateLimit") != "" {
			t.Errorf("call %d of an allowed client: %d %v", i+1, a.StatusCode, a.Header)
		}
		if a := from("203.0.113.5", "GET", search); (a.StatusCode == 200) != (i < 2) {
			t.Errorf("call %d of anybody else: %d", i+1, a.StatusCode)
		}
	}
}

// A file that changes is read when it has come to rest; one that can't be used leaves things as they are.
func TestListsAreReadAgain(t *testing.T) {
	e, _, deny := listed(t)
	status := func(client string) int { return e.get(t, "/mdi/home.svg", "X-Forwarded-For", client).StatusCode }
	well := func() bool {
		return strings.Contains(e.exported(), `iconedge_edge_list_last_reload_successful{list="deny"} 1`)
	}
	look := func() { e.admission.Lists.Allow.Check(time.Now()); e.admission.Lists.Deny.Check(time.Now()) }
	writeList(t, deny, "203.0.113.0/24\n")
	if look(); status("203.0.113.5") != 200 {
		t.Error("the file was read while it may still have been written")
	}
	if look(); status("203.0.113.5") != 403 || status("198.51.100.9") != 200 || !well() {
		t.Error("the file was not read when it had changed")
	}
	for _, broken := range []string{"203.0.113.0/24\nnobody\n", ""} {
		if broken == "" {
			must(t, os.Remove(deny))
		} else {
			writeList(t, deny, broken)
		}
		if look(); well() {
			look()
		}
		if status("203.0.113.5") != 403 || well() {
			t.Errorf("%q: %d, the metric says well: %v", broken, status("203.0.113.5"), well())
		}
	}
	writeList(t, deny, "# nobody\n")
	look()
	if look(); status("203.0.113.5") != 200 || !well() {
		t.Error("the mended file was not read")
	}
}

// Who asks for it has the lists read at once; else they are looked at every few seconds.
func TestListsRun(t *testing.T) {
	e, _, deny := listed(t)
	synctest.Test(t, func(t *testing.T) {
		told := e.runLists(t)
		denies := func(client string) bool {
			synctest.Wait()
			return e.admission.Lists.Of(netip.MustParseAddr(client)) == access.Denied
		}
		writeList(t, deny, "203.0.113.1")
		if told <- syscall.SIGHUP; !denies("203.0.113.1") {
			t.Error("it was told, and did not read")
		}
		writeList(t, deny, "203.0.113.22")
		time.Sleep(files.Every) // of the bubble: it takes no time
		if denies("203.0.113.22") {
			t.Error("it read at the first look")
		}
		if time.Sleep(files.Every); !denies("203.0.113.22") {
			t.Error("it did not read by itself")
		}
	})
}

// Each list is read, at once when somebody says so, whatever is wrong with the other, which stays as it was.
func TestListsStandAlone(t *testing.T) {
	e, allow, deny := listed(t)
	synctest.Test(t, func(t *testing.T) {
		told := e.runLists(t)
		for _, row := range []struct {
			allow, deny       string // what the files say
			allowed, isDenied string // clients that are
		}{
			{"nobody", "203.0.113.1", "192.0.2.1", "203.0.113.1"},
			{"192.0.2.7", "nobody", "192.0.2.7", "203.0.113.1"},
		} {
			writeList(t, allow, row.allow)
			writeList(t, deny, row.deny)
			told <- syscall.SIGHUP
			synctest.Wait()
			if e.admission.Lists.Of(netip.MustParseAddr(row.allowed)) != access.Allowed || e.admission.Lists.Of(netip.MustParseAddr(row.isDenied)) != access.Denied {
				t.Errorf("of %q and %q, one or both are not what they should be", row.allow, row.deny)
			}
		}
	})
}

// A list that can't be read at the start is a wrong call: to go on without it would let in whom it denies.
func TestListMustBeThere(t *testing.T) {
	file := filepath.Join(t.TempDir(), "list")
	for _, flag := range []string{"--allow-file", "--deny-file"} {
		if _, err := parseFlags(flag, file); err == nil || !strings.Contains(err.Error(), flag) {
			t.Errorf("%s that is not there: %v", flag, err)
		}
	}
	writeList(t, file, "a")
	if _, err := parseFlags("--deny-file", file); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("a broken list: %v", err)
	}
	writeList(t, file, "192.0.2.1")
	if _, err := parseFlags("--deny-file", file); err != nil {
		t.Error(err)
	}
}
