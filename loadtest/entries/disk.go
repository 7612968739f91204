//go:build linux

package entries

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/iconedge/iconedge/loadtest/load"
)

const (
	// memoryPart is the part of the entries for which an edge with a disk tier has memory.
	memoryPart = 10
	stopTime   = 10 * time.Minute // that an edge may take to end
	// nothingNew is how long an edge may find no entry before all count as found.
	nothingNew = 5 * time.Second
)

// onDisk measures an edge that starts with all entries on disk.
func (m *measurement) onDisk(ctx context.Context) error {
	m.begin("on disk")
	dir := filepath.Join(m.Dir, "disk")
	folder := filepath.Join(dir, "cache")
	args := []string{
		"--cache-bytes", strconv.FormatInt(max(int64(m.Entries)*int64(m.Body+room)/memoryPart, 64<<20), 10),
		"--cache-dir", folder, "--cache-disk-bytes", strconv.FormatInt(m.diskBytes(), 10),
	}
	if err := m.prefill(ctx, dir, folder, args); err != nil {
		return err
	}
	if err := dropPages(folder); err != nil {
		return err
	}
	e, err := m.start(ctx, dir, args...)
	if err != nil {
		return err
	}
	defer e.Stop()
	if err := m.started(ctx, e); err != nil {
		return errors.Join(err, e.Ended())
	}
	if err := m.purges(ctx, e, diskRate); err != nil {
		return errors.Join(err, e.Ended())
	}
	began := time.Now()
	if err := e.End(stopTime); err != nil {
		return err
	}
	m.add("until the edge has ended", "%s", seconds(time.Since(began)))
	return nil
}

// started measures the start with entries on disk, of which the kernel has no pages.
func (m *measurement) started(ctx context.Context, e *edge) error {
	took, err := e.ready(ctx)
	if err != nil {
		return err
	}
	cpu, err := e.meter()
	if err != nil {
		return err
	}
	m.add("ready after a start; processor time", "%s; %s", seconds(took), seconds(cpu))
	err = m.requests(ctx, e, "until all are found", func() error {
		for last, found := -1.0, 0.0; time.Since(e.began) < took+nothingNew; { // it finds more
			if found, err = e.Metric(ctx, "iconedge_edge_cache_disk_entries"); err != nil {
				return err
			}
			if found > last {
				last, took = found, time.Since(e.began)
				if cpu, err = e.meter(); err != nil {
					return err
				}
			}
			if err := load.Pause(ctx, time.Second/10); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	m.add("until all entries are found; processor time with that of these requests", "%s; %s", seconds(took), seconds(cpu))
	if err := m.weighDisk(ctx, e); err != nil {
		return err
	}
	return m.requests(ctx, e, "then", func() error { return load.Pause(ctx, quiet) })
}

// requests measures requests for entries on disk while do runs.
func (m *measurement) requests(ctx context.Context, e *edge, when string, do func() error) error {
	before := m.origin.answers.Load()
	r, err := beside(ctx, m.hitLoad(e, diskRate, time.Hour), do)
	if err != nil {
		return err
	}
	m.hitCPU = time.Duration(r.CPUMicros * float64(time.Microsecond))
	m.add(fmt.Sprintf("%d requests a second %s: p50, p99, p99.9; from the origin", diskRate, when), "%s; %.1f %%",
		latencies(r.Latency), 100*float64(m.origin.answers.Load()-before)/float64(max(r.Answers, 1)))
	return nil
}
