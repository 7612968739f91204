package top

import (
	"fmt"
	"math"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// A clock that tests move.
var start = time.Date(2026, 11, 26, 3, 0, 0, 0, time.UTC)

func response(client, path string, status int) Response {
	return Response{Client: netip.MustParseAddr(client), Host: []byte("Icons.Example.org"), Path: []byte(path), Status: status, Bytes: 100}
}

// record records one response, without a sample.
func record(c *Counts, now time.Time, client, path string, status int) {
	c.Record(now, response(client, path, status), 1)
}

func names(rows []Row) string {
	var all []string
	for _, r := range rows {
		all = append(all, fmt.Sprintf("%s %d/%d/%d", r.Name, r.Requests, r.Refused, r.Bytes))
	}
	return strings.Join(all, ", ")
}

// A report lists clients, paths and hosts with their requests, and clients with 429s. Addresses of
// IPv6 count by /64, and those of IPv4 in IPv6 as IPv4, like limits.
func TestReport(t *testing.T) {
	c := New(start)
	for range 3 {
		record(c, start.Add(time.Second), "192.0.2.7", "/mdi/home.svg", 200)
	}
	record(c, start.Add(2*time.Second), "::ffff:192.0.2.7", "/api/v1/search", 429)
	record(c, start.Add(2*time.Second), "2001:db8::1", "/mdi/home.svg", 200)
	record(c, start.Add(2*time.Second), "2001:db8::2:1", "/mdi/home.svg", 429)
	r := c.Report(start.Add(4*time.Second), 10*time.Second, 10)
	for _, row := range []struct{ what, got, want string }{
		{"clients", names(r.Clients), "192.0.2.7 4/1/400, 2001:db8::/64 2/1/200"},
		{"paths", names(r.Paths), "/mdi/home.svg 5/1/500, /api/v1/search 1/1/100"},
		{"hosts", names(r.Hosts), "icons.example.org 6/2/600"},
		{"limited", names(r.Limited), "192.0.2.7 1/1/100, 2001:db8::/64 1/1/100"},
		{"all", fmt.Sprint(r.Count, r.Seconds, r.Sampled), "{6 2 600} 4 1"},
	} {
		if row.got != row.want {
			t.Errorf("%s: %s, want %s", row.what, row.got, row.want)
		}
	}
	if one := c.Report(start.Add(4*time.Second), time.Second, 1); len(one.Clients) != 1 || one.Clients[0].Name != "192.0.2.7" {
		t.Errorf("one row: %v", one.Clients)
	}
}

// A report is about the present: counts leave it after the time that it covers, and the memory
// after a minute.
func TestReportForgets(t *testing.T) {
	c := New(start)
	record(c, start, "192.0.2.1", "/a", 200)
	for _, row := range []struct {
		after, within time.Duration
		clients       int
	}{
		{time.Second, span, 1}, {19 * time.Second, span, 1}, {21 * time.Second, span, 0},
		{21 * time.Second, Longest, 1}, {69 * time.Second, Longest, 1},
		{69 * time.Second, time.Hour, 1}, {71 * time.Second, Longest, 0}, {-time.Hour, Longest, 0},
	} {
		if got := c.Report(start.Add(row.after), row.within, 5); len(got.Clients) != row.clients {
			t.Errorf("after %v, a report of %v has %v", row.after, row.within, got.Clients)
		}
	}
	later := start.Add(windows * span)
	record(c, later, "192.0.2.2", "/b", 200)
	if r := c.Report(later, Longest, 5); names(r.Paths) != "/b 1/0/100" {
		t.Errorf("the window of a minute ago: %v", r.Paths)
	}
}

// Random clients, paths and hosts take bounded memory, and hide no client with many requests.
func TestCountsAreBounded(t *testing.T) {
	c := New(start)
	long := strings.Repeat("x", 10*maxPath)
	for i := range 30_000 {
		now := start.Add(time.Duration(i) * time.Second / 1000)
		c.Record(now, Response{Client: netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}),
			Host: fmt.Append(nil, i, long), Path: fmt.Append(nil, "/", i, long), Status: 429}, 1)
		if i%50 == 0 {
			record(c, now, "192.0.2.7", "/mdi/home.svg", 429)
		}
	}
	if s := c.Stats(); s.Keys > s.MaxKeys || s.MaxKeys != 7168 {
		t.Errorf("%+v", s)
	}
	for i := range c.windows {
		for key := range c.windows[i].paths.at {
			if len(key) > maxPath {
				t.Fatalf("a path has %d bytes", len(key))
			}
		}
	}
	r := c.Report(start.Add(30*time.Second), Longest, 3)
	for what, rows := range map[string][]Row{"client": r.Clients, "path": r.Paths, "host": r.Hosts, "limited": r.Limited} {
		if n := rows[0].Requests + rows[0].Uncertain; !strings.Contains("192.0.2.7 /mdi/home.svg icons.example.org",
			rows[0].Name) || n < 600 {
			t.Errorf("the first %s is %+v", what, rows[0])
		}
	}
}

// A busy edge records a sample within its budget. The sums remain right, but for chance, and a
// quiet edge records everything again.
func TestSampleFollowsTheLoad(t *testing.T) {
	c, now, recorded, seconds := New(start), start, 0, 20
	const rate = 64_000
	for i := range rate * seconds {
		now = start.Add(time.Duration(i) * time.Second / rate)
		if stands := c.Sample(); stands > 0 {
			recorded++
			client := "192.0.2.1"
			if i%4 == 0 {
				client = "192.0.2.2"
			}
			c.Record(now, response(client, "/a", 200), stands)
		}
	}
	if most := budget*seconds + 2*budget; recorded > most || recorded < budget*seconds/8 {
		t.Errorf("%d responses were recorded in %d s, at most %d may be", recorded, seconds, most)
	}
	r := c.Report(now, Longest, 2)
	for i, want := range []float64{.75 * rate * float64(seconds), .25 * rate * float64(seconds)} {
		if got := float64(r.Clients[i].Requests); math.Abs(got-want)/want > .1 {
			t.Errorf("%s has %v requests, want about %v", r.Clients[i].Name, got, want)
		}
	}
	if r.Sampled > .1 {
		t.Errorf("the sample at %d a second is %v", rate, r.Sampled)
	}
	for range 20 {
		now = now.Add(200 * time.Millisecond)
		record(c, now, "192.0.2.1", "/a", 200)
	}
	if c.Sample() != 1 {
		t.Errorf("a quiet edge samples one in %d", c.mask.Load()+1)
	}
}

func BenchmarkSample(b *testing.B) {
	c := New(start)
	c.mask.Store(31)
	for b.Loop() {
		c.Sample()
	}
}

func BenchmarkRecord(b *testing.B) {
	c, r, i := New(start), response("192.0.2.7", "/mdi/home.svg", 200), 0
	for b.Loop() {
		i++
		r.Client = netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)})
		c.Record(start, r, 1)
	}
}
