//go:build linux

package fleet

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
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

// sum parses Prometheus' text format.
func sum(text []byte, name string, labels ...string) (total float64, err error) {
	found := false
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		series, value, ok := cutLast(lines.Text())
		if !ok || !isOf(series, name, labels) {
			continue
		}
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return 0, fmt.Errorf("reading %s: %w", series, err)
		}
		total, found = total+v, true
	}
	if !found && len(labels) == 0 {
		return 0, fmt.Errorf("there is no metric %s", name)
	}
	return total, nil // a series with labels exists only after its first use
}

// cutLast splits a line at its last space.
func cutLast(line string) (before, after string, ok bool) {
	i := strings.LastIndexByte(line, ' ')
	if i < 0 || line[0] == '#' {
		return "", "", false
	}
	return line[:i], line[i+1:], true
}

func isOf(series, name string, labels []string) bool {
	rest, ok := strings.CutPrefix(series, name)
	if !ok || rest != "" && rest[0] != '{' {
		return false
	}
	for _, l := range labels {
		if !strings.Contains(rest, "{"+l) && !strings.Contains(rest, ","+l) {
			return false
		}
	}
	return true
}
