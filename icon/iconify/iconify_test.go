package iconify

import (
	"reflect"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/icon"
)

func TestFind(t *testing.T) {
	for _, row := range []struct {
		path    string
		mounted bool
		want    Address
	}{
		{"/mdi.json", false, Address{Kind: Data, Prefix: "mdi"}},
		{"/mdi/icons.json", false, Address{Kind: Data, Prefix: "mdi"}},
		{"/mdi/icons.js", false, Address{Kind: Script, Prefix: "mdi"}},
		{"/mdi-light.css", false, Address{Kind: Stylesheet, Prefix: "mdi-light"}},
		{"/mdi:home.svg", false, Address{SVG, "mdi", "home"}},
		{"/mdi-light:home.svg", false, Address{SVG, "mdi-light", "home"}},
		{"/mdi-home-outline.svg", false, Address{SVG, "mdi", "home-outline"}},
		{"/mdi/home.svg", false, Address{}}, // ours
		{"/mdi/home.svg", true, Address{SVG, "mdi", "home"}},
		{"/iconify/mdi/home.svg", false, Address{SVG, "mdi", "home"}},
		{"/iconify/search", false, Address{Kind: Search}},
		{"/search", false, Address{Kind: Search}},
		{"/@iconify-json/mdi@1.2.3/icons.json", false, Address{Kind: Package, Prefix: "mdi"}},
		{"/npm/@iconify-json/mdi/icons.json", true, Address{Kind: Package, Prefix: "mdi"}},
		{"/iconify", false, Address{}}, {"/iconify/", false, Address{}}, {"/", true, Address{}},
		{"/sw.js", false, Address{Kind: Script, Prefix: "sw"}},
		{"/home.svg", false, Address{}}, {"/A.json", false, Address{}}, {"/mdi/home.png", true, Address{}},
		{"/a/b/c.svg", true, Address{}}, {"/.json", false, Address{}},
		{"/@iconify-json/mdi@1/2/icons.json", false, Address{}}, {"/robots.txt", false, Address{}}, {"/update", true, Address{}},
	} {
		if got, ok := Find(row.path, row.mounted); got != row.want || ok != (row.want.Kind != None) {
			t.Errorf("%s, mounted %v: %+v, %v; want %+v", row.path, row.mounted, got, ok, row.want)
		}
	}
}

// All spellings of a request have one key.
func TestKeys(t *testing.T) {
	for _, row := range []struct{ want, target string }{
		{"/iconify/mdi.json?icons=a,b", "/mdi/icons.json?icons=b%2Ca,b&x=y"},
		{"/iconify/mdi.json?icons=,%22", "/mdi.json?icons=%22,"},
		{"/iconify/mdi.json?icons=a&info=1&pretty=1", "/mdi.json?pretty=x&info=yes&icons=a&callback=z"},
		{"/iconify/mdi.js?icons=a", "/mdi.js?callback=SimpleSVG._loaderCallback&icons=a"},
		{"/iconify/@iconify-json/mdi/icons.json", "/mdi.json"},
		{"/iconify/@iconify-json/mdi/icons.json", "/npm/@iconify-json/mdi@latest/icons.json?v=1"},
		{"/iconify/mdi/a.svg?rotate=1&width=2em", "/mdi:a.svg?width=2em&rotate=90deg&height=x&flip=y"},
		{"/iconify/mdi/a.svg?rotate=2", "/mdi-a.svg?flip=horizontal,vertical"},
		{"/iconify/mdi/a.svg", "/mdi:a.svg?color=RED&width=1e3&rotate=45deg"},
		{"/iconify/mdi.css?icons=a&color=%23ff0000&square=1", "/mdi.css?color=red&icons=a&forceSquare=true&format=expanded"},
		{"/iconify/mdi.css?icons=a", "/mdi.css?icons=a&selector=a{b}&common=.x&override=.y"},
		{"/iconify/mdi.css?icons=a", "/mdi.css?icons=a&selector=" + strings.Repeat("a", 201)},
		{"/iconify/mdi.css?icons=a", "/mdi.css?icons=a&selector=a(&varName=UPPER"},
		{"/iconify/mdi.css?icons=a", "/mdi.css?icons=a&selector=url(x)"},
		{"/iconify/mdi.css?icons=a&selector=.i-%7Bname%7D.b", "/mdi.css?icons=a&iconSelector=.i-{name}>.b"},
		{"/iconify/mdi.css?icons=a&var=0", "/mdi.css?icons=a&var="},
		{"/iconify/collections?prefixes=a%2Cb-", "/collections?prefixes=a,b-&x=1"},
		{"/iconify/search?query=Home", "/search?query=Home&q=x"},
		{"/iconify/keywords?prefix=", "/keywords?prefix="},
	} {
		if got := keyOf(t, row.target); got != row.want {
			t.Errorf("%s has the key %s, want %s", row.target, got, row.want)
		}
	}
}

func keyOf(t *testing.T, target string) string {
	t.Helper()
	path, query, _ := strings.Cut(target, "?")
	a, ok := Find(path, false)
	if !ok {
		t.Fatalf("%s is no address", target)
	}
	r, err := Parse(a, query)
	if err != nil {
		t.Fatalf("%s: %v", target, err)
	}
	return r.Key()
}

func TestRefused(t *testing.T) {
	for target, parameter := range map[string]string{
		"/mdi.json?icons=a&icons=b": "icons", "/mdi.json?icons=%ff": "icons", "/mdi.json?icons=%zz": "icons",
		"/mdi.js?icons=a&callback=alert(1)": "callback", "/collections?callback=a%0ab": "callback",
		"/collections?callback=" + strings.Repeat("a", 65): "callback",
		"/mdi.json?icons=" + many(MaxNames+1):              "icons",
	} {
		path, query, _ := strings.Cut(target, "?")
		a, _ := Find(path, false)
		_, err := Parse(a, query)
		if e, ok := err.(*icon.ParamError); !ok || e.Parameter != parameter {
			t.Errorf("%.80s: %v, want an error of %s", target, err, parameter)
		}
	}
	a, _ := Find("/mdi.json", false)
	if r, err := Parse(a, "icons="+many(MaxNames)); err != nil || len(r.Names) != MaxNames {
		t.Errorf("%d names, %v; want %d", len(r.Names), err, MaxNames)
	}
}

func many(n int) string {
	var names []string
	for i := range n {
		names = append(names, strings.Repeat("a", 1+i%50)+"-"+strings.Repeat("b", i/50))
	}
	return strings.Join(names, ",")
}

// A key is its own key, and means the same request.
func FuzzKey(f *testing.F) {
	for _, s := range []string{
		"/mdi.json?icons=a,b%00,%22&info=1", "/mdi.js?icons=&callback=a.b&pretty=1",
		"/mdi:home.svg?width=2em&height=auto&rotate=-1&flip=vertical&box=1&download=1",
		"/mdi.css?icons=a&selector=.{prefix}-{name}[a=b]:not(.c)&common=.x&override=.y&var=0&color=hsl(1,2%,3%)&mode=bg&format=compact&pseudo=1",
		"/search?query=%E2%82%AC+x&limit=50&start=3&prefixes=a,b", "/keywords?keyword=&pretty=1",
		"/collections?prefix=%3Cscript%3E&callback=x", "/@iconify-json/mdi@1/icons.json",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, target string) {
		path, query, _ := strings.Cut(target, "?")
		a, ok := Find(path, false)
		if !ok {
			return
		}
		r, err := Parse(a, query)
		if err != nil {
			return
		}
		key := r.Key()
		if strings.ContainsAny(key, " \"<>\\^`{|}\n\r\x00#") {
			t.Fatalf("%q has the key %q, which is no address", target, key)
		}
		path, query, _ = strings.Cut(key, "?")
		b, ok := Find(path, false)
		again, err := Parse(b, query)
		if !ok || err != nil || again.Key() != key {
			t.Fatalf("%q has the key %q, which has the key %q, %v, %v", target, key, again.Key(), ok, err)
		}
		again.Color, r.Color = "", "" // no part of the key
		for _, fields := range []icon.Params{r.Fields, again.Fields} {
			for name, value := range fields {
				if value == "" && r.Kind != Keywords {
					delete(fields, name)
				}
			}
		}
		if len(r.Fields) == 0 {
			r.Fields, again.Fields = nil, nil
		}
		if !reflect.DeepEqual(again, r) {
			t.Fatalf("%q is %+v, its key %q is %+v", target, r, key, again)
		}
	})
}
