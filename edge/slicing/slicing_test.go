package slicing

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
)

// Missing agrees with a naive search, slice by slice, for any length, span and set
// of stored slices.
func TestMissingModel(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		length := 1 + dice.Int64N(4*Size)
		from := dice.Int64N(length)
		s := Span{from, from + 1 + dice.Int64N(length-from)}
		stored := map[int64]bool{}
		for n := range int64(5) {
			stored[n] = dice.IntN(2) == 0
		}
		limit := 1 + dice.IntN(4)
		got := s.Missing(length, limit, func(n int64) bool { return stored[n] })
		var want []int64
		needed := map[int64]bool{}
		for n := s.From / Size; n <= (s.To-1)/Size; n++ {
			needed[n] = true
		}
		for n := range int64(5) {
			if needed[n] && !stored[n] && (len(want) == 0 || want[len(want)-1] == n-1 && len(want) < limit) {
				want = append(want, n)
			}
		}
		var have []int64
		for n := range int64(5) {
			if sl := Slice(n, length); got.From <= sl.From && sl.To <= got.To && sl.Len() > 0 {
				have = append(have, n)
			}
		}
		if fmt.Sprint(have) != fmt.Sprint(want) || got.To > length || len(want) == 0 && got != (Span{}) {
			t.Fatalf("%v of %d, stored %v, at most %d: Missing is %v, slices %v; want %v", s, length, stored, limit, got, have, want)
		}
	}
}

// A span lies in its aligned one, which begins with a slice and ends with one or with the object.
func FuzzAligned(f *testing.F) {
	f.Add(int64(0), int64(1), int64(10))
	f.Add(int64(Size-1), int64(2), int64(3*Size))
	f.Fuzz(func(t *testing.T, from, n, length int64) {
		if from < 0 || n < 1 || length < 1 || from >= length || n > length-from || length > 1<<50 {
			return
		}
		s := Span{from, from + n}
		a := s.Aligned(length)
		if a.From > s.From || a.To < s.To || a.From%Size != 0 || a.To%Size != 0 && a.To != length ||
			s.From-a.From >= Size || a.To-s.To >= Size {
			t.Fatalf("Aligned of %v in %d is %v", s, length, a)
		}
	})
}

func TestParseRange(t *testing.T) {
	for _, c := range []struct {
		field string
		first Span
		want  Request
	}{
		{"bytes=0-", Span{}, Whole},
		{"Bytes=0-", Span{}, Whole},
		{"bytes=0-0", Span{0, Size}, Part},
		{"bytes=0-1048575", Span{0, Size}, Part},
		{"bytes=0-1048576", Span{0, 2 * Size}, Part},
		{"bytes=1048575-1048576", Span{0, 2 * Size}, Part},
		{"bytes=5000000-", Span{4 * Size, 12 * Size}, Part},
		{"bytes=1-99999999999999999999", Span{0, 8 * Size}, Part},
		{"bytes=-5", Span{0, Size}, Part},
		{"bytes=-0", Span{}, Opaque},
		{"bytes=99999999999999999999-", Span{}, Opaque},
		{"bytes=0-1,5-6", Span{}, Opaque},
		{"bytes=5-4", Span{}, Opaque},
		{"items=0-", Span{}, Opaque},
		{"", Span{}, Opaque},
	} {
		if first, got := ParseRange(c.field); first != c.first || got != c.want {
			t.Errorf("ParseRange(%q) = %v, %d; want %v, %d", c.field, first, got, c.first, c.want)
		}
	}
}

func TestAnswers(t *testing.T) {
	asked := Span{Size, 3 * Size}
	for _, c := range []struct {
		name, field string
		body        int64
		want        bool
	}{
		{"all of it", "bytes 1048576-3145727/9999999", 2 * Size, true},
		{"chunked", "bytes 1048576-3145727/9999999", -1, true},
		{"fewer slices", "bytes 1048576-2097151/9999999", Size, true},
		{"up to the end of the object", "bytes 1048576-1048579/1048580", 4, true},
		{"the unit in another case", "Bytes 1048576-1048579/1048580", 4, true},
		{"a part of a slice", "bytes 1048576-2097150/9999999", Size - 1, false},
		{"another beginning", "bytes 1048577-3145727/9999999", 2*Size - 1, false},
		{"more than was asked for", "bytes 1048576-4194303/9999999", 3 * Size, false},
		{"a body of another length", "bytes 1048576-3145727/9999999", 2*Size - 1, false},
		{"an unknown length", "bytes 1048576-3145727/*", 2 * Size, false},
		{"an end beyond the length", "bytes 1048576-3145727/3145727", 2 * Size, false},
		{"backwards", "bytes 3145727-1048576/9999999", 2 * Size, false},
		{"a 416", "bytes */9999999", 0, false},
		{"another unit", "items 1048576-3145727/9999999", 2 * Size, false},
		{"a sign", "bytes +1048576-3145727/9999999", 2 * Size, false},
		{"too long a number", "bytes 1048576-3145727/99999999999999999999999", 2 * Size, false},
		{"none", "", 2 * Size, false},
	} {
		got, _, ok := asked.Answers(http.Header{"Content-Range": {c.field}}, c.body)
		if ok != c.want || ok && got.From != asked.From {
			t.Errorf("%s: Answers(%q, %d) = %v, %v; want %v", c.name, c.field, c.body, got, ok, c.want)
		}
	}
	if _, _, ok := asked.Answers(http.Header{"Content-Range": {"bytes 1048576-3145727/9999999", "bytes 1048576-3145727/9999998"}}, -1); ok {
		t.Error("two lines of Content-Range are believed")
	}
}

func TestVersion(t *testing.T) {
	t0 := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	at := func(t time.Time) string { return t.Format(http.TimeFormat) }
	a := http.Header{"Etag": {`"a"`}, "Last-Modified": {at(t0)}, "Date": {at(t0)}}
	dated := http.Header{"Last-Modified": {at(t0)}, "Date": {at(t0.Add(time.Second))}}
	va, ok := VersionOf(a, 10, t0)
	if !ok || va.IfRange() != `"a"` {
		t.Errorf("a strong entity tag: %v, %v", va, ok)
	}
	vd, ok := VersionOf(dated, 10, t0)
	if !ok || vd.IfRange() != at(t0) {
		t.Errorf("a strong date: %v, %v", vd, ok)
	}
	for name, h := range map[string]http.Header{
		"no validator":         {"Date": {at(t0)}},
		"a weak entity tag":    {"Etag": {`W/"a"`}, "Last-Modified": {at(t0)}, "Date": {at(t0.Add(time.Hour))}},
		"no entity tag":        {"Etag": {"a"}},
		"two entity tags":      {"Etag": {`"a"`, `"b"`}},
		"a list of them":       {"Etag": {`"a", "b"`}},
		"a weak date":          {"Last-Modified": {at(t0)}, "Date": {at(t0)}},
		"a date without Date":  {"Last-Modified": {at(t0)}},
		"a date in the future": {"Last-Modified": {at(t0.Add(time.Hour))}, "Date": {at(t0)}},
	} {
		if v, ok := VersionOf(h, 10, t0); ok {
			t.Errorf("%s: a strong validator %v", name, v)
		}
	}
	for _, c := range []struct {
		name   string
		v      Version
		h      http.Header
		length int64
		want   bool
	}{
		{"the same tag", va, http.Header{"Etag": {`"a"`}}, 10, true},
		{"another tag", va, http.Header{"Etag": {`"b"`}}, 10, false},
		{"the same tag, weak", va, http.Header{"Etag": {`W/"a"`}}, 10, false},
		{"no tag", va, http.Header{}, 10, false},
		{"another length", va, http.Header{"Etag": {`"a"`}}, 11, false},
		{"the same date", vd, http.Header{"Last-Modified": {at(t0)}}, 10, true},
		{"another date", vd, http.Header{"Last-Modified": {at(t0.Add(time.Second))}}, 10, false},
		{"the date left out", vd, http.Header{}, 10, true},
		{"a tag that was not there", vd, http.Header{"Etag": {`"a"`}, "Last-Modified": {at(t0)}}, 10, false},
	} {
		if got := c.v.Confirms(c.h, c.length, t0); got != c.want {
			t.Errorf("%s: Confirms is %v", c.name, got)
		}
	}
	if !va.Same(va) || va.Same(vd) {
		t.Error("Same")
	}
}

// A 206 that answers a span carries bytes of that span alone, and whole slices.
func FuzzAnswers(f *testing.F) {
	f.Add("bytes 1048576-3145727/9999999", int64(-1))
	f.Add("bytes 1048576-1048576/1048577", int64(1))
	f.Fuzz(func(t *testing.T, field string, body int64) {
		asked := Span{Size, 3 * Size}
		got, length, ok := asked.Answers(http.Header{"Content-Range": {field}}, body)
		if ok && (got.From != Size || got.To <= got.From || got.To > 3*Size || got.To > length || got.To%Size != 0 && got.To != length) {
			t.Fatalf("%q: %v of %d", field, got, length)
		}
	})
}

// The first slices of a range cover its beginning, as ParseRange of cachepolicy gives it.
func FuzzParseRange(f *testing.F) {
	for _, s := range []string{"bytes=0-", "bytes=5-9", "bytes=-3", "bytes=9223372036854775807-"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, field string) {
		first, r := ParseRange(field)
		off, n, outcome := cachepolicy.ParseRange(field, 1<<40)
		if first == (Span{To: Size}) {
			return // perhaps for the length alone
		}
		if r == Part && outcome == cachepolicy.RangePart &&
			(first.From > off || first.To <= off || first.From%Size != 0 || first.Len() > 8*Size) {
			t.Fatalf("%q: %v does not begin with %d, %d", field, first, off, n)
		}
		if r == Whole && (off != 0 || n != 1<<40) {
			t.Fatalf("%q: whole is %d, %d", field, off, n)
		}
	})
}
