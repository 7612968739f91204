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

// A Result is what a run came to.
type Result struct {
	Date    string
	Machine report.Machine
	Shields int
	Clients int // of each region
	Rate    float64
	Icons   int
	Seconds float64
	Phases  []*Phase
	Regions []Region
	Tiers   []Tier
	Panels  []Asked
	Plots   []Plot
}

// A Region is what its clients saw in the whole run, and its way to the rest.
type Region struct {
	Name         string
	Delay        time.Duration
	Loss         float64
	Lost         int64 // segments
	Answers      int64
	Cached, Rest Times
}

// Times are quantiles of how long answers took.
type Times struct{ P50, P99, Most time.Duration }

// A Tier is what Prometheus counted of one.
type Tier struct {
	Name     string
	Requests float64
	Hits     float64 // share; below 0: a tier that keeps nothing
}

// gather makes the regions' figures of what the phases counted.
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

// look asks Prometheus what it saw.
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
	asked, err := r.increase(ctx, `iconedge_origin_requests_total{route!~"release|names|health"}`) // our own among them
	if err != nil {
		return err
	}
	r.result.Tiers = append(r.result.Tiers, Tier{"origin", asked - float64(r.own.Load()), -1})
	return r.askPanels(ctx)
}

// increase is by how much a counter grew in the whole run.
func (r *run) increase(ctx context.Context, selector string) (float64, error) {
	window := strconv.Itoa(int(r.ended.Sub(r.began).Seconds())) + "s"
	found, err := r.query(ctx, "sum(increase("+selector+"["+window+"]))", r.began, r.ended, 0)
	if err != nil || len(found) == 0 {
		return 0, err
	}
	return found[0].Value.value, nil
}

// Failed says in one error what did not hold: wrong or failed answers for cached icons, wrong ones for anything, and promises.
func (r *Result) Failed() error {
	var words []string
	for _, p := range r.Phases {
		cached, rest, _ := p.tally.counts()
		if n := cached.Wrong + cached.Failed + rest.Wrong; n > 0 {
			words = append(words, fmt.Sprintf("%s: %d answers that must not be", p.Name, n))
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
	return fmt.Errorf("what was promised did not hold: %s", strings.Join(words, "; "))
}
