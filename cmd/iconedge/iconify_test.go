package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/origin/svg"
	"github.com/iconedge/iconedge/test/harness"
)

// An apiComparison compares the answers of Iconify's own service with those of an edge.
type apiComparison struct {
	*testing.T
	real, ours string
	random     *rand.Rand
	prefixes   []string
	sets       map[string]*iconSet
	calls      map[string]int
	known      map[string]int // how often each known difference came up
}

// An iconSet is a file of @iconify/json.
type iconSet struct {
	Icons   map[string]iconData
	Aliases map[string]map[string]any
	Chars   map[string]string
	Info    struct{ Palette, Hidden bool }
	names   []string
	listed  bool
}

type iconData struct {
	Body                     string
	Width, Height, Left, Top float64
	Hidden                   bool
}

// knownDifferences are those of the contract with Iconify's service, with their reasons.
var knownDifferences = map[string]string{
	"unknown set":    "an unknown set is a 404; Iconify answers icon data with 200 and the body 404",
	"hidden sets":    "lists have no hidden sets; Iconify lists them",
	"unlisted sets":  "@iconify/json has sets that its list lacks; we serve them by name, Iconify does not",
	"category title": "a title is without superfluous white space, and icons of a category without a title have no category",
	"mixed palette":  "the palette of the set chooses the mode of a stylesheet; Iconify looks at the first icon of the request",
	"turned box":     "box has the size of the viewBox, also if the icon is turned",
	"mixed colours":  "color leaves icons alone that have colours of their own; Iconify replaces currentColor in them",
	"ranking":        "the order of results is ours, and searches find more by meanings",
}

// TestConformanceIconify makes the same calls to @iconify/api and to an edge, and compares JSON as
// trees, stylesheets as rules and SVGs as elements. ICONEDGE_LIBRARY is the folder of
// @iconify/json. ICONEDGE_DATA may name the data folder of `iconedge run` with that library
// published, and ICONEDGE_ICONIFY the address of a running service.
func TestConformanceIconify(t *testing.T) {
	library := os.Getenv("ICONEDGE_LIBRARY")
	if library == "" {
		t.Skip("runs in `make conformance`")
	}
	d := &apiComparison{T: t, random: rand.New(rand.NewPCG(1, 2)), sets: map[string]*iconSet{},
		calls: map[string]int{}, known: map[string]int{}}
	d.real = startIconify(t, library)
	d.ours = startPublished(t, library)
	d.read(library)
	d.data()
	d.svgs()
	d.stylesheets()
	d.lists()
	d.searches()
	total := 0
	for kind, n := range d.calls {
		t.Logf("%s: %d calls", kind, n)
		total += n
	}
	for name, n := range d.known {
		t.Logf("known difference, %d times: %s: %s", n, name, knownDifferences[name])
	}
	if total < 2000 {
		t.Errorf("%d calls; at least 2,000 were to be compared", total)
	}
}

// startIconify starts Iconify's service, and returns its address.
func startIconify(t *testing.T, library string) string {
	if running := os.Getenv("ICONEDGE_ICONIFY"); running != "" {
		return running
	}
	dir, err := filepath.Abs(filepath.Join("..", "..", "tools", "iconify"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules")); err != nil {
		harness.Missing(t, "@iconify/api is not installed: run `make conformance`, which installs it")
	}
	address := harness.FreeAddress(t)
	_, port, _ := strings.Cut(address, ":")
	cmd := exec.CommandContext(t.Context(), "node", "server.mjs", library, port)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CACHE="+t.TempDir())
	log := harness.StartOther(t, cmd)
	if log.Wait(regexp.MustCompile(`(?m)^loaded$`)) == nil {
		t.Fatalf("Iconify's service did not start:\n%s", log)
	}
	return "http://" + address
}

// startPublished starts an origin and an edge over the library.
func startPublished(t *testing.T, library string) string {
	data := os.Getenv("ICONEDGE_DATA")
	if data == "" {
		data = t.TempDir()
		harness.Must(t, t.TempDir(), "publish", "--store", "dir:"+filepath.Join(data, "store"), library)
	}
	s := harness.Start(t, t.TempDir(), "run", "--data", data, "--listen", "127.0.0.1:0", "--admin-listen",
		"127.0.0.1:0", "--limit", "search=off", "--limit", "packs=off")
	return "http://" + s.Ready().Address("public")
}

func (d *apiComparison) read(library string) {
	var listed map[string]any
	d.decodeFile(filepath.Join(library, "collections.json"), &listed)
	files, err := filepath.Glob(filepath.Join(library, "json", "*.json"))
	if err != nil || len(files) == 0 {
		d.Fatal("the library has no icon sets")
	}
	for _, file := range files {
		var s iconSet
		d.decodeFile(file, &s)
		prefix := strings.TrimSuffix(filepath.Base(file), ".json")
		_, s.listed = listed[prefix]
		for name := range s.Icons {
			s.names = append(s.names, name)
		}
		if slices.Sort(s.names); len(s.names) == 0 || !s.listed {
			continue // Iconify's service has only the sets that collections.json lists
		}
		d.sets[prefix] = &s
		d.prefixes = append(d.prefixes, prefix)
	}
}

func (d *apiComparison) decodeFile(path string, into any) {
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, into)
	}
	if err != nil {
		d.Fatal(err)
	}
}

// An exchanged is the answer to one call.
type exchanged struct {
	status int
	header http.Header
	body   string
}

func (d *apiComparison) get(base, target string) exchanged {
	resp, err := http.Get(base + target)
	if err != nil {
		d.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		d.Fatal(err)
	}
	return exchanged{resp.StatusCode, resp.Header, string(b)}
}

// both makes a call to both. It is not ok if they are compared already: both are errors.
func (d *apiComparison) both(kind, target string) (theirs, ours exchanged, ok bool) {
	d.calls[kind]++
	theirs, ours = d.get(d.real, target), d.get(d.ours, "/iconify"+target)
	// Iconify's form of an error of icon data.
	if theirs.status == 200 && (theirs.body == "404" || theirs.body == "400") {
		theirs.status, _ = strconv.Atoi(theirs.body)
	}
	if theirs.status != ours.status {
		d.Errorf("%s: status %d, want %d", target, ours.status, theirs.status)
		return theirs, ours, false
	}
	return theirs, ours, ours.status == 200
}

func (d *apiComparison) pick(list []string) string { return list[d.random.IntN(len(list))] }

// someNames picks names of a set: icons, aliases, characters and, sometimes, missing ones.
func (d *apiComparison) someNames(s *iconSet, n int, missing bool) []string {
	var names []string
	aliases, chars := sorted(s.Aliases), sorted(s.Chars)
	for range n {
		switch r := d.random.IntN(10); {
		case r < 2 && len(aliases) > 0:
			names = append(names, d.pick(aliases))
		case r == 2 && len(chars) > 0:
			names = append(names, d.pick(chars))
		case r == 3 && missing:
			names = append(names, "no-such-"+strconv.Itoa(d.random.IntN(100)))
		default:
			names = append(names, d.pick(s.names))
		}
	}
	return names
}

func sorted[V any](m map[string]V) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func (d *apiComparison) data() {
	for _, prefix := range d.prefixes {
		s := d.sets[prefix]
		for name, a := range s.Aliases {
			if len(a) > 1 {
				d.compareData(prefix, []string{name})
			}
		}
		for range 2 {
			d.compareData(prefix, d.someNames(s, 1+d.random.IntN(30), true))
		}
	}
	for _, target := range []string{"/mdi/icons.json?icons=home,account", "/no-such-set.json?icons=a",
		"/mdi.json?icons=", "/mdi.json?icons=a,,b", "/mdi.json?icons=home%2Caccount",
		"/mdi.json?icons=UPPER,%00,%22,a%20b", "/mdi.json?icons=home,home"} {
		theirs, ours, ok := d.both("icon data", target)
		if ok {
			d.sameData(target, "mdi", theirs.body, ours.body)
		}
	}
	for _, target := range []string{"/mdi.js?icons=home", "/mdi/icons.js?icons=home,zz",
		"/mdi.js?icons=home&callback=a.b", "/mdi.js?icons=home&callback=a-b", "/mdi.js?icons=a&callback=alert(1)"} {
		theirs, ours, ok := d.both("scripts", target)
		if ok {
			unwrapped := strings.TrimPrefix(ours.body, "/**/")
			d.sameData(target, "mdi", inParentheses(theirs.body), inParentheses(unwrapped))
		}
	}
}

func inParentheses(s string) string {
	_, s, _ = strings.Cut(s, "(")
	return strings.TrimSuffix(s, ");")
}

func (d *apiComparison) compareData(prefix string, names []string) {
	target := "/" + prefix + ".json?icons=" + strings.Join(names, ",")
	theirs, ours, ok := d.both("icon data", target)
	if ok {
		d.sameData(target, prefix, theirs.body, ours.body)
	}
}

type dataAnswer struct {
	Prefix        string
	LastModified  int64
	Width, Height *float64
	Left, Top     float64
	Icons         map[string]*struct {
		Body          string
		Width, Height *float64
		Left, Top     *float64
		Hidden        bool
	}
	Aliases  map[string]any
	NotFound []string `json:"not_found"`
}

func (d *apiComparison) sameData(target, prefix, theirBody, ourBody string) {
	var theirs, ours dataAnswer
	if json.Unmarshal([]byte(theirBody), &theirs) != nil || json.Unmarshal([]byte(ourBody), &ours) != nil {
		d.Errorf("%s: an answer is not JSON: %.200s", target, ourBody)
		return
	}
	slices.Sort(theirs.NotFound)
	theirs.NotFound = slices.Compact(theirs.NotFound)
	if theirs.Prefix != ours.Prefix || theirs.LastModified != ours.LastModified && theirs.LastModified != 0 ||
		!slices.Equal(theirs.NotFound, ours.NotFound) || !reflect.DeepEqual(theirs.Aliases, ours.Aliases) {
		d.Errorf("%s:\n got %.600s\nwant %.600s", target, ourBody, theirBody)
		return
	}
	if ours.Width == nil || ours.Height == nil {
		d.Errorf("%s: no width or height", target)
		return
	}
	if len(theirs.Icons) != len(ours.Icons) {
		d.Errorf("%s: icons %v, want %v", target, sorted(ours.Icons), sorted(theirs.Icons))
	}
	or := func(values ...*float64) float64 {
		for _, v := range values {
			if v != nil {
				return *v
			}
		}
		return 16
	}
	zero := 0.0
	for name, want := range theirs.Icons {
		got := ours.Icons[name]
		if got == nil {
			d.Errorf("%s: %s is missing", target, name)
			continue
		}
		box := svg.Box{Left: or(want.Left, &theirs.Left), Top: or(want.Top, &theirs.Top),
			Width: or(want.Width, theirs.Width), Height: or(want.Height, theirs.Height)}
		has := svg.Box{Left: or(got.Left, &zero), Top: or(got.Top, &zero), Width: or(got.Width, ours.Width),
			Height: or(got.Height, ours.Height)}
		if box != has || want.Hidden != got.Hidden {
			d.Errorf("%s: %s has the box %v, want %v", target, name, has, box)
		}
		d.sameContent(target+" "+name, want.Body, got.Body, box)
	}
}

// sameContent compares the content of two SVGs after cleaning, which gives equal ones equal bytes.
func (d *apiComparison) sameContent(what, theirs, ours string, box svg.Box) {
	want, err := svg.Clean([]byte(theirs), box)
	if err != nil {
		d.Errorf("%s: Iconify's SVG is not clean: %v", what, err)
		return
	}
	got, err := svg.Clean([]byte(ours), box)
	if err != nil {
		d.Errorf("%s: %v: %s", what, err, ours)
		return
	}
	if string(want.SVG) != string(got.SVG) {
		d.Errorf("%s:\n got %.400s\nwant %.400s", what, got.SVG, want.SVG)
	}
}

var root = regexp.MustCompile(`(?s)^<svg ([^>]*)>(.*)</svg>$`)
var attribute = regexp.MustCompile(`([a-zA-Z:]+)="([^"]*)"`)

// sameSVG compares two whole SVGs: the attributes of the root, and the content.
func (d *apiComparison) sameSVG(what, theirs, ours string) {
	want, got := root.FindStringSubmatch(theirs), root.FindStringSubmatch(ours)
	if want == nil || got == nil {
		d.Errorf("%s: not an SVG: %.300s; want %.300s", what, ours, theirs)
		return
	}
	attributes := func(s string) map[string]string {
		m := map[string]string{}
		for _, a := range attribute.FindAllStringSubmatch(s, -1) {
			m[a[1]] = a[2]
		}
		delete(m, "xmlns:xlink")
		return m
	}
	if a, b := attributes(got[1]), attributes(want[1]); !reflect.DeepEqual(a, b) {
		d.Errorf("%s: the root has %v, want %v", what, a, b)
	}
	d.sameContent(what, want[2], got[2], svg.Box{Width: 24, Height: 24})
}

func (d *apiComparison) svgs() {
	values := map[string][]string{
		"width":  {"", "24", "2em", "1.5rem", "auto", "none", "unset", "0.75em", "100%"},
		"height": {"", "24", "48", "1em", "auto", "none", "2.5em"},
		"rotate": {"", "1", "2", "3", "5", "-1", "90deg", "180deg", "45deg", "25%", "30%", "abc", "90"},
		"flip":   {"", "horizontal", "vertical", "horizontal,vertical", "x", "horizontal, vertical"},
		"box":    {"", "1"}, "download": {"", "1"}, "color": {"", "#ff0000", "#12345680"},
	}
	for i := range 700 {
		prefix := d.pick(d.prefixes)
		s := d.sets[prefix]
		name := d.someNames(s, 1, i%20 == 0)[0]
		q := url.Values{}
		for _, p := range sorted(values) {
			if v := d.pick(values[p]); v != "" && d.random.IntN(3) == 0 {
				q.Set(p, v)
			}
		}
		// See knownDifferences: mixed colours.
		if s.Info.Palette || strings.Contains(s.Icons[name].Body, "#") {
			q.Del("color")
		}
		if q.Get("rotate") != "" && q.Get("box") != "" {
			q.Del("box")
			d.known["turned box"]++
		}
		target := "/" + prefix + "/" + name + ".svg"
		switch {
		case i%3 == 1:
			target = "/" + prefix + ":" + name + ".svg"
		case i%9 == 2 && !strings.Contains(prefix, "-"):
			target = "/" + prefix + "-" + name + ".svg"
		}
		if len(q) > 0 {
			target += "?" + q.Encode()
		}
		theirs, ours, ok := d.both("SVG", target)
		if !ok {
			continue
		}
		if a, b := theirs.header.Get("Content-Disposition"), ours.header.Get("Content-Disposition"); a != b {
			d.Errorf("%s: Content-Disposition %q, want %q", target, b, a)
		}
		if ours.header.Get("Icon-Recolored") == "?0" {
			d.known["mixed colours"]++
			continue
		}
		d.sameSVG(target, theirs.body, ours.body)
	}
}

func (d *apiComparison) stylesheets() {
	values := map[string][]string{
		"format": {"expanded", "compact", "compressed", "x"}, "mode": {"mask", "background", "bg", "x"}, "color": {"#ff0000", "zz"},
		"square": {"1", "0", "true", "maybe"}, "forceSquare": {"yes"}, "force-square": {"1"}, "pseudo": {"1", "no"},
		"pseudoSelector": {"true"}, "pseudo-selector": {"1"},
		"common": {".c", "", ".i-{prefix}"}, "commonSelector": {".cc"},
		"selector": {".i-{name}", ".a[data-x={name}]:not(.b)", ".{prefix}", "a{b", ""}, "iconSelector": {".long-{prefix}-{name}"},
		"override": {".o-{name}", "a}b"}, "overrideSelector": {".oo .{name}"}, "var": {"", "0", "null", "ico", "BAD"},
		"varName": {"name", "no"}, "download": {"1"},
	}
	for range 500 {
		prefix := d.pick(d.prefixes)
		s := d.sets[prefix]
		names := d.someNames(s, 1+d.random.IntN(6), d.random.IntN(4) == 0)
		slices.Sort(names)
		names = slices.Compact(names)
		q := url.Values{}
		for _, p := range sorted(values) {
			if d.random.IntN(5) == 0 {
				q.Set(p, d.pick(values[p]))
			}
		}
		target := "/" + prefix + ".css?icons=" + strings.Join(names, ",") + "&" + q.Encode()
		theirs, ours, ok := d.both("CSS", target)
		if !ok {
			continue
		}
		if d.mixed(s, names) && q.Get("mode") == "" && q.Get("color") == "" {
			d.known["mixed palette"]++
			continue
		}
		d.sameRules(target, theirs.body, ours.body)
	}
}

// mixed reports whether the first icon of a request has other colours than its set says.
func (d *apiComparison) mixed(s *iconSet, names []string) bool {
	if !slices.ContainsFunc(names, func(n string) bool { return !strings.HasPrefix(n, "no-such-") }) {
		return s.Info.Palette
	}
	for _, name := range names {
		for range 5 {
			if c, ok := s.Chars[name]; ok && s.Aliases[name] == nil && s.Icons[name].Body == "" {
				name = c
			}
			if a := s.Aliases[name]; a != nil {
				name, _ = a["parent"].(string)
			}
		}
		if body := s.Icons[name].Body; strings.Contains(body, "currentColor") == s.Info.Palette {
			return true
		}
	}
	return false
}

var comment = regexp.MustCompile(`(?s)/\*.*?\*/`)

// rules parses a stylesheet whose values have neither braces nor semicolons outside of strings.
func rules(css string) map[string]map[string]string {
	all := map[string]map[string]string{}
	css = comment.ReplaceAllString(css, "")
	for css = strings.TrimSpace(css); css != ""; css = strings.TrimSpace(css) {
		selector, rest, ok := strings.Cut(css, "{")
		if !ok {
			all["malformed"] = nil
			break
		}
		selector = strings.Join(strings.Fields(selector), " ")
		if strings.Contains(selector, ",") {
			parts := strings.Split(strings.ReplaceAll(selector, ", ", ","), ",")
			slices.Sort(parts)
			selector = strings.Join(parts, ",")
		}
		declared := all[selector]
		if declared == nil {
			declared = map[string]string{}
			all[selector] = declared
		}
		start, quoted, end := 0, false, -1
		put := func(text string) {
			if property, value, ok := strings.Cut(text, ":"); ok {
				declared[strings.TrimSpace(property)] = strings.TrimSpace(value)
			}
		}
		for i := range len(rest) {
			switch c := rest[i]; {
			case c == '"':
				quoted = !quoted
			case quoted:
			case c == ';':
				put(rest[start:i])
				start = i + 1
			case c == '}':
				put(rest[start:i])
				end = i
			}
			if end >= 0 {
				break
			}
		}
		css = rest[end+1:]
	}
	return all
}

func (d *apiComparison) sameRules(target, theirCSS, ourCSS string) {
	want, got := rules(theirCSS), rules(ourCSS)
	if !slices.Equal(sorted(want), sorted(got)) {
		d.Errorf("%s: the selectors are %q, want %q", target, sorted(got), sorted(want))
		return
	}
	for selector, declared := range want {
		if !slices.Equal(sorted(declared), sorted(got[selector])) {
			d.Errorf("%s: %s has %q, want %q", target, selector, sorted(got[selector]), sorted(declared))
			continue
		}
		for property, value := range declared {
			other := got[selector][property]
			if strings.HasPrefix(value, "url(") {
				d.sameSVG(target+" "+selector, unpacked(value), unpacked(other))
			} else if value != other {
				d.Errorf("%s: %s: %s is %q, want %q", target, selector, property, other, value)
			}
		}
	}
}

// unpacked returns the SVG of a data URI in a stylesheet.
func unpacked(value string) string {
	data := strings.TrimSuffix(strings.TrimPrefix(value, `url("data:image/svg+xml,`), `")`)
	text, err := url.PathUnescape(data)
	if err != nil {
		return err.Error()
	}
	return strings.ReplaceAll(text, "'", `"`)
}

func (d *apiComparison) lists() {
	options := []string{"", "&info=1", "&chars=true", "&info=1&chars=1", "&pretty=1", "&aliases=1"}
	for _, prefix := range d.prefixes {
		d.sameTree("/collection?prefix=" + prefix + d.pick(options))
	}
	for range 60 {
		prefix := d.pick(d.prefixes)
		d.sameTree("/list-icons?prefix=" + prefix + d.pick(options))
		d.sameTree("/list-icons-categorized?prefix=" + prefix + d.pick(options))
		d.sameTree("/collections?prefix=" + prefix)
		d.sameTree("/collections?prefixes=" + prefix + "," + d.pick(d.prefixes) + "," + strings.Split(d.pick(d.prefixes), "-")[0] + "-")
		d.sameTree("/last-modified?prefix=" + prefix)
		d.sameTree("/last-modified?prefixes=" + prefix + "," + strings.Split(d.pick(d.prefixes), "-")[0] + "-")
	}
	for _, target := range []string{"/collections", "/last-modified", "/collections?prefix=none",
		"/collections?prefixes=,", "/collection", "/collection?prefix=none", "/list-icons", "/list-icons?prefixes=none",
		"/list-icons?prefixes=mdi-,ic", "/collections?callback=a-b", "/collections?callback=cb", "/version?x"} {
		d.sameTree(target)
	}
}

// sameTree compares two JSON answers. The order of names is not Iconify's promise.
func (d *apiComparison) sameTree(target string) {
	kind, _, _ := strings.Cut(target[1:], "?")
	theirs, ours, ok := d.both(kind, target)
	if !ok || kind == "version" {
		return
	}
	if strings.Contains(target, "callback=") {
		theirs.body, ours.body = inParentheses(theirs.body), inParentheses(strings.TrimPrefix(ours.body, "/**/"))
	}
	var want, got any
	if json.Unmarshal([]byte(theirs.body), &want) != nil || json.Unmarshal([]byte(ours.body), &got) != nil {
		d.Errorf("%s: not JSON: %.200s", target, ours.body)
		return
	}
	if all, ok := want.(map[string]any); ok && kind == "collections" {
		for prefix := range all {
			if s := d.sets[prefix]; s == nil || !s.listed || s.Info.Hidden {
				delete(all, prefix)
				d.known["hidden sets"]++
			}
		}
	}
	if all, ok := got.(map[string]any); ok && kind == "last-modified" {
		times := all["lastModified"].(map[string]any)
		for prefix := range times {
			if d.sets[prefix] == nil {
				delete(times, prefix)
				d.known["unlisted sets"]++
			}
		}
	}
	if d.oddTitle(want) {
		d.known["category title"]++
		return
	}
	if difference := differ("", want, got); difference != "" {
		d.Errorf("%s: %s", target, difference)
	}
}

// oddTitle reports whether a list has a category whose title we change.
func (d *apiComparison) oddTitle(list any) bool {
	all, _ := list.(map[string]any)
	categories, _ := all["categories"].(map[string]any)
	for title := range categories {
		if title == "" || title != strings.Join(strings.Fields(title), " ") {
			return true
		}
	}
	return false
}

// differ returns the first difference of two trees. Lists are compared as sets.
func differ(at string, want, got any) string {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return fmt.Sprintf("%s is %.100v, want an object", at, got)
		}
		for _, k := range sorted(w) {
			if _, has := g[k]; !has {
				return fmt.Sprintf("%s.%s is missing; want %.200v", at, k, w[k])
			}
			if s := differ(at+"."+k, w[k], g[k]); s != "" {
				return s
			}
		}
		for _, k := range sorted(g) {
			if _, has := w[k]; !has {
				return fmt.Sprintf("%s.%s is too much: %.200v", at, k, g[k])
			}
		}
		return ""
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return fmt.Sprintf("%s is %.300v, want %.300v", at, got, want)
		}
		text := func(list []any) []string {
			var all []string
			for _, v := range list {
				b, _ := json.Marshal(v)
				all = append(all, string(b))
			}
			slices.Sort(all)
			return all
		}
		if !slices.Equal(text(w), text(g)) {
			return fmt.Sprintf("%s is %.300v, want %.300v", at, got, want)
		}
		return ""
	case float64:
		if g, ok := got.(float64); ok && math.Abs(g-w) < 1e-9 {
			return ""
		}
	}
	if !reflect.DeepEqual(want, got) {
		return fmt.Sprintf("%s is %.200v, want %.200v", at, got, want)
	}
	return ""
}

func (d *apiComparison) searches() {
	words := []string{"home", "arrow left", "mdi:home", "prefix:mdi home", "prefixes:mdi,tabler account",
		"palette:true cat", "style:stroke arrow", "fill=true star", "mdi:", "a:b:c", "x=y", "palette=maybe home",
		"prefix=material-* home", "prefix=mdi home", "heart"}
	for _, word := range words {
		for _, more := range []string{"", "&limit=999", "&limit=1", "&min=40", "&start=10", "&start=64", "&start=-1",
			"&limit=abc", "&limit=0", "&prefix=mdi", "&prefixes=mdi,ic-", "&category=Material", "&similar=no", "&collection=tabler"} {
			target := "/search?query=" + url.QueryEscape(word) + more
			theirs, ours, ok := d.both("search", target)
			if ok {
				d.sameSearch(target, theirs.body, ours.body)
			}
		}
	}
	d.both("search", "/search")
	d.both("search", "/search?query=")
	for _, target := range []string{"?keyword=home", "?prefix=hom", "?keyword=ome", "?keyword=H",
		"?keyword=arrow-lef", "?keyword=zzzz-arrow", "?keyword=%22%3E", "?prefix=", "", "?keyword=a&prefix=b"} {
		theirs, ours, ok := d.both("keywords", "/keywords"+target)
		if !ok {
			continue
		}
		var want, got map[string]any
		if json.Unmarshal([]byte(theirs.body), &want) != nil || json.Unmarshal([]byte(ours.body), &got) != nil {
			d.Errorf("%s: not JSON", target)
			continue
		}
		if difference := differ("", want, got); difference != "" {
			d.Errorf("/keywords%s: %s", target, difference)
		}
	}
}

// sameSearch compares the parts of two answers that do not depend on the ranking.
func (d *apiComparison) sameSearch(target, theirBody, ourBody string) {
	type answer struct {
		Icons               []string
		Total, Limit, Start int
		Collections         map[string]any
		Request             map[string]any
	}
	var want, got answer
	if json.Unmarshal([]byte(theirBody), &want) != nil || json.Unmarshal([]byte(ourBody), &got) != nil {
		d.Errorf("%s: not JSON: %.200s", target, ourBody)
		return
	}
	d.known["ranking"]++
	if want.Limit != got.Limit || want.Start != got.Start || !reflect.DeepEqual(want.Request, got.Request) ||
		got.Icons == nil || len(got.Icons) != max(0, got.Total-got.Start) || got.Total > got.Limit {
		d.Errorf("%s: got %.300s\nwant %.300s", target, ourBody, theirBody)
	}
	if want.Total > 0 && got.Total == 0 {
		d.Errorf("%s: %d results, Iconify has %d", target, got.Total, want.Total)
	}
	for _, ref := range got.Icons {
		prefix, name, _ := strings.Cut(ref, ":")
		s := d.sets[prefix]
		if s == nil || s.Info.Hidden || !s.listed || s.Icons[name].Body == "" && s.Aliases[name] == nil {
			d.Errorf("%s: %s is no visible icon", target, ref)
		}
		if got.Collections[prefix] == nil {
			d.Errorf("%s: the set of %s is missing", target, ref)
		}
	}
}
