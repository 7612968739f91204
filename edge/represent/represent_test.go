package represent

import (
	"net/http"
	"testing"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/coding"
)

var now = time.Date(2026, 11, 28, 1, 0, 0, 0, time.UTC)

func page(etag string) *cache.Entry {
	e := &cache.Entry{Status: http.StatusOK, Date: []byte("Sat, 28 Nov 2026 00:00:00 GMT"), LastModified: now.Add(-time.Hour * 48)}
	e.SetIdentity([]byte("0123456789"), etag)
	return e
}

// A client gets the part that it asks for, unless the one that it has is of another representation.
func TestPart(t *testing.T) {
	for _, row := range []struct {
		asked  Asked
		off, n int64
		want   cachepolicy.RangeOutcome
	}{
		{Asked{}, 0, 10, cachepolicy.RangeWhole},
		{Asked{Range: "bytes=2-4"}, 2, 3, cachepolicy.RangePart},
		{Asked{Range: "bytes=-3"}, 7, 3, cachepolicy.RangePart},
		{Asked{Range: "bytes=20-"}, 0, 0, cachepolicy.RangeUnsatisfiable},
		{Asked{Range: "bytes=2-4", IfRange: `"a"`}, 2, 3, cachepolicy.RangePart},
		{Asked{Range: "bytes=2-4", IfRange: `"b"`}, 0, 10, cachepolicy.RangeWhole},
		{Asked{Range: "bytes=2-4", IfRange: `W/"a"`}, 0, 10, cachepolicy.RangeWhole},
		{Asked{Range: "bytes=2-4", IfRange: now.Add(-time.Hour * 48).Format(http.TimeFormat)}, 2, 3, cachepolicy.RangePart},
		{Asked{Range: "bytes=2-4", IfRange: now.Format(http.TimeFormat)}, 0, 10, cachepolicy.RangeWhole},
		{Asked{IfRange: `"a"`}, 0, 10, cachepolicy.RangeWhole},
	} {
		if off, n, what := row.asked.Part(page(`"a"`), 10, `"a"`, now); what != row.want ||
			what != cachepolicy.RangeUnsatisfiable && (off != row.off || n != row.n) {
			t.Errorf("%+v: %d bytes from %d, outcome %d; want %d from %d, outcome %d", row.asked, n, off, what, row.n, row.off, row.want)
		}
	}
}

// A part is one of the identity body. Without an entity tag, a client with the beginning of a coded
// body gets all of the identity.
func TestNegotiate(t *testing.T) {
	for _, row := range []struct {
		name        string
		asked       Asked
		got, wanted entry.Coding
		coding      entry.Coding
		whole       bool
		want        entry.Coding
	}{
		{"no Range, coding there", Asked{}, entry.Gzip, entry.Gzip, entry.Gzip, false, entry.Identity},
		{"no Range, better coding not made", Asked{}, entry.Gzip, entry.Brotli, entry.Gzip, false, entry.Brotli},
		{"no Range, no coding made", Asked{}, entry.Identity, entry.Brotli, entry.Identity, false, entry.Brotli},
		{"Range", Asked{Range: "bytes=1-"}, entry.Gzip, entry.Gzip, entry.Identity, false, entry.Identity},
		{"Range of the identity", Asked{Range: "bytes=1-", IfRange: `"a"`}, entry.Gzip, entry.Brotli, entry.Identity,
			false, entry.Identity},
		{"Range of another form", Asked{Range: "bytes=1-", IfRange: `"a-gzip"`}, entry.Gzip, entry.Gzip, entry.Gzip, true, entry.Identity},
		{"Range by date", Asked{Range: "bytes=1-", IfRange: now.Format(http.TimeFormat)}, entry.Identity, entry.Gzip,
			entry.Identity, true, entry.Gzip},
	} {
		coding, whole, want := row.asked.Negotiate(page(`"a"`), row.got, row.wanted)
		if coding != row.coding || whole != row.whole || want != row.want {
			t.Errorf("%s: %v, whole %v, to make %v; want %v, %v, %v", row.name, coding, whole, want, row.coding, row.whole, row.want)
		}
	}
}

// Date stands in for Last-Modified.
func TestConditional(t *testing.T) {
	e := page(`"a"`)
	if got := Conditional(e, cachepolicy.Conditions{IfNoneMatch: `W/"a", "b"`}, `"a"`, now); got != http.StatusNotModified {
		t.Errorf("If-None-Match with the tag: %d", got)
	}
	if got := Conditional(e, cachepolicy.Conditions{IfNoneMatch: `"b"`}, `"a"`, now); got != http.StatusOK {
		t.Errorf("If-None-Match with another tag: %d", got)
	}
	e.LastModified = time.Time{}
	if got := Conditional(e, cachepolicy.Conditions{IfModifiedSince: string(e.Date)}, `"a"`, now); got != http.StatusNotModified {
		t.Errorf("If-Modified-Since with the Date: %d", got)
	}
}

// An Accept-Encoding selects the same coding from a set of codings as entry.Select does.
func TestChoice(t *testing.T) {
	var known Codings
	for _, field := range []string{"gzip", "br, gzip", "gzip;q=0, br;q=0.1", "*", "identity", "zstd;q=0.5, gzip;q=1", ""} {
		for _, stored := range [][]entry.Coding{nil, {entry.Gzip}, {entry.Gzip, entry.Brotli}, {entry.Brotli},
			{entry.Gzip, entry.Zstd, entry.Brotli}} {
			var names []string
			for _, c := range coding.All() {
				for _, s := range stored {
					if s == c {
						names = append(names, c.String())
					}
				}
			}
			if got, want := known.Of([]byte(field)).Of(stored...), entry.Select(field, names...); got != want {
				t.Errorf("%q of %v: %v, want %v", field, names, got, want)
			}
		}
	}
}
