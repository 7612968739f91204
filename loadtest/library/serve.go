//go:build linux

package library

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"time"

	"github.com/iconedge/iconedge/loadtest/load"
	"github.com/iconedge/iconedge/loadtest/peers"
	"github.com/iconedge/iconedge/loadtest/report"
)

const (
	// calm is how long an origin must do next to nothing until all its archives count as open.
	calm    = 3 * time.Second
	repeats = 40 // of each search
)

// searches are two words, the beginning of one, and words that ever more names have.
var searches = []string{"red heart", "hous", "home", "arrow", "s", "outline"}

// serve measures an origin that starts with a mirror which an earlier one has filled.
func (m *measurement) serve(ctx context.Context) error {
	first, err := m.start(ctx, "an origin without a mirror is ready")
	if err != nil {
		return err
	}
	first.Stop()
	o, err := m.start(ctx, "an origin with a mirror is ready")
	if err != nil {
		return err
	}
	defer o.Stop()
	if err := m.memory(o, "memory when ready"); err != nil {
		return err
	}
	if err := o.calm(ctx); err != nil {
		return err
	}
	if err := m.memory(o, "memory with all archives open"); err != nil {
		return err
	}
	for _, text := range searches {
		if err := m.search(ctx, o, text); err != nil {
			return fmt.Errorf("searching %q: %w", text, err)
		}
	}
	return m.memory(o, "memory after these searches")
}

// An origin is one under measurement.
type origin struct {
	*peers.Server
	spent func() (time.Duration, error)
}

// start starts an origin, waits until it is ready, and adds how long that took.
func (m *measurement) start(ctx context.Context, what string) (*origin, error) {
	spec, err := peers.Origin(m.Program, "dir:"+m.store, peers.Place{Dir: filepath.Join(m.Dir, "origin")})
	if err != nil {
		return nil, err
	}
	began := time.Now()
	o := &origin{}
	if o.Server, err = peers.Start(ctx, spec); err != nil {
		return nil, err
	}
	tree, err := o.Tree()
	if err != nil {
		o.Stop()
		return nil, err
	}
	o.spent = tree.Meter()
	if err := o.Ready(ctx); err != nil {
		o.Stop()
		return nil, err
	}
	took := time.Since(began)
	cpu, err := o.spent()
	m.add(what+" after", "%.1f s", took.Seconds())
	m.add(what+", CPU", "%.1f s", cpu.Seconds())
	return o, err
}

// calm waits until the origin has done next to nothing for a while.
func (o *origin) calm(ctx context.Context) error {
	for {
		before, err := o.spent()
		if err != nil {
			return err
		}
		if err := load.Pause(ctx, calm); err != nil {
			return err
		}
		if after, err := o.spent(); err != nil || after-before < calm/50 {
			return err
		}
	}
}

func (m *measurement) memory(o *origin, name string) error {
	bytes, err := o.RSS()
	m.add(name, "%s", megabytes(bytes))
	return err
}

// search measures a search, repeatedly: what it costs the origin, and how long the client waits.
func (m *measurement) search(ctx context.Context, o *origin, text string) error {
	address := fmt.Sprintf("http://%s/api/v1/search?q=%s", o.Listen, url.QueryEscape(text))
	total, err := found(ctx, address) // the first one reads pages of the index
	if err != nil {
		return err
	}
	before, err := o.spent()
	if err != nil {
		return err
	}
	var times []time.Duration
	for range repeats {
		began := time.Now()
		if _, err := found(ctx, address); err != nil {
			return err
		}
		times = append(times, time.Since(began))
	}
	after, err := o.spent()
	slices.Sort(times)
	m.add(fmt.Sprintf("`%s`, %s results: CPU; a client waits", text, report.Grouped(float64(total))), "%.1f ms; %.1f ms",
		(after-before).Seconds()*1e3/repeats, times[repeats/2].Seconds()*1e3)
	return err
}

// found returns how many results a search has.
func found(ctx context.Context, address string) (total int, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err
	}
	var result struct{ Total *int }
	if err := json.Unmarshal(body, &result); err != nil || result.Total == nil {
		return 0, fmt.Errorf("%s: %.200s", response.Status, body)
	}
	return *result.Total, nil
}
