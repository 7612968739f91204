//go:build linux

package mix

import (
	"bufio"
	"bytes"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/loadtest/load"
)

func TestZipf(t *testing.T) {
	const n = 1000
	order := Zipf(n, 1, 7)
	count := make([]float64, n)
	for _, i := range order {
		count[i]++
	}
	harmonic := 0.0
	for k := 1; k <= n; k++ {
		harmonic += 1 / float64(k)
	}
	for _, k := range []int{1, 2, 20, 1000} {
		want := float64(len(order)) / float64(k) / harmonic
		if got := count[k-1]; math.Abs(got-want) > 2 {
			t.Errorf("the path of rank %d comes %v times of %d, want %.1f", k, got, len(order), want)
		}
	}
	if !slices.Equal(order, Zipf(n, 1, 7)) || slices.Equal(order, Zipf(n, 1, 8)) {
		t.Error("the order does not follow from the seed alone")
	}
}

func TestZipfWithoutSkewIsEven(t *testing.T) {
	count := make([]float64, 10)
	order := Zipf(10, 0, 1)
	for _, i := range order {
		count[i]++
	}
	for i, n := range count {
		if want := float64(len(order)) / 10; math.Abs(n-want) > 2 {
			t.Errorf("path %d comes %v times, want %v", i, n, want)
		}
	}
}

func TestShuffled(t *testing.T) {
	order := Shuffled(100, 1)
	if slices.Equal(order, Recorded(100)) {
		t.Error("nothing was shuffled")
	}
	slices.Sort(order)
	if !slices.Equal(order, Recorded(100)) {
		t.Error("not each of the paths comes once")
	}
}

func TestShares(t *testing.T) {
	for _, row := range []struct {
		value string
		ok    bool
	}{
		{"cdn=1", true},
		{"cdn=70,api=10,search=1,304=15,color=0.5,miss=3,404=2", true},
		{"", false},
		{"cdn", false},
		{"cdn=0", false},
		{"cdn=-1", false},
		{"cdn=NaN", false},
		{"cdn=Inf", false},
		{"cdn=1,cdn=2", false}, // ambiguous
		{"html=1", false},
		{"cdn=1,", false},
	} {
		var s Shares
		if err := s.Set(row.value); (err == nil) != row.ok {
			t.Errorf("Set(%q) = %v, want ok: %v", row.value, err, row.ok)
		}
	}
}

func FuzzShares(f *testing.F) {
	f.Add("cdn=70,api=10,304=15,miss=3,404=2")
	f.Add("cdn=1e-3")
	f.Fuzz(func(t *testing.T, value string) {
		var s, again Shares
		if s.Set(value) != nil {
			return
		}
		if err := again.Set(s.String()); err != nil || !slices.Equal(s, again) {
			t.Fatalf("%q is read as %v, and its String %q as %v (%v)", value, s, s.String(), again, err)
		}
	})
}

func TestRequests(t *testing.T) {
	m := Maker{Host: "h:1", Fields: []string{"Accept-Encoding: br"}, ETag: func(int) string { return `"tag"` }}
	for _, row := range []struct {
		kind       Kind
		path, want string
		status     int // 0: not known yet
	}{
		{Plain, "/mdi/home.svg", "/mdi/home.svg", 0},
		{Plain, "/any/path?x=1", "/any/path?x=1", 0},
		{Conditional, "/mdi/home.svg", "/mdi/home.svg", 304},
		{API, "/mdi/home.svg", "/api/v1/icon/mdi/home", 0},
		{Search, "/mdi/home-outline.svg", "/api/v1/search?q=home", 0},
		{Missing, "/mdi/home.svg", "/mdi/no-such-icon-as-home.svg", 404},
		{Coloured, "/mdi/home.svg", "/mdi/home.svg?color=%239a9175", 0},
	} {
		r, err := m.request(row.kind, 0, row.path)
		if err != nil || r.Want.Status != row.status || r.Target() != row.want {
			t.Errorf("%s of %s: %s, want status %d (%v); want %s, %d", row.kind, row.path, r.Target(), r.Want.Status,
				err, row.want, row.status)
			continue
		}
		read, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(r.Head)))
		if err != nil || read.Host != "h:1" || read.Header.Get("Accept-Encoding") != "br" ||
			(read.Header.Get("If-None-Match") == `"tag"`) != (row.kind == Conditional) {
			t.Errorf("%s: %q is read as %+v, %v", row.kind, r.Head, read, err)
		}
	}
}

func TestMethod(t *testing.T) {
	m := Maker{Host: "h", Method: "HEAD"}
	if got := string(m.Get("/a")); got != "HEAD /a HTTP/1.1\r\nHost: h\r\n\r\n" {
		t.Errorf("%q", got)
	}
}

func TestKindsThatNeedAnIcon(t *testing.T) {
	m := Maker{Host: "h"}
	for _, kind := range []Kind{API, Search, Coloured, Missing, Miss} {
		if _, err := m.request(kind, 0, "/index.html"); err == nil || !strings.Contains(err.Error(), "/index.html") {
			t.Errorf("%s of /index.html: %v, want an error that names it", kind, err)
		}
	}
}

// TestCounted: each instance of a miss requests another size, and each instance of a path with {n}
// another number.
func TestCounted(t *testing.T) {
	m := Maker{Host: "h"}
	for kind, path := range map[Kind]string{Miss: "/mdi/home.svg", Plain: "/x/{n}?y"} {
		r, err := m.request(kind, 0, path)
		if err != nil || r.Count == nil || r.Want.Status != 200 || r.Want.Length != load.AnyLength {
			t.Fatalf("%s of %s: %+v, %v", kind, path, r, err)
		}
		if bytes.Contains(r.Head, []byte("{n}")) || bytes.Contains(r.Tail, []byte("{n}")) || !bytes.HasSuffix(r.Tail, []byte("\r\n\r\n")) {
			t.Errorf("%q and %q are not two halves of a request", r.Head, r.Tail)
		}
	}
}

func TestPlan(t *testing.T) {
	m := Maker{Host: "h", ETag: func(int) string { return `"x"` }}
	paths := []string{"/a/a.svg", "/b/b.svg"}
	order := Zipf(2, 0, 1)
	plan, err := m.Plan(paths, Shares{{Plain, 3}, {Conditional, 1}}, order, 1)
	if err != nil || len(plan.Requests) != 4 || len(plan.Order) != len(order) {
		t.Fatalf("%d requests, %d in order, %v", len(plan.Requests), len(plan.Order), err)
	}
	conditional := 0.0
	for i, n := range plan.Order {
		if path := n % 2; path != order[i] {
			t.Fatalf("place %d asks for path %d, want %d", i, path, order[i])
		}
		if plan.Requests[n].Want.Status == 304 {
			conditional++
		}
	}
	if share := conditional / float64(len(order)); math.Abs(share-0.25) > 0.02 {
		t.Errorf("%.3f of the requests are conditional, want a quarter", share)
	}
}
