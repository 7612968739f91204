package iconify

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/icon/iconify"
	"github.com/iconedge/iconedge/origin/release"
)

// request parses an address as a client writes it; it is not ok if the address is refused.
func request(target string) (r iconify.Request, ok bool) {
	path, query, _ := strings.Cut(target, "?")
	a, ok := iconify.Find(path, false)
	if !ok {
		return r, false
	}
	r, err := iconify.Parse(a, query)
	return r, err == nil
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
			if got, found = bytes.CutPrefix(got, []byte("/**/"+r.Callback+"(")); !found ||
				!bytes.HasSuffix(got, []byte(");")) ||
				strings.Trim(r.Callback, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.") != "" {
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
			if want := strings.ToValidUTF8(name, "\ufffd"); strings.ToValidUTF8(ans.NotFound[i], "\ufffd") != want &&
				!strings.Contains(ans.NotFound[i], "\ufffd") {
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
		"Home": {text: "home"}, "mdi:home outline": {text: "home outline", prefixes: []string{"mdi"}},
		"prefix:mdi home":       {text: "home", prefixes: []string{"mdi"}},
		"prefixes=mdi,ic- home": {text: "home", prefixes: []string{"mdi", "ic-"}},
		"prefix=material* x":    {text: "x", prefixes: []string{"material", "material-"}},
		"palette=true cat":      {text: "cat", palette: &yes}, "palette:no cat": {text: "cat", palette: &no},
		"style:stroke a": {text: "a", style: "stroke"}, "fill=true a": {text: "a", style: "fill"},
		"mdi:": nil, "a:b:c": nil, "x=y": nil, "palette=maybe a": nil, "": nil, "mdi:a ic:b": nil, "style=thin a": nil,
	} {
		got, ok := parseWords(query)
		if want == nil {
			if ok {
				t.Errorf("%q is %+v, want nothing", query, got)
			}
			continue
		}
		if !ok || got.text != want.text || strings.Join(got.prefixes, ",") != strings.Join(want.prefixes, ",") ||
			got.style != want.style || (got.palette == nil) != (want.palette == nil) ||
			got.palette != nil && *got.palette != *want.palette {
			t.Errorf("%q is %+v, %v; want %+v", query, got, ok, *want)
		}
	}
}
