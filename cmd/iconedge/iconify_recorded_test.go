package main

import (
	"encoding/json"
	"flag"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/test/harness"
)

// recordIconify makes TestIconifyRecorded write the answers of Iconify's service anew.
var recordIconify = flag.Bool("record-iconify", false, "record the answers of @iconify/api in testdata/iconify")

// recordedCalls are the calls of TestIconifyRecorded, each with the comparison that it needs.
var recordedCalls = []string{
	"/mdi.json?icons=home,house,account,none", "/mdi.json?icons=f02dc,home",
	"/fa.json?icons=align-right,angle-double-down,f100,f101,angle-left", "/mdi/icons.json?icons=accusoft",
	"/twemoji.json?icons=cat,1f408,adult",
	"/fa6-regular.json?icons=moon,bell,notdef", "/mdi.json?icons=", "/mdi.json?icons=home,,home",
	"/none.json?icons=home", "/mdi.json?icons=%00,%22%3E,A",
	"/mdi.js?icons=home&callback=a.b", "/mdi.js?icons=home", "/mdi.js?icons=home&callback=a(",
	"/mdi/home.svg", "/mdi:home.svg?width=2em&color=%23ff0000", "/fa6-regular/moon.svg?height=48&rotate=1",
	"/fa:align-right.svg?flip=horizontal", "/fa-f100.svg?width=auto", "/fa6-regular/moon.svg?width=none&rotate=180deg",
	"/mdi/none.svg", "/mdi:home.svg?download=1&box=1", "/twemoji/cat.svg?height=auto&rotate=25%25&flip=vertical",
	"/mdi.css?icons=home,account", "/mdi.css?icons=home,account&format=compact&selector=.i-{name}&common=&pseudo=1",
	"/fa6-regular.css?icons=bell,moon&format=compressed", "/fa6-regular.css?icons=moon&square=1&var=0&selector=.a&common=.b&override=.c",
	"/twemoji.css?icons=cat,dog-face", "/mdi.css?icons=home&mode=bg&color=%23123456&download=1",
	"/mdi.css?icons=home&selector=a{b}&var=BAD", "/mdi.css", "/none.css?icons=a",
	"/collections", "/collections?prefix=mdi", "/collections?prefixes=fa,fa6-", "/collections?prefix=none",
	"/collection?prefix=mdi&info=1&chars=1", "/collection?prefix=fa&chars=1", "/collection?prefix=twemoji",
	"/collection?prefix=fa6-regular&pretty=1",
	"/collection?prefix=lets-icons", "/collection?prefix=none", "/collection", "/list-icons?prefix=mdi&aliases=1",
	"/list-icons-categorized?prefix=lets-icons&info=1", "/list-icons?prefixes=mdi,fa", "/list-icons",
	"/last-modified", "/last-modified?prefix=fa", "/last-modified?prefixes=fa6-,none",
}

// A recording is one answer of Iconify's service.
type recording struct {
	Status      int    `json:"status"`
	Disposition string `json:"disposition,omitempty"`
	Body        string `json:"body"`
}

// TestIconifyRecorded compares the answers of `iconedge run` over a small library with those that
// @iconify/api 3.1.1 gave for the same files. TestConformanceIconify does so with the whole library
// and the service itself.
func TestIconifyRecorded(t *testing.T) {
	dir := filepath.Join("testdata", "iconify")
	library, err := filepath.Abs(filepath.Join(dir, "library"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "answers.json")
	d := &apiComparison{T: t, random: rand.New(rand.NewPCG(1, 2)), sets: map[string]*iconSet{},
		calls: map[string]int{}, known: map[string]int{}}
	if *recordIconify {
		d.real = startIconify(t, library)
		record(d, file)
	}
	var answers map[string]recording
	d.decodeFile(file, &answers)
	replay := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a, ok := answers[r.RequestURI]
		if !ok {
			t.Errorf("%s is not recorded: run this test with -record-iconify", r.RequestURI)
		}
		if a.Disposition != "" {
			w.Header().Set("Content-Disposition", a.Disposition)
		}
		w.WriteHeader(a.Status)
		w.Write([]byte(a.Body))
	}))
	defer replay.Close()
	d.real, d.ours = replay.URL, startPublished(t, library)
	d.read(library)
	for _, target := range recordedCalls {
		d.compare(target)
	}
}

// compare makes one call to both, and compares the answers by their kind.
func (d *apiComparison) compare(target string) {
	path, _, _ := strings.Cut(target[1:], "?")
	prefix := strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == ':' || r == '.' })[0]
	switch filepath.Ext(path) {
	case ".json", ".js":
		if theirs, ours, ok := d.both("icon data", target); ok {
			if filepath.Ext(path) == ".js" {
				theirs.body, ours.body = inParentheses(theirs.body), inParentheses(strings.TrimPrefix(ours.body, "/**/"))
			}
			d.sameData(target, prefix, theirs.body, ours.body)
		}
	case ".svg":
		if theirs, ours, ok := d.both("SVG", target); ok {
			d.sameSVG(target, theirs.body, ours.body)
			d.sameDisposition(target, theirs, ours)
		}
	case ".css":
		if theirs, ours, ok := d.both("CSS", target); ok {
			d.sameRules(target, theirs.body, ours.body)
			d.sameDisposition(target, theirs, ours)
		}
	default:
		d.sameTree(target)
	}
}

func (d *apiComparison) sameDisposition(target string, theirs, ours exchanged) {
	if a, b := theirs.header.Get("Content-Disposition"), ours.header.Get("Content-Disposition"); a != b {
		d.Errorf("%s: Content-Disposition %q, want %q", target, b, a)
	}
}

// record writes the answers of Iconify's service.
func record(d *apiComparison, file string) {
	answers := map[string]recording{}
	for _, target := range recordedCalls {
		a := d.get(d.real, target)
		answers[target] = recording{a.status, a.header.Get("Content-Disposition"), a.body}
	}
	b, err := json.MarshalIndent(answers, "", " ")
	if err == nil {
		err = os.WriteFile(file, append(b, '\n'), 0o644)
	}
	if err != nil {
		d.Fatal(err)
	}
}

// iconifyEdge starts `iconedge run` over the small library, and returns its public address.
func iconifyEdge(t *testing.T, flags ...string) string {
	t.Helper()
	library, err := filepath.Abs(filepath.Join("testdata", "iconify", "library"))
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	harness.Must(t, home, "publish", library)
	args := append([]string{"run", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"}, flags...)
	return harness.Start(t, home, args...).Ready().Address("public")
}

// TestIconifyAddresses checks where the addresses are: at the root, below the mount, on a host of
// their own, and nowhere with --iconify off.
func TestIconifyAddresses(t *testing.T) {
	edge := iconifyEdge(t, "--iconify-host", "icons.example")
	for _, row := range []struct {
		path, host, want string
		status           int
	}{
		{"/mdi/home.svg", "", `width="24" height="24"`, 200}, // ours at the root
		{"/iconify/mdi/home.svg", "", `width="1em" height="1em"`, 200},
		{"/mdi/home.svg", "icons.example", `width="1em" height="1em"`, 200},
		{"/mdi/home.svg", "ICONS.example:80", `width="1em" height="1em"`, 200},
		{"/mdi/home.svg", "", `width="24" height="24"`, 200},
		{"/mdi/home.svg?width=48", "icons.example", `width="48" height="48"`, 200},
		{"/mdi/home.svg?rotate=90", "icons.example", `rotate(180 12 12)`, 200}, // quarter turns
		{"/mdi/home.svg?rotate=90", "", `rotate(90 12 12)`, 200},               // degrees
		{"/mdi/home.svg?rotate=90", "icons.example", `rotate(180 12 12)`, 200},
		{"/mdi/home.svg?rotate=abc", "icons.example", `<svg`, 200},
		{"/mdi/home.svg?rotate=abc", "", `"parameter":"rotate"`, 400},
		{"/mdi/home.svg?flip=x", "", `"parameter":"flip"`, 400},
		{"/mdi/home.svg?color=zz", "", `"parameter":"color"`, 400},
		{"/mdi/home.svg?color=red&width=2em", "", `width="2em" height="2em" viewBox="0 0 24 24"><path fill="#ff0000"`, 200},
		{"/mdi-home.svg", "", `width="1em"`, 200},
		{"/mdi.json?icons=home", "icons.example", `"prefix":"mdi"`, 200},
		{"/healthz", "icons.example", "nothing", 404},
		{"/iconify/healthz", "", "nothing", 404},
		{"/search", "", "<title>", 200}, // of the site
		{"/search?query=home", "", `"icons":[`, 200},
		{"/search?q=home", "", "<title>", 200},
		{"/@iconify-json/mdi@1.2/icons.json", "", `"info":`, 200},
		{"/npm/@iconify-json/mdi/icons.json", "", `"chars":`, 200},
		{"/mdi.json", "", `"info":`, 200},
		{"/version", "", "version", 200},
		{"/mdi.json?icons=" + strings.Repeat("home,", 513), "", `"home":`, 200},
		{"/mdi.json?icons=" + numbered(513), "", `"parameter":"icons"`, 400},
		{"/mdi.json?icons=" + numbered(512), "", `"not_found":`, 200},
		{"/mdi.json?icons=" + strings.Repeat("%2C", 2700), "", `"not_found":[""]`, 200},
		{"/mdi.json?icons=home&icons=home", "", `"parameter":"icons"`, 400},
		{"/mdi.json?icons=%ff", "", `"parameter":"icons"`, 400},
		{"/mdi.css?icons=home&selector=%40import", "", ".icon--mdi--home", 200},
		{"/mdi.css?icons=%2A%2F%7D%3Cscript%3E", "", "/* 1 of the requested icons do not exist */", 200},
	} {
		resp, body := harness.Get(t, edge, row.path, "Host", row.host)
		if resp.StatusCode != row.status || !strings.Contains(body, row.want) ||
			strings.Contains(row.path, "script") && strings.Contains(body, "<script>") {
			t.Errorf("%.100s on %q: %d %.300s; want %d with %s", row.path, row.host, resp.StatusCode, body, row.status, row.want)
		}
		if resp.Header.Get("Access-Control-Allow-Origin") != "*" || resp.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%.100s: no CORS or nosniff: %v", row.path, resp.Header)
		}
	}
	off := iconifyEdge(t, "--iconify", "off")
	for _, path := range []string{"/mdi.json?icons=home", "/iconify/mdi/home.svg", "/mdi:home.svg", "/collections",
		"/mdi/icons.json?icons=home"} {
		if resp, body := harness.Get(t, off, path); resp.StatusCode != http.StatusNotFound {
			t.Errorf("%s with --iconify off: %d %.200s", path, resp.StatusCode, body)
		}
	}
}

// numbered returns n different names.
func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("n" + string(rune('a'+i%26)) + strings.Repeat("x", i/26))
	}
	return b.String()
}

// TestIconifyWithdrawn checks that withdrawn icons and their aliases are in no answer.
func TestIconifyWithdrawn(t *testing.T) {
	library, err := filepath.Abs(filepath.Join("testdata", "iconify", "library"))
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	harness.Must(t, home, "publish", library)
	harness.Must(t, home, "withdraw", "mdi/home")
	harness.Must(t, home, "withdraw", "fa")
	edge := harness.Start(t, home, "run", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0").Ready().Address("public")
	for _, row := range []struct {
		path, want string
		status     int
	}{
		{"/mdi.json?icons=home,house,f02dc,account", `"not_found":["f02dc","home","house"]`, 200},
		{"/mdi:home.svg", `"status":404`, 404},
		{"/mdi:f02dc.svg", `"status":404`, 404},
		{"/mdi.css?icons=home", "do not exist", 200},
		{"/fa.json?icons=angle-left", `"status":404`, 404},
		{"/collections", `"mdi"`, 200}, {"/collection?prefix=mdi&chars=1&info=1", `"total":3`, 200},
		{"/list-icons?prefix=mdi&aliases=1", `"account"`, 200},
		{"/search?query=home", `"icons"`, 200}, {"/keywords?keyword=home", `"keyword"`, 200},
		{"/last-modified", `"mdi"`, 200}, {"/@iconify-json/mdi/icons.json", `"account"`, 200},
	} {
		resp, body := harness.Get(t, edge, row.path)
		if resp.StatusCode != row.status || !strings.Contains(body, row.want) {
			t.Errorf("%s: %d %.400s; want %d with %s", row.path, resp.StatusCode, body, row.status, row.want)
		}
		for _, gone := range []string{`"home"`, `"house"`, `:"home"`, "mdi:home\"", `"fa"`, "--home{", "--home "} {
			if row.status == 200 && strings.Contains(strings.NewReplacer(`"not_found":["f02dc","home","house"]`, "",
				`"keyword":"home"`, "", `"query":"home"`, "").Replace(body), gone) {
				t.Errorf("%s contains %s: %.400s", row.path, gone, body)
			}
		}
	}
}
