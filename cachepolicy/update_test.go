package cachepolicy

import (
	"net/http"
	"reflect"
	"testing"
)

func TestFreshened(t *testing.T) {
	for _, c := range []struct {
		name                 string
		stored, update, want http.Header
	}{
		{"fields missing from the update stay", fields("A: 1"), fields(`ETag: "x"`), fields("A: 1")},
		{"fields of the update replace stored ones", fields("A: 1", "A: 2", "B: 1"), fields("A: 3"), fields("A: 3", "B: 1")},
		{"Cache-Control and Expires", fields("Cache-Control: max-age=1", "Expires: 1"), fields("Cache-Control: max-age=9", "Expires: 2"),
			fields("Cache-Control: max-age=9", "Expires: 2")},
		{"the media type", fields("Content-Type: a/b"), fields("Content-Type: a/c"), fields("Content-Type: a/c")},
		{"cookies", fields("Set-Cookie: a=1"), fields("Set-Cookie: a=2", "Set-Cookie: b=1"), fields("Set-Cookie: a=2", "Set-Cookie: b=1")},
		{"not the fields of the content, section 3.2",
			fields("Content-Length: 5", "Content-Encoding: br", "Content-Range: a", "Content-MD5: a", `ETag: "a"`),
			fields("Content-Length: 0", "Content-Encoding: gzip", "Content-Range: b", "Content-MD5: b", `ETag: "b"`),
			fields("Content-Length: 5", "Content-Encoding: br", "Content-Range: a", "Content-MD5: a", `ETag: "a"`)},
		{"not the fields of the connection, section 3.1", fields("A: 1"),
			fields("Connection: a, x", "A: 2", "X: 1", "Keep-Alive: 1", "Proxy-Authenticate: 1"), fields("A: 1")},
		{"stored Age and Date are dropped", fields("Age: 50", "Date: @-1h", "A: 1"), fields("B: 1"), fields("A: 1", "B: 1")},
		{"Age and Date of the update", fields("Age: 50", "Date: @-1h"), fields("Age: 5", "Date: @0s"), fields("Age: 5", "Date: @0s")},
		{"nothing stored", nil, fields("A: 1"), fields("A: 1")},
	} {
		stored, update := c.stored.Clone(), c.update.Clone()
		got := Freshened(c.stored, c.update)
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: Freshened(%v, %v) = %v, want %v", c.name, stored, update, got, c.want)
		}
		for _, lines := range got {
			lines[0] = "changed"
		}
		if !reflect.DeepEqual(c.stored, stored) || !reflect.DeepEqual(c.update, update) {
			t.Errorf("%s: Freshened modified its argument", c.name)
		}
	}
}

func TestConfirms(t *testing.T) {
	for _, c := range []struct {
		stored, update string
		want           bool
	}{
		{`"a"`, "", true}, {"", "", true}, {`"a"`, `"a"`, true}, {`"a"`, `W/"a"`, true}, {`W/"a"`, `W/"a"`, true},
		{`"a"`, `"b"`, false}, {`"a"`, `W/"b"`, false}, {`W/"a"`, `"a"`, false}, {"", `"a"`, false},
	} {
		h := http.Header{}
		if c.update != "" {
			h.Set("ETag", c.update)
		}
		if got := Confirms(c.stored, h); got != c.want {
			t.Errorf("a 304 with %s confirms %s: %v, want %v", c.update, c.stored, got, c.want)
		}
	}
}

func TestHeadUpdate(t *testing.T) {
	both := []string{`ETag: "a"`, "Last-Modified: @0s"}
	for _, c := range []struct {
		name         string
		storedStatus int
		stored       http.Header
		headStatus   int
		head         http.Header
		want         HeadEffect
	}{
		{"the same", 200, fields(both...), 200, fields(append(both, "Content-Length: 10")...), Update},
		{"nothing to compare", 200, fields(), 200, fields("A: 1"), Update},
		{"validators in one of them only", 200, fields(`ETag: "a"`), 200, fields("Last-Modified: @0s"), Update},
		{"another tag, section 4.3.5", 200, fields(both...), 200, fields(`ETag: "b"`), Invalidate},
		{"a weak tag is another", 200, fields(both...), 200, fields(`ETag: W/"a"`), Invalidate},
		{"another time", 200, fields(both...), 200, fields(`ETag: "a"`, "Last-Modified: @1s"), Invalidate},
		{"another length", 200, fields(both...), 200, fields("Content-Length: 11"), Invalidate},
		{"an invalid length", 200, fields(both...), 200, fields("Content-Length: 1e1"), Invalidate},
		{"another status", 200, fields(both...), 410, fields(`ETag: "b"`), Nothing},
		{"not modified", 200, fields(both...), 304, fields(`ETag: "b"`), Nothing},
		{"a stored error", 404, fields(both...), 200, fields(`ETag: "b"`), Nothing},
	} {
		if got := HeadUpdate(c.storedStatus, c.stored, 10, c.headStatus, c.head); got != c.want {
			t.Errorf("%s: HeadUpdate(%d, %v, 10, %d, %v) = %v, want %v", c.name, c.storedStatus, c.stored,
				c.headStatus, c.head, got, c.want)
		}
	}
}
