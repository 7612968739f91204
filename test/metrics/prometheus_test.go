package metrics

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/test/harness"
)

// A watcher is a running Prometheus.
type watcher struct{ address string }

// A queryAnswer holds the part of Prometheus' responses that these tests read.
type queryAnswer struct {
	Error string
	Data  struct {
		Result []any
		Groups []struct {
			Rules []struct{ Name, Health, LastError string }
		}
	}
}

// startPrometheus starts a Prometheus with our rules that scrapes a fleet, and waits until it has
// scraped every node.
func startPrometheus(t *testing.T, f *watchedFleet) *watcher {
	t.Helper()
	w := &watcher{harness.FreeAddress(t)}
	harness.StartCommand(t, exec.Command(prometheusTool(t, "prometheus"), "--config.file="+f.configuration(),
		"--storage.tsdb.path="+t.TempDir(), "--web.listen-address="+w.address, "--log.level=warn"))
	w.eventually(t, `count(up == 1) == 4`)
	return w
}

// playEvents plays a fleet's good and bad times under traffic, and waits for each part until
// Prometheus sees it: all outcomes of a good day; the origin fails, which pages an operator, and
// recovers; a purge and a new release; Redis fails and loses its data.
func playEvents(t *testing.T, f *watchedFleet, w *watcher) {
	t.Helper()
	w.eventually(t, `count(count by (outcome) (iconedge_edge_requests_total{outcome=~"hit|stale|miss|collapsed|passed|refused|limited|denied"})) == 8`)
	f.origin.Cmd.Process.Kill()
	<-f.origin.Done
	for _, region := range []string{"eu", "us"} {
		w.eventually(t, `ALERTS{alertname="EdgeAvailabilityBurn",alertstate="firing",severity="page",region="`+region+`"}`)
	}
	w.eventually(t, `ALERTS{alertname="EdgeOriginDown",alertstate="pending",origins="all"}`)
	f.origin = harness.Start(t, f.home, f.originArgs...).Ready()
	w.eventually(t, `min(max by (instance) (iconedge_edge_origin_well)) == 1`)
	f.purge(f.us)
	f.publish("M1 1h8v8z")
	w.eventually(t, `min(iconedge_edge_release_switches_total) >= 2`)
	f.redis.Kill()
	w.eventually(t, `max(iconedge_edge_redis_up) == 0`)
	f.redis.Again(t)
	w.eventually(t, `min(iconedge_edge_redis_up) == 1`)
}

// configuration writes Prometheus' configuration for the fleet, with the jobs and the label that
// rules and dashboards use.
func (f *watchedFleet) configuration() string {
	rules, err := filepath.Abs(filepath.Join(rulesFolder, "*.rules.yaml"))
	if err != nil {
		f.t.Fatal(err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}\nrule_files: [%q]\nscrape_configs:\n",
		rules)
	for _, job := range []struct {
		name    string
		targets map[string]*harness.Server
	}{{"iconedge-edge", map[string]*harness.Server{"eu": f.eu, "us": f.us}},
		{"iconedge-shield", map[string]*harness.Server{"core": f.shield}},
		{"iconedge-origin", map[string]*harness.Server{"core": f.origin}}} {
		fmt.Fprintf(&b, "  - job_name: %s\n    static_configs:\n", job.name)
		for region, s := range job.targets {
			fmt.Fprintf(&b, "      - {targets: [%q], labels: {region: %s}}\n", s.Address("admin"), region)
		}
	}
	return harness.TextFile(f.t, b.String())
}

// get calls Prometheus' API. It returns an error while Prometheus starts.
func (w *watcher) get(path string, form url.Values, into any) error {
	resp, err := http.Get("http://" + w.address + "/api/v1/" + path + "?" + form.Encode())
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return json.NewDecoder(resp.Body).Decode(into)
}

func (w *watcher) query(t *testing.T, expr string) (a queryAnswer) {
	t.Helper()
	if err := w.get("query", url.Values{"query": {expr}}, &a); err != nil {
		t.Fatal(err)
	}
	return a
}

// eventually waits until Prometheus has a result for a condition.
func (w *watcher) eventually(t *testing.T, condition string) {
	t.Helper()
	harness.Eventually(t, condition, func() bool {
		var a queryAnswer
		return w.get("query", url.Values{"query": {condition}}, &a) == nil && len(a.Data.Result) > 0
	})
}

// exports holds the values of each label of each metric.
type exports map[string]map[string]map[string]bool

func (w *watcher) series(t *testing.T) exports {
	t.Helper()
	var a struct{ Data []map[string]string }
	if err := w.get("series", url.Values{"match[]": {`{__name__!=""}`}}, &a); err != nil {
		t.Fatal(err)
	}
	all := exports{}
	for _, s := range a.Data {
		metric := s["__name__"]
		if all[metric] == nil {
			all[metric] = map[string]map[string]bool{}
		}
		for label, value := range s {
			if all[metric][label] == nil {
				all[metric][label] = map[string]bool{}
			}
			all[metric][label][value] = true
		}
	}
	return all
}

// failingRules returns the rules that Prometheus could not evaluate against the fleet, or has not
// evaluated yet.
func failingRules(t *testing.T, w *watcher) (wrong []string) {
	t.Helper()
	var a queryAnswer
	if err := w.get("rules", nil, &a); err != nil || len(a.Data.Groups) < 8 {
		t.Fatalf("%d groups of rules: %v", len(a.Data.Groups), err)
	}
	for _, g := range a.Data.Groups {
		for _, r := range g.Rules {
			if r.Health != "ok" {
				wrong = append(wrong, fmt.Sprintf("the rule %s is %s: %s", r.Name, r.Health, r.LastError))
			}
		}
	}
	return wrong
}
