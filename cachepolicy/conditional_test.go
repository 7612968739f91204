package cachepolicy

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestNotModified(t *testing.T) {
	at := func(d time.Duration) string { return t0.Add(d).Format(http.TimeFormat) }
	for _, c := range []struct {
		name       string
		etag       string
		modified   time.Time
		match, ims string
		want       bool
	}{
		{"no condition", `"a"`, t0, "", "", false},
		{"the same", `"a"`, t0, `"a"`, "", true},
		{"another tag", `"a"`, t0, `"b"`, "", false},
		{"in a list", `"a"`, t0, `"b", "a"`, "", true},
		{"in a list without spaces, with empty elements", `"a"`, t0, `,"b",,"a",`, "", true},
		{"the tag of another coding", `"a-br"`, t0, `"a", "a-gzip"`, "", false},
		{"a weak tag matches, RFC 9110 section 13.1.2", `"a"`, t0, `W/"a"`, "", true},
		{"a stored weak tag", `W/"a"`, t0, `"a"`, "", true},
		{"any", `"a"`, t0, "*", "", true},
		{"any, without a stored tag", "", t0, "*", "", true},
		{"any and others: malformed", `"a"`, t0, `*, "a"`, "", false},
		{"a comma in a tag", `"a,b"`, t0, `"x", "a,b"`, "", true},
		{"part of a tag with a comma", `"b"`, t0, `"a,"b"`, "", false},
		{"no quotes", `"a"`, t0, "a", "", false},
		{"malformed after the match", `"a"`, t0, `"a", b`, "", false},
		{"no comma between", `"a"`, t0, `"b" "a"`, "", false},
		{"small w", `"a"`, t0, `w/"a"`, "", false},
		{"no end", `"a"`, t0, `"a`, "", false},
		{"a space in a tag, section 8.8.3", `"a b"`, t0, `"a b"`, "", false},
		{"bytes above ASCII", "\"\xff\"", t0, "\"\xff\"", "", true},
		{"commas alone", `"a"`, t0, ",", "", false},
		{"no stored tag", "", t0, `"a"`, "", false},
		{"unmodified since", `"a"`, t0, "", at(0), true},
		{"unmodified since later", `"a"`, t0, "", at(time.Hour), true},
		{"modified since", `"a"`, t0, "", at(-time.Second), false},
		{"dates have whole seconds", `"a"`, t0.Add(999 * time.Millisecond), "", at(0), true},
		{"no date, section 13.1.3", `"a"`, t0, "", "yesterday", false},
		{"never modified", `"a"`, time.Time{}, "", at(0), false},
		{"Date instead of Last-Modified, RFC 9111 section 4.3.2", "", t0, "", at(0), true},
		{"Date later than the condition", "", t0, "", at(-3000 * time.Second), false},
		{"an obsolete form, section 5.6.7", "", t0, "", t0.Format("Monday, 02-Jan-06 15:04:05 GMT"), true},
		{"asctime, section 5.6.7", `"a"`, t0, "", t0.Format(time.ANSIC), true},
		{"in lower case, RFC 9111 section 4.2", `"a"`, t0, "", strings.ToLower(at(0)), true},
		{"an obsolete form in upper case", `"a"`, t0, "", strings.ToUpper(t0.Format("Monday, 02-Jan-06 15:04:05 GMT")), true},
		{"asctime in upper case", `"a"`, t0.Add(time.Second), "", strings.ToUpper(t0.Format(time.ANSIC)), false},
		{"obs-text, section 8.8.3", "\"abcdef\xfc\"", t0, "\"1\", \"abcdef\xfc\"", "", true},
		{"If-None-Match wins, section 13.2.2", `"a"`, t0, `"b"`, at(0), false},
		{"even a malformed If-None-Match", `"a"`, t0, `b`, at(0), false},
	} {
		if got := NotModified(c.etag, c.modified, c.match, c.ims); got != c.want {
			t.Errorf("%s: NotModified(%s, %v, %s, %s) = %v, want %v", c.name, c.etag, c.modified, c.match, c.ims, got, c.want)
		}
	}
	if n := testing.AllocsPerRun(100, func() { NotModified(`"a"`, t0, `"b", W/"a"`, "") }); n != 0 {
		t.Errorf("NotModified allocates %v times", n)
	}
}

func TestPrecondition(t *testing.T) {
	before, after := t0.Add(-time.Hour).Format(http.TimeFormat), t0.Add(time.Hour).Format(http.TimeFormat)
	for _, c := range []struct {
		name   string
		method string
		c      Conditions
		want   int
	}{
		{"none", "GET", Conditions{}, 200},
		{"If-Match", "GET", Conditions{IfMatch: `"b", "a"`}, 200},
		{"If-Match: *", "GET", Conditions{IfMatch: "*"}, 200},
		{"If-Match another", "GET", Conditions{IfMatch: `"b"`}, 412},
		{"If-Match compares strongly, section 13.1.1", "GET", Conditions{IfMatch: `W/"a"`}, 412},
		{"a malformed If-Match", "GET", Conditions{IfMatch: `"a" b`}, 412},
		{"If-Unmodified-Since", "GET", Conditions{IfUnmodifiedSince: after}, 200},
		{"modified since", "GET", Conditions{IfUnmodifiedSince: before}, 412},
		{"modified since, in lower case", "GET", Conditions{IfUnmodifiedSince: strings.ToLower(before)}, 412},
		{"an invalid date in If-Unmodified-Since, section 13.1.4", "GET", Conditions{IfUnmodifiedSince: "x"}, 200},
		{"If-Match wins over If-Unmodified-Since, section 13.2.2", "GET", Conditions{IfMatch: `"a"`, IfUnmodifiedSince: before}, 200},
		{"then If-None-Match", "HEAD", Conditions{IfMatch: `"a"`, IfNoneMatch: `"a"`}, 304},
		{"412 comes first", "GET", Conditions{IfMatch: `"b"`, IfNoneMatch: `"a"`}, 412},
		{"If-Modified-Since", "GET", Conditions{IfModifiedSince: after}, 304},
		{"412 for a PUT", "PUT", Conditions{IfNoneMatch: "*"}, 412},
		{"a PUT with another tag", "PUT", Conditions{IfNoneMatch: `"b"`}, 200},
		{"If-Modified-Since is for GET and HEAD, section 13.1.3", "PUT", Conditions{IfModifiedSince: after}, 200},
	} {
		if got := Precondition(c.method, `"a"`, t0, c.c); got != c.want {
			t.Errorf("%s: Precondition(%s, %+v) = %d, want %d", c.name, c.method, c.c, got, c.want)
		}
	}
}

// A tag matches only a list that contains it, and a valid list stays valid with the tag added.
func FuzzNotModified(f *testing.F) {
	for _, s := range []string{`"a"`, `W/"a", "b"`, "*", `"a`, `,,"x"`, `"a" "b"`, "", `"\"`} {
		f.Add(s)
	}
	const etag = `"the-tag"`
	f.Fuzz(func(t *testing.T, list string) {
		got := NotModified(etag, t0, list, "")
		if got && trim(list) != "*" && !strings.Contains(list, etag) {
			t.Fatalf("NotModified matches %q, which does not contain the tag", list)
		}
		if _, ok := matches(list, etag, weak); ok && trim(list) != "*" && !NotModified(etag, t0, list+", "+etag, "") {
			t.Fatalf("%q with the tag added does not match", list)
		}
	})
}
