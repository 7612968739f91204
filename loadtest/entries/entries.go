//go:build linux

// Package entries measures an edge with millions of small entries, in memory and on disk: their
// size, hits while the garbage collector runs, purges, eviction and restarts.
package entries

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"time"

	"github.com/iconedge/iconedge/loadtest/load"
	"github.com/iconedge/iconedge/loadtest/report"
)

// Config describes a measurement.
type Config struct {
	Program string // the edge's
	Dir     string // for the edge and its disk tier
	Entries int
	Body    int // bytes of each
	Memory  bool
	Disk    bool
	EdgeCPU int
	Log     io.Writer
}

const (
	// MinEntries is the least number of entries: enough for both purges and for hits beside them.
	MinEntries = 1000
	mostPurged = 100_000 // entries that a purge concerns
	callSize   = 10_000  // URLs of a call of the admin listener

	// room is the memory for an entry besides its body: more than it takes, because the cache must
	// not evict before it is full.
	room     = 900
	spare    = 150_000 // entries besides, for the misses before those that evict
	diskRoom = 500     // bytes for an entry on disk besides its body

	connections = 64
	rate        = 5000 // hits a second
	diskRate    = 1000 // requests a second after a restart
	missRate    = 1000 // misses a second beside them
	sampled     = 300_000
	evictions   = 100_000 // misses of which the processor time is measured
	window      = 2 * time.Second
	windows     = 30
	quiet       = 10 * time.Second // of hits alone

	stored = "stored" // the pack of the icons that fill the edge
	others = "others" // of icons that it has not seen
)

// A measurement is one in progress.
type measurement struct {
	Config
	origin *origin
	purged int           // entries that each purge concerns
	hitCPU time.Duration // of a hit
	plans  uint64        // made so far
	tables []report.Table
}

// Run measures. The tables have the figures that were measured until an error.
func Run(ctx context.Context, c Config) ([]report.Table, error) {
	m := &measurement{Config: c, purged: min(mostPurged, c.Entries/5)}
	var err error
	if m.origin, err = startOrigin(c.Body, uint64(m.purged)); err != nil {
		return nil, err
	}
	defer m.origin.close()
	if c.Memory {
		err = m.inMemory(ctx)
	}
	if c.Disk && err == nil {
		err = m.onDisk(ctx)
	}
	return m.tables, errors.Join(err, ctx.Err())
}

// begin begins a table.
func (m *measurement) begin(name string) {
	m.tables = append(m.tables, report.Table{Head: []string{name, "measured"}})
}

// add adds a figure.
func (m *measurement) add(name, format string, values ...any) {
	value := fmt.Sprintf(format, values...)
	fmt.Fprintf(m.Log, "%s: %s\n", name, value)
	t := &m.tables[len(m.tables)-1]
	t.Rows = append(t.Rows, []string{name, value})
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 2, 64) + " s" }

func latencies(l load.Latency) string {
	return fmt.Sprintf("%s, %s, %s µs", report.Grouped(l.P50), report.Grouped(l.P99), report.Grouped(l.P999))
}

// inMemory measures an edge that has all entries in memory.
func (m *measurement) inMemory(ctx context.Context) error {
	m.begin("in memory")
	bytes := int64(m.Entries+spare) * int64(m.Body+room)
	e, err := m.start(ctx, filepath.Join(m.Dir, "memory"), "--cache-bytes", strconv.FormatInt(bytes, 10))
	if err != nil {
		return err
	}
	defer e.Stop()
	empty, err := e.RSS()
	if err != nil {
		return err
	}
	if err := m.fill(ctx, e); err != nil {
		return err
	}
	if err := m.weigh(ctx, e, empty); err != nil {
		return err
	}
	purges := func(ctx context.Context, e *edge) error { return m.purges(ctx, e, rate) }
	for _, step := range []func(context.Context, *edge) error{m.hits, m.collected, purges, m.evicted} {
		if err := step(ctx, e); err != nil {
			return errors.Join(err, e.Ended())
		}
	}
	return nil
}

// request makes a request for /PACK/N.svg with a running number.
func (e *edge) request(pack string, count *load.Counter, size int) load.Request {
	return load.Request{
		Head: []byte("GET /" + pack + "/"), Tail: []byte(".svg HTTP/1.1\r\nHost: " + e.Listen.String() + "\r\n\r\n"),
		Count: count, Want: load.Want{Status: 200, Length: int64(size)},
	}
}

// once sends n requests with running numbers as fast as the edge answers.
func (m *measurement) once(ctx context.Context, e *edge, pack string, most, n int) (*load.Result, error) {
	request := e.request(pack, load.NewCounter(uint64(most)), m.Body)
	plan := load.Plan{Requests: []load.Request{request}, Order: make([]uint32, n), Once: true}
	r, err := load.Run(ctx, load.Config{Target: e.Listen, Plan: plan, Connections: connections, Threads: 1, Meter: e.meter,
		Progress: func(t load.Tick) {
			if int(t.Since.Seconds())%10 == 0 {
				fmt.Fprintf(m.Log, "%d responses\n", t.Answers)
			}
		}})
	return r, errors.Join(err, ctx.Err(), wrong(r))
}

// wrong returns an error if a response differs from the expected one.
func wrong(r *load.Result) error {
	if r != nil && r.Wrong+r.Broken+r.Unheard > 0 {
		return fmt.Errorf("%d wrong responses, %d broken connections, %d requests without a response (%v)",
			r.Wrong, r.Broken, r.Unheard, r.Mistakes)
	}
	return nil
}

// unlimited is the maximum of the numbers in paths that the edge has not seen.
const unlimited = 1 << 40

// fill requests every entry once.
func (m *measurement) fill(ctx context.Context, e *edge) error {
	began := time.Now()
	r, err := m.once(ctx, e, stored, m.Entries, m.Entries)
	if err != nil {
		return err
	}
	if err := e.tree.Calm(ctx); err != nil {
		return err
	}
	m.add("filling: time; processor time of a miss", "%s; %.1f µs", seconds(time.Since(began)), r.CPUMicros)
	return nil
}

// weigh measures the memory of all entries.
func (m *measurement) weigh(ctx context.Context, e *edge, empty int64) error {
	rss, err := e.RSS()
	if err != nil {
		return err
	}
	var heap, n, bytes float64
	for _, metric := range []struct {
		name string
		into *float64
	}{{"go_memstats_heap_alloc_bytes", &heap}, {"iconedge_edge_cache_entries", &n}, {"iconedge_edge_cache_bytes", &bytes}} {
		if *metric.into, err = e.Metric(ctx, metric.name); err != nil {
			return err
		}
	}
	m.add("entries in memory; resident memory", "%s; %s MB", report.Grouped(n), report.Grouped(float64(rss)/1e6))
	m.add("bytes an entry: resident, of that on the heap; as counted against the limit", "%s, %s; %s",
		report.Grouped(float64(rss-empty)/n), report.Grouped(heap/n), report.Grouped(bytes/n))
	return nil
}

// hitPlan requests entries at random that no purge concerns.
func (m *measurement) hitPlan(e *edge) load.Plan {
	m.plans++ // others each time, because those of a disk are in memory then
	random := rand.New(rand.NewPCG(m.plans, uint64(m.Entries)))
	plan := load.Plan{}
	from := 2 * m.purged
	for i := range min(sampled, m.Entries-from) {
		n := uint64(from + 1 + random.IntN(m.Entries-from))
		text := fmt.Appendf(nil, "GET /%s/%d.svg HTTP/1.1\r\nHost: %s\r\n\r\n", stored, n, e.Listen)
		want := load.Want{Status: 200, Length: int64(m.Body), Sum: load.Checksum(body(n, m.Body)), Summed: true}
		plan.Requests = append(plan.Requests, load.Request{Head: text, Want: want})
		plan.Order = append(plan.Order, uint32(i))
	}
	return plan
}

func (m *measurement) hitLoad(e *edge, rate float64, d time.Duration) load.Config {
	return load.Config{Target: e.Listen, Plan: m.hitPlan(e), Connections: connections, Threads: 1, Rate: rate, Duration: d, Meter: e.meter}
}

// hits measures hits alone.
func (m *measurement) hits(ctx context.Context, e *edge) error {
	before := m.origin.answers.Load()
	r, err := load.Run(ctx, m.hitLoad(e, rate, quiet))
	if err = errors.Join(err, ctx.Err(), wrong(r)); err != nil {
		return err
	}
	if n := m.origin.answers.Load() - before; n > 0 {
		return fmt.Errorf("%d of the hits came from the origin", n)
	}
	m.hitCPU = time.Duration(r.CPUMicros * float64(time.Microsecond))
	m.add(fmt.Sprintf("%d hits a second alone: p50, p99, p99.9; processor time", rate), "%s; %.1f µs", latencies(r.Latency), r.CPUMicros)
	return nil
}
