//go:build linux

package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/iconedge/iconedge/internal/cli"
	"github.com/iconedge/iconedge/loadtest/load"
	"github.com/iconedge/iconedge/loadtest/mix"
	"github.com/iconedge/iconedge/loadtest/report"
	"github.com/iconedge/iconedge/test/golden"
)

// loadtest runs the program in this process.
func loadtest(t *testing.T, args ...string) (status int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	status = program.Run(t.Context(), commands, cli.Streams{Out: &o, Err: &e}, args)
	return status, o.String(), e.String()
}

func TestWrongCalls(t *testing.T) {
	for _, row := range []struct{ args, want string }{
		{"", "no command given"},
		{"walk", `no command "walk"`},
		{"run", "--target is required"},
		{"run --target http://127.0.0.1:1 extra", "takes no arguments but flags"},
		{"run --target http://127.0.0.1:1 --nonsense", "run --help"},
		{"run --target 127.0.0.1:8080", "a target is http://HOST:PORT"},
		{"run --target https://127.0.0.1:8080", "a target is http://HOST:PORT"},
		{"run --target http://192.0.2.1:8080", "--anywhere allows"}, // TEST-NET-1, which no host has
		{"run --target http://127.0.0.1:1 --connections 0", "--connections must be"},
		{"run --target http://127.0.0.1:1 --mix cdn=x", "a mix is"},
		{"run --target http://127.0.0.1:1 --order random", "--order must be"},
		{"run --target http://127.0.0.1:1 --header x", "--header must be"},
		// all errors at once
		{"run --target http://127.0.0.1:1 --duration 0s --rate -1", "--rate and --warm-up must not be negative; --duration"},
		{"run --target http://192.0.2.1:80 --anywhere --clients 2", "--clients needs targets on 127.0.0.0/8"},
		{"library", "--out must name"},
		{"library --out x --icons 0", "--icons must be"},
		{"library --out x --from .", "--from: "},
		{"bench --rounds 0", "--rounds must be"},
		{"bench --server-cpu 1 --client-cpu 1", "must differ"},
		{"bench --servers apache", "no such server"},
		{"handshakes --number 0", "--number, --rounds and --clients must be"},
		{"handshakes --server-cpu 1", "must differ"},
		{"pages --loads 0", "--icons and --loads must be"},
		{"pages --loss 1,101", `"101" is not a percentage`},
		{"pages --loss ,", `"" is not a percentage`},
		{"grow --series colour", "no such series"},
		{"grow --most 10", "--most must be"},
		{"origin --body 3", "--body must be"},
		{"ceiling", "--copy: "},
		{"hold", "--pem: "},
		{"hold --body -1", "--body must be"},
		{"bench --only http", "--only must be"},
		{"bench --only hits,http", "--only must be"},
		{"bench --only sites --docs x", "--only sites has no page"},
		{"smallest", "--pem: "},
		{"bench --resting -1", "--resting"},
		{"ratio --requests 0", "--requests must be positive"},
		{"ratio --objects 10", "--objects at least"},
		{"ratio --made=false", "needs a --trace"},
		{"ratio --trace none.txt", "no such file"},
		{"quic --states asleep", "--states asleep: no such state"},
		{"quic --servers nginx --connections 0", "no such server; --connections must be"},
		{"quic --settle 0s", "--settle and --idle must be"},
	} {
		status, out, errs := loadtest(t, strings.Fields(row.args)...)
		if status != 2 || out != "" || !strings.Contains(errs, row.want) || strings.Count(errs, "\n") != 1 {
			t.Errorf("loadtest %s: status %d, %q on stdout, %q on stderr; want 2 and one line with %q", row.args,
				status, out, errs, row.want)
		}
	}
}

func TestHelp(t *testing.T) {
	for _, c := range commands {
		status, out, errs := loadtest(t, c.Name, "--help")
		if status != 0 || errs != "" || !strings.Contains(out, "\n  loadtest "+c.Name) && !strings.Contains(out, "loadtest "+c.Name+" --") {
			t.Errorf("loadtest %s --help: status %d, %q; want an example in\n%s", c.Name, status, errs, out)
		}
		if _, general, _ := loadtest(t, "help"); !strings.Contains(general, c.Name) {
			t.Errorf("help does not name %s", c.Name)
		}
	}
}

// fourIcons returns a server with four icons. The first responses are right, as many as the
// argument says; the later ones are longer.
func fourIcons(t *testing.T, right int64) (url string) {
	t.Helper()
	var drawn atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/packs", func(w http.ResponseWriter,
		r *http.Request) {
		fmt.Fprint(w, `{"packs":[{"pack":"a"},{"pack":"b"}]}`)
	})
	mux.HandleFunc("GET /api/v1/packs/{pack}", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `{"icons":[{"name":"one"},{"name":"two"}]}`)
	})
	mux.HandleFunc("GET /api/v1/icon/{pack}/{name}",
		func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, `{"name":%q}`, r.PathValue("name")) })
	mux.HandleFunc("GET /{pack}/{file}", func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimSuffix(r.PathValue("file"), ".svg")
		if name != "one" && name != "two" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("ETag", strconv.Quote(name))
		if r.Header.Get("If-None-Match") == strconv.Quote(name) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		fmt.Fprintf(w, "<svg>%s/%s%s</svg>", r.PathValue("pack"), name, r.URL.RawQuery)
		if drawn.Add(1) > right {
			fmt.Fprint(w, "<!-- more -->")
		}
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}

func TestRun(t *testing.T) {
	url := fourIcons(t, math.MaxInt64)
	dir := t.TempDir()
	results, plot := filepath.Join(dir, "results.json"), filepath.Join(dir, "latency.svg")
	status, out, errs := loadtest(t, "run", "--target", "first="+url, "--target", "second="+url, "--icons", "4",
		"--mix", "cdn=5,304=2,api=1,color=1,miss=1,404=1",
		"--rate", "1000", "--connections", "4", "--clients", "3", "--warm-up", "0s", "--duration", "100ms",
		"--browser", "--json", results, "--plot", plot)
	if status != 0 || !strings.Contains(out, "first") || !strings.Contains(out, "second") {
		t.Fatalf("status %d\n%s\n%s", status, out, errs)
	}
	var runs []report.Run
	b, err := os.ReadFile(results)
	if err == nil {
		err = json.Unmarshal(b, &runs)
	}
	if err != nil || len(runs) != 2 {
		t.Fatalf("%v in %s", err, b)
	}
	for _, r := range runs {
		if r.Answers != 100 || r.Wrong != 0 || r.Statuses["200"] == 0 || r.Statuses["304"] == 0 ||
			r.Statuses["404"] == 0 || len(r.Latency.Percentiles) == 0 {
			t.Errorf("%+v; want 100 responses, of all kinds", r)
		}
	}
	if b, err := os.ReadFile(plot); err != nil || strings.Count(string(b), "<polyline") != 2 {
		t.Errorf("%v in %s; want a line for each server", err, b)
	}
}

// TestRunFindsWrongAnswers: a server whose responses change under load is reported.
func TestRunFindsWrongAnswers(t *testing.T) {
	url := fourIcons(t, 50) // of the 200 requests that become due, however slow the machine
	status, out, errs := loadtest(t, "run", "--target", url, "--path", "/a/one.svg", "--connections", "2",
		"--warm-up", "0s", "--rate", "1000", "--duration", "200ms")
	if status != 1 || !strings.Contains(errs, "a body of 29 bytes, want 16") {
		t.Errorf("status %d, %s%s; want 1 and the reason", status, out, errs)
	}
}

func TestReadPaths(t *testing.T) {
	name := filepath.Join(t.TempDir(), "paths")
	if err := os.WriteFile(name, []byte("# recorded\n/a/b.svg\n\n  /c?d=e \n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := readPaths(name); err != nil || !slices.Equal(got, []string{"/a/b.svg", "/c?d=e"}) {
		t.Errorf("%q, %v", got, err)
	}
	if err := os.WriteFile(name, []byte("# nothing\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := readPaths(name); err == nil {
		t.Errorf("%q of a file without paths", got)
	}
}

func TestPickIcons(t *testing.T) {
	url := fourIcons(t, math.MaxInt64)
	server, err := parseTarget(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	got, err := pickIcons(t.Context(), server, 4, 1)
	slices.Sort(got)
	if err != nil || !slices.Equal(got, []string{"/a/one.svg", "/a/two.svg", "/b/one.svg", "/b/two.svg"}) {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := pickIcons(t.Context(), server, 5, 1); err == nil {
		t.Error("five of four icons were taken")
	}
}

func TestSources(t *testing.T) {
	if got := sources(1); got != nil {
		t.Errorf("one client uses %v, want no special address", got)
	}
	seen := map[netip.Addr]bool{}
	for _, a := range sources(1000) {
		if seen[a] || !a.IsLoopback() || a == netip.MustParseAddr("127.0.0.1") {
			t.Errorf("%s is not the address of another client", a)
		}
		seen[a] = true
	}
}

func FuzzIconNumber(f *testing.F) {
	f.Add([]byte("/bench/17.svg"))
	f.Add([]byte("/bench/017.svg"))
	f.Fuzz(func(t *testing.T, path []byte) {
		if n, ok := iconNumber(path); ok && iconPath(n) != string(path) {
			t.Fatalf("%q is read as %d, which is at %s", path, n, iconPath(n))
		}
	})
}

func TestDrawIcon(t *testing.T) {
	for _, size := range []int{minIconBytes, 200, 1000, 1_000_000} {
		a, b := drawIcon(1, size), drawIcon(2, size)
		if len(a) != size || !bytes.HasSuffix(a, []byte(iconTail)) || size > minIconBytes && bytes.Equal(a, b) ||
			!bytes.Equal(a, drawIcon(1, size)) {
			t.Errorf("%d bytes: %d of them, %.20q…", size, len(a), a[len(a)-20:])
		}
	}
	var small bytes.Buffer
	w := gzip.NewWriter(&small)
	w.Write(drawIcon(1, 10_000))
	w.Close()
	if small.Len() < 3000 || small.Len() > 6500 {
		t.Errorf("10,000 bytes are %d in gzip, want about half, as of real icons", small.Len())
	}
}

// TestCeiling: the ceiling sends the same status, body and coding as the other server, and a header
// section of the same length; it requests each response once.
func TestCeiling(t *testing.T) {
	var asked atomic.Int64
	original := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		w.Header().Set("ETag", `"tag"`)
		w.Header().Set("Content-Type", "image/svg+xml")
		w.Header().Set("Cache-Status", strings.Repeat("x", 200))
		if r.Header.Get("If-None-Match") != "" {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		fmt.Fprint(w, r.URL.Path, r.Header.Get("Accept-Encoding"))
	}))
	defer original.Close()
	theirs, err := parseTarget(t.Context(), original.URL)
	if err != nil {
		t.Fatal(err)
	}
	ours := listening(t, "ceiling", "--copy", original.URL)
	for range 2 {
		for _, field := range []string{"X: y", "Accept-Encoding: br", `If-None-Match: "tag"`} {
			copied, asks := answerOf(t, ours, field), asked.Load()
			want := answerOf(t, theirs.addr, field)
			asked.Store(asks)
			if copied.Status != want.Status || !bytes.Equal(copied.Body, want.Body) ||
				copied.Header.Get("ETag") != want.Header.Get("ETag") || lengthOf(copied) != lengthOf(want) {
				t.Errorf("with %s: %+v (a head of %d bytes), want %+v (%d)", field, copied, lengthOf(copied), want, lengthOf(want))
			}
		}
	}
	if n := asked.Load(); n != 3 {
		t.Errorf("the other server got %d requests for 3 responses", n)
	}
}

// listening starts a command that listens, and returns its address.
func listening(t *testing.T, command string, args ...string) netip.AddrPort {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	in, out := io.Pipe()
	done := make(chan int, 1)
	go func() {
		done <- program.Run(ctx, commands, cli.Streams{Out: io.Discard, Err: out},
			append([]string{command, "--listen", "127.0.0.1:0"}, args...))
	}()
	t.Cleanup(func() {
		stop()
		if status := <-done; status != 0 {
			t.Errorf("%s ended with %d", command, status)
		}
	})
	line, err := bufio.NewReader(in).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return netip.MustParseAddrPort(strings.TrimPrefix(strings.TrimSpace(line), "listening address="))
}

func answerOf(t *testing.T, addr netip.AddrPort, field string) (answer load.Answer) {
	t.Helper()
	m := mix.Maker{Host: addr.String(), Fields: []string{field}}
	err := load.Ask(t.Context(), addr, 1, func(int) []byte { return m.Get("/p?q") }, func(_ int, a load.Answer) error {
		answer = a
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// lengthOf returns the length of a response's header section.
func lengthOf(a load.Answer) (n int) {
	for name, values := range a.Header {
		for _, value := range values {
			n += len(name) + len(": \r\n") + len(value)
		}
	}
	return n
}

// TestOrigin: our client accepts the responses of the origin of made-up icons.
func TestOrigin(t *testing.T) {
	addr := listening(t, "origin", "--body", "500")
	m := mix.Maker{Host: addr.String()}
	paths := []string{iconPath(0), iconPath(12345), "/bench/x.svg", "/-/release"}
	err := load.Ask(t.Context(), addr, len(paths), func(i int) []byte { return m.Get(paths[i]) }, func(i int, a load.Answer) error {
		switch {
		case i >= 2 && a.Status != 404, i < 2 && a.Status != 200:
			return fmt.Errorf("status %d", a.Status)
		case i == 1 && !bytes.Equal(a.Body, drawIcon(12345, 500)):
			return errors.New("another icon")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestJudge(t *testing.T) {
	for _, row := range []struct {
		name   string
		result load.Result
		origin time.Duration
		want   error
	}{
		{"well", load.Result{Answers: 1000, Seconds: 1}, 5 * time.Millisecond, nil},
		{"a wrong answer", load.Result{Answers: 1000, Wrong: 1}, 0, errWrong},
		{"one that never came", load.Result{Answers: 1000, Unheard: 1}, 0, errWrong},
		{"from the origin", load.Result{Answers: 1000, Seconds: 1}, 60 * time.Millisecond, errFetched},
		{"an origin that looks after its store", load.Result{Answers: 100_000, Seconds: 5}, 60 * time.Millisecond, nil},
	} {
		if err := judge(&row.result, row.origin); !errors.Is(err, row.want) || (err == nil) != (row.want == nil) {
			t.Errorf("%s: %v, want %v", row.name, err, row.want)
		}
	}
}

func TestDecode(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	w.Write([]byte("drawing"))
	w.Close()
	if b, err := decode("gzip", packed.Bytes()); err != nil || string(b) != "drawing" {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := decode("gzip", []byte("drawing")); err == nil {
		t.Error("a body that is not gzip was decoded")
	}
	if _, err := decode("zstd", nil); err == nil {
		t.Error("a coding that was not accepted was decoded")
	}
}

// TestDocs: figures of an earlier run are preserved when others are written.
func TestDocs(t *testing.T) {
	docs := t.TempDir()
	bench := report.Bench{Machine: report.Machine{CPU: "Testium 9000"}}
	if err := writeDocs(docs, report.Page{Bench: &bench}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(docs, "performance", "tried.md"), []byte("Much was tried.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	grow := report.Grow{Points: []report.GrowPoint{{Series: report.ByCores, Cores: 1, Entries: 1, CPUMicros: 9.25}}}
	if err := writeDocs(docs, report.Page{Grow: &grow}); err != nil {
		t.Fatal(err)
	}
	if status, _, errs := loadtest(t, "report", "--docs", docs); status != 0 {
		t.Fatal(errs)
	}
	b, err := os.ReadFile(filepath.Join(docs, "performance", "lab-book.md"))
	for _, want := range []string{"Testium 9000", "Much was tried.", "9.25"} {
		if err != nil || !strings.Contains(string(b), want) {
			t.Errorf("the output has no %q (%v):\n%s", want, err, b)
		}
	}
}

// TestPages: the pages of the repository are those of the figures beside them, and a person reads
// the results in three minutes.
func TestPages(t *testing.T) {
	const committed, mostWords = "../docs/reference", 900 // figures count as words
	docs := t.TempDir()
	if err := os.CopyFS(docs, os.DirFS(committed)); err != nil {
		t.Fatal(err)
	}
	if err := writeDocs(docs, report.Page{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"performance.md", "performance/lab-book.md", "performance/saturation.svg", "performance/rate.svg"} {
		golden.Check(t, filepath.Join(committed, name), read(t, filepath.Join(docs, name)))
	}
	page := strings.ReplaceAll(string(read(t, filepath.Join(docs, "performance.md"))), "|", " ")
	if words := len(strings.Fields(page)); words > mostWords {
		t.Errorf("performance.md has %d words; at most %d can be read in three minutes", words, mostWords)
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestPoints(t *testing.T) {
	most := 0
	for _, p := range points(10_000) {
		most = max(most, p.Entries)
		if p.Entries*p.Body > 2*mostBytes || p.Connections < 1 || p.Cores < 1 {
			t.Errorf("%+v can't be measured", p)
		}
	}
	if most != 10_000 {
		t.Errorf("at most %d entries, want 10,000", most)
	}
}
