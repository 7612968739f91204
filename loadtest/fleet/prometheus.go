//go:build linux

package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/iconedge/iconedge/test/listening"
)

// A scraped is a scrape target of Prometheus, with the labels that an operator would set.
type scraped struct {
	Targets []string          `json:"targets"`
	Labels  map[string]string `json:"labels"`
}

type job struct {
	Name    string    `json:"job_name"`
	Targets []scraped `json:"static_configs"`
}

// core is the region of shields and origin.
const core = "core"

// jobs returns the scrape configuration.
func (s *site) jobs() []job {
	edges, shields, origin := job{Name: "iconedge-edge"}, job{Name: "iconedge-shield"}, job{Name: "iconedge-origin"}
	add := func(j *job, n *node, region string) {
		j.Targets = append(j.Targets, scraped{[]string{n.admin}, map[string]string{"region": region, "instance": n.name}})
	}
	for _, e := range s.edges() {
		add(&edges, &e.node, e.region.name)
	}
	for _, n := range s.shields {
		add(&shields, n, core)
	}
	add(&origin, s.origin, core)
	return []job{edges, shields, origin}
}

// addPrometheus adds Prometheus, with a scrape every second and the rules. It writes the
// configuration as JSON, which is valid YAML.
func (s *site) addPrometheus(cfg Config) error {
	program, err := exec.LookPath("prometheus")
	if err != nil {
		return fmt.Errorf("looking for Prometheus: %w", err)
	}
	rules, err := copyRules(cfg.Rules, filepath.Join(s.folder, "rules"))
	if err != nil {
		return err
	}
	config, err := json.MarshalIndent(map[string]any{
		"global":     map[string]string{"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "2s"},
		"rule_files": rules, "scrape_configs": s.jobs(),
	}, "", " ")
	if err != nil {
		return err
	}
	file := filepath.Join(s.folder, "prometheus.yml")
	if err := os.WriteFile(file, config, 0o644); err != nil {
		return err
	}
	data := filepath.Join(s.folder, "prometheus")
	if err := os.RemoveAll(data); err != nil { // remove the data of an earlier run
		return err
	}
	ports, err := listening.FreeAddresses(1)
	if err != nil {
		return err
	}
	s.watchAddr = ports[0]
	s.prometheus = s.process("prometheus", program, "--config.file", file, "--storage.tsdb.path", data,
		"--web.listen-address", s.watchAddr, "--log.level", "warn")
	s.prometheus.ready = wellAt("http://" + s.watchAddr + "/-/ready")
	return nil
}

// The range of rates in the rules, for a fleet that runs for months, and its replacement for a run
// of minutes.
const inMonths, inMinutes = "[5m]", "[20s]"

// copyRules copies the rules of a folder, which need not exist, without their tests. The copies use
// a range of rates that suits a run.
func copyRules(from, to string) (files []string, err error) {
	all, err := filepath.Glob(filepath.Join(from, "*.yaml"))
	if err != nil {
		return nil, err
	}
	for _, file := range all {
		if strings.HasSuffix(file, "_test.yaml") {
			continue
		}
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		copied := filepath.Join(to, filepath.Base(file))
		if err := os.WriteFile(copied, bytes.ReplaceAll(b, []byte(inMonths), []byte(inMinutes)), 0o644); err != nil {
			return nil, err
		}
		files = append(files, copied)
	}
	return files, nil
}

// A series is one series in a query's result.
type series struct {
	Metric map[string]string `json:"metric"`
	Value  sample            `json:"value"`  // of an instant query
	Values []sample          `json:"values"` // of a range query
}

// A sample is a value and its time.
type sample struct{ at, value float64 }

// UnmarshalJSON parses [time, "value"].
func (s *sample) UnmarshalJSON(b []byte) (err error) {
	var pair struct {
		at    float64
		value string
	}
	if err := json.Unmarshal(b, &[]any{&pair.at, &pair.value}); err != nil {
		return err
	}
	s.at = pair.at
	s.value, err = strconv.ParseFloat(pair.value, 64)
	return err
}

// query runs a range query, or an instant query at the end of the range if step is 0.
func (s *site) query(ctx context.Context, expr string, from, to time.Time, step time.Duration) ([]series, error) {
	stamp := func(t time.Time) string { return strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', 3, 64) }
	call, values := "query", url.Values{"query": {expr}, "time": {stamp(to)}}
	if step > 0 {
		call, values = "query_range", url.Values{"query": {expr}, "start": {stamp(from)}, "end": {stamp(to)}, "step": {step.String()}}
	}
	_, b, err := fetch(ctx, http.MethodGet, "http://"+s.watchAddr+"/api/v1/"+call+"?"+values.Encode(), "")
	if err != nil {
		return nil, err
	}
	var told struct {
		Error string `json:"error"`
		Data  struct {
			Result []series `json:"result"`
		} `json:"data"`
	}
	if err := json.Unmarshal(b, &told); err != nil {
		return nil, fmt.Errorf("reading Prometheus' result for %s: %w", expr, err)
	}
	if told.Error != "" {
		return nil, fmt.Errorf("querying Prometheus for %s: %s", expr, told.Error)
	}
	return told.Data.Result, nil
}
