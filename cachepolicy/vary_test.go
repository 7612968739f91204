package cachepolicy

import (
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestVaryNames(t *testing.T) {
	for _, c := range []struct {
		name string
		h    http.Header
		want string
		any  bool
	}{
		{"none", fields(), "", false},
		{"an empty one", fields("Vary: "), "", false},
		{"sorted, each once, in one spelling", fields("Vary: foo,Bar , ,", "Vary: FOO"), "Bar Foo", false},
		{"any, section 4.1", fields("Vary: *"), "*", true},
		{"any twice", fields("Vary: *, *"), "*", true},
		{"any after an empty line", fields("Vary: ", "Vary: , *"), "*", true},
		{"any among others", fields("Vary: Foo, *"), "* Foo", true},
		{"an invalid name", fields("Vary: Foo Bar"), "Foo Bar", true},
	} {
		names, any := VaryNames(c.h)
		if strings.Join(names, " ") != c.want || any != c.any {
			t.Errorf("%s: VaryNames(%v) = %q, %v; want %q, %v", c.name, c.h, names, any, c.want, c.any)
		}
	}
}

func lines(h http.Header) func(string) []string {
	return func(name string) []string { return h[name] }
}

func TestVaryKey(t *testing.T) {
	for _, c := range []struct {
		name string
		vary string
		a, b http.Header
		same bool
	}{
		{"the same", "Foo", fields("Foo: 1"), fields("Foo: 1"), true},
		{"another", "Foo", fields("Foo: 1"), fields("Foo: 2"), false},
		{"a field that Vary does not name", "Foo", fields("Foo: 1", "Bar: 1"), fields("Foo: 1", "Bar: 2"), true},
		{"absent from one", "Foo", fields("Foo: 1"), fields(), false},
		{"absent from both", "Foo, Bar", fields("Bar: 1"), fields("Bar: 1"), true},
		{"absent is not empty", "Foo", fields("Foo: "), fields(), false},
		{"one of two", "Foo, Bar", fields("Foo: 1", "Bar: 1"), fields("Foo: 1", "Bar: 2"), false},
		{"the one instead of the other", "Foo, Bar", fields("Foo: 1"), fields("Bar: 1"), false},
		{"a value that looks like another field", "Foo, Bar", fields("Bar: 1;Foo=1:2"), fields("Bar: 1", "Foo: 2"), false},
		{"one list in several lines, RFC 9110 section 5.3", "Foo", fields("Foo: 1, 2"), fields("Foo: 1", "Foo: 2"), true},
		{"whitespace", "Foo", fields("Foo: 1,2"), fields("Foo:  1, \t2 "), true},
		{"whitespace in a value", "Foo", fields("Foo: 1 2"), fields("Foo: 12"), false},
		{"whitespace in quotes", "Foo", fields(`Foo: "1, 2"`), fields(`Foo: "1,2"`), false},
		{"the order in an unknown field", "Foo", fields("Foo: 1, 2"), fields("Foo: 2, 1"), false},
		{"the case in an unknown field", "Foo", fields("Foo: a"), fields("Foo: A"), false},

		{"cookies in two lines", "Cookie", fields("Cookie: a=1", "Cookie: b=2"), fields("Cookie: a=1; b=2"), true},
		{"a comma in a cookie", "Cookie", fields("Cookie: a=1", "Cookie: b=2"), fields("Cookie: a=1,b=2"), false},
		{"whitespace in a cookie", "Cookie", fields("Cookie: a=1,b=2"), fields("Cookie: a=1, b=2"), false},
		{"languages in another order", "Accept-Language", fields("Accept-Language: en, de"), fields("Accept-Language: de, en"), true},
		{"languages in another case", "Accept-Language", fields("Accept-Language: en, de"), fields("Accept-Language: eN, De"), true},
		{"languages with other whitespace", "Accept-Language", fields("Accept-Language: en, de;q=0.5"),
			fields("Accept-Language: en ,   de ; q=0.5"), true},
		{"equal weights, RFC 9110 section 12.4.2", "Accept-Language", fields("Accept-Language: en, de;q=0.5"),
			fields("Accept-Language: de;Q=0.500, en;q=1.0"), true},
		{"other weights", "Accept-Language", fields("Accept-Language: en, de;q=0.5"), fields("Accept-Language: en;q=0.5, de"), false},
		{"a refused language", "Accept-Language", fields("Accept-Language: en;q=0"), fields("Accept-Language: en"), false},
		{"empty elements", "Accept-Language", fields("Accept-Language: en,,de,"), fields("Accept-Language: en,de"), true},
		{"a weight that can't be read", "Accept-Language", fields("Accept-Language: en;q=.5, de"),
			fields("Accept-Language: de, en;q=.5"), false},
		{"two weights", "Accept-Language", fields("Accept-Language: en;q=1;q=0, de"), fields("Accept-Language: de, en;q=0"), false},
		{"codings", "Accept-Encoding", fields("Accept-Encoding: gzip, br"), fields("Accept-Encoding: BR, gzip"), true},
		{"media ranges", "Accept", fields("Accept: text/html;level=1;q=0.5, */*"), fields("Accept: */*, TEXT/html;q=0.50;level=1"), true},
		{"parameters of media ranges", "Accept", fields(`Accept: a/b;x="1,2"`), fields(`Accept: a/b;x="2,1"`), false},
		{"the case of parameters", "Accept", fields("Accept: a/b;x=a"), fields("Accept: a/b;x=A"), false},
		{"a quote without an end", "Accept", fields(`Accept: b/b, a/a;x="1`), fields(`Accept: a/a;x="1,b/b`), false},
		{"an invalid media range", "Accept", fields("Accept: A B"), fields("Accept: a b"), false},
	} {
		names, _ := VaryNames(http.Header{"Vary": {c.vary}})
		a, b := VaryKey(names, lines(c.a)), VaryKey(names, lines(c.b))
		if (a == b) != c.same {
			t.Errorf("%s: Vary: %s gives %v the key %q, and %v %q", c.name, c.vary, c.a, a, c.b, b)
		}
	}
	if foo, bar := VaryKey([]string{"Foo"}, lines(fields("Foo: 1"))), VaryKey([]string{"Bar"}, lines(fields("Bar: 1"))); foo == bar {
		t.Errorf("another Vary gives the same key, %q", foo)
	}
}

func TestVaryLanguageKey(t *testing.T) {
	names := []string{"Accept-Language", "Foo"}
	stored := VaryLanguageKey(names, lines(fields("Accept-Language: en, de", "Foo: 1")), "DE")
	for _, c := range []struct {
		name string
		h    http.Header
		same bool
	}{
		{"the preferred language", fields("Accept-Language: fr;q=0.5, de;q=1.0", "Foo: 1"), true},
		{"another language", fields("Accept-Language: fr, de;q=0.5", "Foo: 1"), false},
		{"another field", fields("Accept-Language: de", "Foo: 2"), false},
	} {
		if key := VaryLanguageKey(names, lines(c.h), PreferredLanguage(c.h["Accept-Language"])); (key == stored) != c.same {
			t.Errorf("%s: the key of %v is %q, and that of the response %q", c.name, c.h, key, stored)
		}
	}
	if key := VaryKey(names, lines(fields("Accept-Language: de", "Foo: 1"))); key == stored {
		t.Errorf("%q is also the key of a response in an unknown language", key)
	}
}

func TestPreferredLanguage(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"none", "", ""},
		{"one", "de-AT", "de-at"},
		{"the heaviest, RFC 9110 section 12.5.4", "fr;q=0.5, de;q=1.0", "de"},
		{"a tie", "en, de", ""},
		{"a tie below the best", "fr, en;q=0.5, de;q=0.5", "fr"},
		{"any", "*", ""},
		{"any has the same weight", "de, *", ""},
		{"any has a lower weight", "de, *;q=0.5", "de"},
		{"a refused language", "de;q=0", ""},
		{"a contradiction", "de, de;q=0", ""},
		{"a weight that can't be read", "de, en;q=2", ""},
		{"an invalid language", "a/b", ""},
	} {
		if got := PreferredLanguage([]string{c.in}); got != c.want {
			t.Errorf("%s: PreferredLanguage(%q) = %q, want %q", c.name, c.in, got, c.want)
		}
	}
	if got := PreferredLanguage([]string{"de;q=0.5", "en"}); got != "en" {
		t.Errorf("PreferredLanguage of two lines = %q, want en", got)
	}
}

// Two requests have the same key only if each of their fields has the same normalised value.
// Normalisation is idempotent, and does not change the meaning of a list.
func FuzzVaryKey(f *testing.F) {
	f.Add("1", "2", "1", "2")
	f.Add("1;Foo=1:2", "", "1", "2")
	f.Add("de, en;q=0.5", "x", "EN;q=.5,de", "x ")
	f.Add(`b, a;x="c`, "1", `a;x="c,b`, "1")
	names := []string{"Accept", "Foo"}
	f.Fuzz(func(t *testing.T, a1, b1, a2, b2 string) {
		key := func(a, b string) string { return VaryKey(names, lines(http.Header{"Accept": {a}, "Foo": {b}})) }
		same := normalised("Accept", []string{a1}) == normalised("Accept", []string{a2}) &&
			normalised("Foo", []string{b1}) == normalised("Foo", []string{b2})
		if (key(a1, b1) == key(a2, b2)) != same {
			t.Fatalf("%q and %q have the key %q, %q and %q have %q", a1, b1, key(a1, b1), a2, b2, key(a2, b2))
		}
		for _, name := range names {
			once := normalised(name, []string{a1})
			if twice := normalised(name, []string{once}); twice != once {
				t.Fatalf("%s: %q becomes %q, and then %q", name, a1, once, twice)
			}
		}
		before, ok := readPreferences(a1)
		if after, still := readPreferences(normalised("Accept", []string{a1})); ok != still || ok && !reflect.DeepEqual(before, after) {
			t.Fatalf("%q means %v, and normalised %v", a1, before, after)
		}
		if language := PreferredLanguage([]string{a1}); language != "" {
			if i := slices.IndexFunc(before, func(p preference) bool { return p.value == language }); !ok || i != 0 {
				t.Fatalf("%q is not the preferred language of %q", language, a1)
			}
		}
	})
}
