package iconify

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/icon/iconify"
	"github.com/iconedge/iconedge/origin/release"
	"github.com/iconedge/iconedge/origin/svg"
)

// request parses an address as a client writes it; ok is false for one that is refused.
func request(target string) (r iconify.Request, ok bool) {
	path, query, _ := strings.Cut(target, "?")
	a, ok := iconify.Find(path, false)
	if !ok {
		return r, false
	}
	r, err := iconify.Parse(a, query)
	return r, err == nil
}

// parsed checks that a stylesheet has only complete rules, comments and strings, and returns the
// selectors.
func parsed(t *testing.T, css string) (selectors []string) {
	t.Helper()
	for rest := strings.TrimSpace(css); rest != ""; rest = strings.TrimSpace(rest) {
		if after, ok := strings.CutPrefix(rest, "/*"); ok {
			_, after, ok = strings.Cut(after, "*/")
			if !ok {
				t.Fatalf("an unfinished comment: %q", css)
			}
			rest = after
			continue
		}
		selector, after, ok := strings.Cut(rest, "{")
		if !ok || strings.ContainsAny(selector, "}@\\\"';<\n") {
			t.Fatalf("%q is no selector: %q", selector, css)
		}
		selectors = append(selectors, strings.TrimSpace(selector))
		quoted, end := byte(0), -1
		for i := 0; i < len(after) && end < 0; i++ {
			switch c := after[i]; {
			case quoted != 0 && (c == '\n' || c == '\\'):
				t.Fatalf("a string with a line break or an escape: %q", css)
			case c == quoted:
				quoted = 0
			case quoted == 0 && (c == '"' || c == '\''):
				quoted = c
			case quoted == 0 && c == '{':
				t.Fatalf("a block in a block: %q", css)
			case quoted == 0 && c == '}':
				end = i
			}
		}
		if end < 0 {
			t.Fatalf("an unfinished block: %q", css)
		}
		rest = after[end+1:]
	}
	return selectors
}

// Whatever a client sends, the stylesheet has the same number of rules, and nothing of the input but
// in selectors.
func FuzzStylesheet(f *testing.F) {
	for _, q := range []string{
		"", "selector=.a{name}&common=&override=.b", "selector=a}b{c&format=compressed", "selector=%40import+x&common=%2F*", "selector=a%22b&var=x&pseudo=1", "selector=[a=b]:not(.c)&mode=bg&color=red",
		"selector=a(&common=b]&override=\\", "selector=-->&common=<!--", "selector=url(a)", "var=0&square=1&format=compact", "color=%22%3E%3Cscript%3E", "selector={name}{prefix}&common={name}",
	} {
		f.Add(q)
	}
	icons := []styled{{"home", `<path fill="currentColor" d="M0 0"/>`, svg.Box{Width: 24, Height: 24}}, {"wide", `<path style="font-family:'a\b'" fill="currentColor"/>`, svg.Box{Width: 30, Height: 24}}}
	f.Fuzz(func(t *testing.T, query string) {
		r, ok := request("/mdi.css?icons=home,wide&" + query)
		if !ok {
			return
		}
		for _, coloured := range []bool{false, true} {
			css := sheet("mdi", r.Style, coloured, icons, 1)
			n := len(parsed(t, css))
			if n != 2 && n != 3 {
				t.Fatalf("%q: %d rules: %q", query, n, css)
			}
			if strings.Contains(css, "<") || strings.Contains(css, "@") {
				t.Fatalf("%q: %q", query, css)
			}
		}
	})
}

// Icon data is JSON whatever the names, and has them as they were requested.
func FuzzData(f *testing.F) {
	for _, s := range []string{"a,b", "\x00", `","x":"`, "</script>", "\u2028", "a,,b", "\xff", strings.Repeat("a", 300)} {
		f.Add(s, "cb", true)
	}
	f.Fuzz(func(t *testing.T, names, callback string, pretty bool) {
		var r iconify.Request
		r.Kind, r.Pretty = iconify.Data, pretty
		r.Names = strings.Split(names, ",")
		sel := &selection{missing: r.Names}
		body, err := appendData(nil, sel, release.Set{Key: "mdi", Width: 24, Height: 24, Info: json.RawMessage(`{}`)}, true)
		if err != nil {
			t.Fatal(err)
		}
		if script, ok := request("/mdi.js?icons=a&callback=" + strings.ReplaceAll(callback, "&", "")); ok {
			r.Callback = script.Callback
		}
		got := written(r, body).Body
		if r.Callback != "" {
			var found bool
			if got, found = bytes.CutPrefix(got, []byte("/**/"+r.Callback+"(")); !found || !bytes.HasSuffix(got, []byte(");")) || strings.Trim(r.Callback, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.") != "" {
				t.Fatalf("not wrapped: %q", got)
			}
			got = got[:len(got)-2]
		}
		if bytes.ContainsRune(got, '\u2028') || bytes.ContainsRune(got, 0) {
			t.Fatalf("an end of a line in JavaScript: %q", got)
		}
		var ans struct {
			NotFound []string `json:"not_found"`
		}
		if err := json.Unmarshal(got, &ans); err != nil {
			t.Fatalf("%q: %v", got, err)
		}
		for i, name := range r.Names {
			if want := strings.ToValidUTF8(name, "\ufffd"); strings.ToValidUTF8(ans.NotFound[i], "\ufffd") != want && !strings.Contains(ans.NotFound[i], "\ufffd") {
				t.Fatalf("%q is not %q", ans.NotFound[i], want)
			}
		}
	})
}

// A list is JSON whatever the parameters, and so is its script.
func FuzzLists(f *testing.F) {
	f.Add("home\u2028</script>", "a.b")
	f.Add(`"};alert(1)//`, "")
	f.Fuzz(func(t *testing.T, value, callback string) {
		r := iconify.Request{Address: iconify.Address{Kind: iconify.Search}, Fields: icon.Params{"query": value}, Callback: callback}
		ans := encoded(r, found{Icons: []string{}, Request: r.Fields})
		body := ans.Body
		if callback != "" {
			body = bytes.TrimSuffix(bytes.TrimPrefix(body, []byte("/**/"+callback+"(")), []byte(");"))
		}
		var any struct{ Request map[string]string }
		if err := json.Unmarshal(body, &any); err != nil {
			t.Fatalf("%q: %v", body, err)
		}
		if bytes.ContainsRune(body, '\u2028') || bytes.ContainsRune(body, '\u2029') {
			t.Fatalf("an end of a line in JavaScript: %q", body)
		}
	})
}

func TestWords(t *testing.T) {
	yes, no := true, false
	for query, want := range map[string]*words{
		"Home": {text: "home"}, "mdi:home outline": {text: "home outline", prefixes: []string{"mdi"}}, "prefix:mdi home": {text: "home", prefixes: []string{"mdi"}},
		"prefixes=mdi,ic- home": {text: "home", prefixes: []string{"mdi", "ic-"}}, "prefix=material* x": {text: "x", prefixes: []string{"material", "material-"}},
		"palette=true cat": {text: "cat", palette: &yes}, "palette:no cat": {text: "cat", palette: &no}, "style:stroke a": {text: "a", style: "stroke"}, "fill=true a": {text: "a", style: "fill"},
		"mdi:": nil, "a:b:c": nil, "x=y": nil, "palette=maybe a": nil, "": nil, "mdi:a ic:b": nil, "style=thin a": nil,
	} {
		got, ok := parseWords(query)
		if want == nil {
			if ok {
				t.Errorf("%q is %+v, want nothing", query, got)
			}
			continue
		}
		if !ok || got.text != want.text || strings.Join(got.prefixes, ",") != strings.Join(want.prefixes, ",") || got.style != want.style || (got.palette == nil) != (want.palette == nil) || got.palette != nil && *got.palette != *want.palette {
			t.Errorf("%q is %+v, %v; want %+v", query, got, ok, *want)
		}
	}
}
