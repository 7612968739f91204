package compress

import (
	"net/http"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/coding"
)

func TestTag(t *testing.T) {
	for _, row := range []struct {
		etag   string
		coding entry.Coding
		want   string
	}{
		{`"abc"`, entry.Identity, `"abc"`},
		{`"abc"`, entry.Brotli, `"abc-br-a2876cd6"`},
		{`"abc"`, entry.Gzip, `"abc-gzip-a56bfc53"`},
		{`"abc"`, entry.Zstd, `"abc-zstd-79e5ffdd"`},
		{`W/"abc"`, entry.Brotli, `W/"abc-br-a2876cd6"`},
		{`""`, entry.Brotli, `"-br-c6de312d"`},
		{"", entry.Brotli, ""},
	} {
		if got := Tag(row.etag, row.coding); got != row.want {
			t.Errorf("Tag(%s, %s) = %s, want %s: edges of all versions make the same tags", row.etag, row.coding, got, row.want)
		}
	}
}

// The tag of a response that was coded while it was sent is weak, and still becomes the strong tag
// of the origin. It is none of those that Tag makes.
func TestSentTag(t *testing.T) {
	for _, row := range []struct {
		etag   string
		coding entry.Coding
		want   string
	}{
		{`"abc"`, entry.Identity, `"abc"`},
		{`"abc"`, entry.Brotli, `W/"abc-br-5d789329"`},
		{`"abc"`, entry.Gzip, `W/"abc-gzip-5a9403ac"`},
		{`W/"abc"`, entry.Brotli, `W/"abc-br-a2876cd6"`},
		{`""`, entry.Zstd, `W/"-zstd-` + SentTag(`""`, entry.Zstd)[len(`W/"-zstd-`):]},
		{"", entry.Brotli, ""},
	} {
		got := SentTag(row.etag, row.coding)
		if got != row.want {
			t.Errorf("SentTag(%s, %s) = %s, want %s: edges of all versions make the same tags", row.etag, row.coding, got, row.want)
		}
		if etag, ok := Origin(got); ok != (row.coding != entry.Identity && row.etag != "") || ok && etag != row.etag {
			t.Errorf("Origin(%s) = %s, %v; want %s", got, etag, ok, row.etag)
		}
	}
	if etag, ok := Origin(SentTag(`"abc"`, entry.Brotli)[len("W/"):]); ok {
		t.Errorf("the tag without W/ stands for %s", etag)
	}
}

func TestTagAllocatesOnce(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { Tag(`W/"0123456789abcdef0123456789abcdef"`, entry.Brotli) }); n > 1 {
		t.Errorf("%v allocations", n)
	}
}

// An origin's own tags stay as they are, also those that end in the name of a coding.
func TestForeignTags(t *testing.T) {
	own := Tag(`"abc"`, entry.Brotli)
	for _, tag := range []string{
		"", `"`, `""`, `"abc"`, `"abc-br"`, `"abc-gzip"`, `"page-pt-br"`, `W/"abc-gzip"`, `"abc--gzip"`,
		`"abc-br-00000000"`, `abc-br-00000000`, own[1:], own[:len(own)-1],
		strings.Replace(own, "abc", "abd", 1), strings.Replace(own, "-br-", "-gzip-", 1), strings.ToUpper(own),
		`"-br-00000000"`, `"br-00000000"`, `"-00000000"`, `"00000000"`,
	} {
		if got, ok := Origin(tag); ok {
			t.Errorf("Origin(%s) = %s, but this edge did not make the tag", tag, got)
		}
	}
}

func TestRestore(t *testing.T) {
	br, gz, weak := Tag(`"abc"`, entry.Brotli), Tag(`"x y"`, entry.Gzip), Tag(`W/"w"`, entry.Zstd)
	known := Tag(`"outer"`, entry.Brotli)
	for _, row := range []struct {
		name     string
		in, want http.Header
	}{
		{"nothing", http.Header{}, http.Header{}},
		{"tags of the origin", http.Header{"If-Match": {`"a", W/"b-gzip"`}, "If-Range": {`"b"`},
			"Range": {"bytes=1-"}}, http.Header{"If-Match": {`"a", W/"b-gzip"`}, "If-Range": {`"b"`}, "Range": {"bytes=1-"}}},
		{"one tag", http.Header{"If-Match": {br}}, http.Header{"If-Match": {`"abc"`}}},
		{"a list", http.Header{"If-None-Match": {`"1", ` + br + `,` + gz + ` , W/"2"`}},
			http.Header{"If-None-Match": {`"1", "abc","x y" , W/"2"`}}},
		{"several lines", http.Header{"If-None-Match": {`"1"`, gz}}, http.Header{"If-None-Match": {`"1"`, `"x y"`}}},
		{"a weak tag", http.Header{"If-None-Match": {weak}}, http.Header{"If-None-Match": {`W/"w"`}}},
		{"made weak on its way", http.Header{"If-None-Match": {"W/" + br}}, http.Header{"If-None-Match": {`W/"abc"`}}},
		{"any", http.Header{"If-Match": {"*"}}, http.Header{"If-Match": {"*"}}},
		{"malformed", http.Header{"If-Match": {`"a`, `a" ` + br}}, http.Header{"If-Match": {`"a`, `a" ` + br}}},
		{"WebDAV", http.Header{"If": {`(<urn:uuid:1> [` + br + `])`}}, http.Header{"If": {`(<urn:uuid:1> ["abc"])`}}},
		{"a range of a coded body", http.Header{"If-Range": {br}, "Range": {"bytes=5-"}}, http.Header{}},
		{"a range with a date", http.Header{"If-Range": {"Tue, 15 Nov 2022 08:12:31 GMT"}, "Range": {"bytes=5-"}},
			http.Header{"If-Range": {"Tue, 15 Nov 2022 08:12:31 GMT"}, "Range": {"bytes=5-"}}},
		{"a tag of this form that is the origin's",
			http.Header{"If-Match": {known}, "If-Range": {known}, "Range": {"bytes=5-"}},
			http.Header{"If-Match": {known}, "If-Range": {known}, "Range": {"bytes=5-"}}},
		{"fields without tags", http.Header{"Cookie": {br}, "X": {br}}, http.Header{"Cookie": {br}, "X": {br}}},
	} {
		got := row.in.Clone()
		Restore(got, func(tag string) bool { return tag == known })
		for _, name := range []string{"If-Match", "If-None-Match", "If", "If-Range", "Range", "Cookie", "X"} {
			if strings.Join(got[name], "|") != strings.Join(row.want[name], "|") {
				t.Errorf("%s: %s is %q, want %q", row.name, name, got[name], row.want[name])
			}
		}
	}
}

// The origin's tag comes back from every tag, and a tag that Origin knows is the one that Tag
// makes.
func FuzzTag(f *testing.F) {
	f.Add(`"abc"`)
	f.Add(`W/"abc-br"`)
	f.Add(Tag(Tag(`"abc"`, entry.Gzip), entry.Gzip))
	f.Fuzz(func(t *testing.T, tag string) {
		if etag, ok := Origin(tag); ok {
			made := false
			for c := entry.Gzip; c < coding.InUse(); c++ {
				made = made || Tag(etag, c) == tag
			}
			if !made {
				t.Errorf("Origin(%q) = %q, of which Tag does not make it", tag, etag)
			}
		}
		opaque := strings.TrimPrefix(tag, "W/")
		if len(opaque) < 2 || opaque[0] != '"' || strings.IndexByte(opaque[1:], '"') != len(opaque)-2 {
			return
		}
		for c := entry.Gzip; c < coding.InUse(); c++ {
			coded := Tag(tag, c)
			if got, ok := Origin(coded); !ok || got != tag {
				t.Errorf("Origin(%q) = %q, %v; want %q", coded, got, ok, tag)
			}
			h := http.Header{"If-Match": {coded}}
			if Restore(h, func(string) bool { return false }); h.Get("If-Match") != tag {
				t.Errorf("If-Match: %s is restored as %s", coded, h.Get("If-Match"))
			}
		}
	})
}
