//go:build linux

package fleet

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/iconedge/iconedge/loadtest/report"
)

// A Result is the result of a run.
type Result struct {
	Date    string
	Machine report.Machine
	Shields int
	Clients int // in each region
	Rate    float64
	Icons   int
	Seconds float64
	Phases  []*Phase
	Regions []Region
	Tiers   []Tier
	Panels  []Asked
	Plots   []Plot
}

// A Region holds the results of its clients over the whole run, and the properties of its network.
type Region struct {
	Name         string
	Delay        time.Duration
	Loss         float64
	Lost         int64 // number of segments
	Answers      int64
	Cached, Rest Times
}

// Times are quantiles of latency.
type Times struct{ P50, P99, Most time.Duration }

// A Tier holds Prometheus' counts for a tier.
type Tier struct {
	Name     string
	Requests float64
	Hits     float64 // hit rate; negative for a tier without a cache
}

// gather computes the regions' figures from the counts of the phases.
func (r *run) gather() {
	r.result.Seconds = r.ended.Sub(r.began).Seconds()
	for i, place := range places {
		whole := newTimes()
		for _, p := range r.result.Phases {
			whole.cached.Merge(p.tally.times[place.name].cached)
			whole.rest.Merge(p.tally.times[place.name].rest)
		}
		r.result.Regions = append(r.result.Regions, Region{
			Name: place.name, Delay: place.delay, Loss: place.loss, Lost: r.regions[i].way.Lost(),
			Answers: whole.cached.TotalCount() + whole.rest.TotalCount(), Cached: timesOf(whole.cached), Rest: timesOf(whole.rest),
		})
	}
}

func timesOf(h *hdrhistogram.Histogram) Times {
	return Times{time.Duration(h.ValueAtQuantile(50)), time.Duration(h.ValueAtQuantile(99)), time.Duration(h.Max())}
}

// look queries Prometheus for its view of the run.
func (r *run) look(ctx context.Context) error {
	r.say.line("asking Prometheus")
	for _, tier := range []string{"edge", "shield"} {
		of := func(outcomes string) (float64, error) {
			return r.increase(ctx, fmt.Sprintf(`iconedge_edge_requests_total{job="iconedge-%s",outcome=~"%s"}`, tier, outcomes))
		}
		hits, err := of("hit|stale")
		if err != nil {
			return err
		}
		all, err := of("hit|stale|miss|collapsed|error")
		if err != nil {
			return err
		}
		r.result.Tiers = append(r.result.Tiers, Tier{tier, all, hits / max(all, 1)})
	}
	// our own requests included
	asked, err := r.increase(ctx, `iconedge_origin_requests_total{route!~"release|names|health"}`)
	if err != nil {
		return err
	}
	r.result.Tiers = append(r.result.Tiers, Tier{"origin", asked - float64(r.own.Load()), -1})
	return r.askPanels(ctx)
}

// increase returns by how much a counter grew over the whole run.
func (r *run) increase(ctx context.Context, selector string) (float64, error) {
	window := strconv.Itoa(int(r.ended.Sub(r.began).Seconds())) + "s"
	found, err := r.query(ctx, "sum(increase("+selector+"["+window+"]))", r.began, r.ended, 0)
	if err != nil || len(found) == 0 {
		return 0, err
	}
	return found[0].Value.value, nil
}

// Failed returns an error for wrong or failed responses for cached icons, wrong responses for
// anything else, and broken promises.
func (r *Result) Failed() error {
	var words []string
	for _, p := range r.Phases {
		cached, rest, _ := p.tally.counts()
		if n := cached.Wrong + cached.Failed + rest.Wrong; n > 0 {
			words = append(words, fmt.Sprintf("%s: %d forbidden responses", p.Name, n))
		}
		for _, broken := range p.Broken {
			words = append(words, p.Name+": "+broken)
		}
	}
	for _, a := range r.Panels {
		if a.Error != "" {
			words = append(words, a.Board+", "+a.Panel+": "+a.Error)
		}
	}
	if len(words) == 0 {
		return nil
	}
	return fmt.Errorf("broken promises: %s", strings.Join(words, "; "))
}
