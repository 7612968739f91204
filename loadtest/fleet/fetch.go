//go:build linux

package fleet

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// control is the client for requests that are not load: health, metrics, purges.
var control = &http.Client{Transport: &http.Transport{DisableKeepAlives: true, Proxy: nil}}

// fetch sends one request. A body is sent as JSON.
func fetch(ctx context.Context, method, url, body string) (status int, answer []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := control.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(resp.Body)
	return resp.StatusCode, answer, err
}

// metric returns the sum of a node's series with this name and all of these labels, each in the
// form `name="value"`.
func (n *node) metric(ctx context.Context, name string, labels ...string) (float64, error) {
	status, text, err := fetch(ctx, http.MethodGet, "http://"+n.admin+"/metrics", "")
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("status %d", status)
	}
	if err != nil {
		return 0, fmt.Errorf("reading the metrics of %s: %w", n.name, err)
	}
	return sum(text, name, labels...)
}

// sum adds the counters and gauges with this name and all of these labels on a page in Prometheus'
// text format.
func sum(text []byte, name string, labels ...string) (total float64, err error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return 0, err
	}
	if families[name] == nil && len(labels) == 0 {
		return 0, fmt.Errorf("there is no metric %s", name)
	}
	// A series with labels exists only after its first use.
	for _, m := range families[name].GetMetric() {
		var has []string
		for _, l := range m.GetLabel() {
			has = append(has, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
		}
		if !slices.ContainsFunc(labels, func(l string) bool { return !slices.Contains(has, l) }) {
			total += m.GetCounter().GetValue() + m.GetGauge().GetValue() + m.GetUntyped().GetValue()
		}
	}
	return total, nil
}
