//go:build linux

package entries

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/loadtest/report"
)

// prefillPart is the number of entries that are written to disk together: they fit into memory.
const prefillPart = 500_000

// prefill writes all entries to a folder, as the edge does when it ends. The edge itself stores the
// first one, of which the others are copies: to fetch them all would take twenty times as long.
func (m *measurement) prefill(ctx context.Context, dir, folder string, args []string) error {
	e, err := m.start(ctx, dir, args...)
	if err != nil {
		return err
	}
	defer e.Stop()
	response, err := http.Get("http://" + e.Listen.String() + key(1))
	if err != nil {
		return errors.Join(err, e.Ended())
	}
	io.Copy(io.Discard, response.Body)
	response.Body.Close()
	if err := e.tree.Calm(ctx); err != nil {
		return err
	}
	if err := e.End(stopTime); err != nil {
		return err
	}
	var stored time.Duration
	var model *cache.Entry
	for from := 1; from <= m.Entries; from += prefillPart {
		took, err := m.prefillFrom(folder, from, &model)
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		stored += took
		fmt.Fprintf(m.Log, "%d entries written\n", min(from+prefillPart-1, m.Entries))
	}
	m.add("memory to disk when the edge ends: time for an entry", "%.1f µs", float64(stored.Microseconds())/float64(m.Entries))
	return nil
}

// key returns the path of icon n.
func key(n int) string { return "/" + stored + "/" + strconv.Itoa(n) + ".svg" }

// prefillFrom writes one part, and returns how long that took. The first part finds the model.
func (m *measurement) prefillFrom(folder string, from int, model **cache.Entry) (took time.Duration, err error) {
	c, err := cache.New(cache.Options{Dir: folder, DiskBytes: m.diskBytes(), MaxBytes: 2 * prefillPart * int64(m.Body+room)})
	if err != nil {
		return 0, err
	}
	defer func() {
		began := time.Now()
		c.Close()
		took = time.Since(began)
	}()
	if *model == nil {
		if *model = c.Get(key(1)); *model == nil {
			return 0, fmt.Errorf("the edge has not written %s to disk", key(1))
		}
	}
	for n := from; n < from+prefillPart && n <= m.Entries; n++ {
		e := (*model).CopyConfirmed()
		e.Key, e.Validator = key(n), strconv.Quote(strconv.Itoa(n))
		e.SetIdentity(body(uint64(n), m.Body), e.Validator)
		e.Tags = []string{stored}
		if n <= m.purged {
			e.Tags = append(e.Tags, tag)
		}
		c.Put(e, c.Generation())
	}
	return 0, nil
}

func (m *measurement) diskBytes() int64 { return max(2*int64(m.Entries)*int64(m.Body+diskRoom), 1<<30) }

// weighDisk measures what an edge has on disk, and the memory that it takes.
func (m *measurement) weighDisk(ctx context.Context, e *edge) error {
	n, err := e.Metric(ctx, "iconedge_edge_cache_disk_entries")
	if err != nil {
		return err
	}
	bytes, err := e.Metric(ctx, "iconedge_edge_cache_disk_bytes")
	if err != nil {
		return err
	}
	rss, err := e.RSS()
	if err != nil {
		return err
	}
	m.add("entries on disk; bytes of each there", "%s; %s", report.Grouped(n), report.Grouped(bytes/max(n, 1)))
	m.add("resident memory; bytes an entry", "%s MB; %s", report.Grouped(float64(rss)/1e6), report.Grouped(float64(rss)/max(n, 1)))
	return nil
}
