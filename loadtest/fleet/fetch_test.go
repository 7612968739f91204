//go:build linux

package fleet

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func TestAwait(t *testing.T) {
	n := 0
	err := await(t.Context(), func() (bool, error) { n++; return n == 3, nil })
	if err != nil || n != 3 {
		t.Errorf("asked %d times: %v", n, err)
	}
	wrong := errors.New("wrong")
	if err := await(t.Context(), func() (bool, error) { return false, wrong }); !errors.Is(err, wrong) {
		t.Errorf("an error of ask: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := await(ctx, func() (bool, error) { return false, nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled context: %v", err)
	}
}

func TestSum(t *testing.T) {
	text := []byte(strings.Join([]string{
		"# HELP a_total Counted events.", "# TYPE a_total counter",
		`a_total{route="cdn",code="2xx"} 3`, `a_total{route="cdn",code="5xx"} 1`, `a_total{route="icon",code="2xx"} 10`,
		`a_totals{route="cdn"} 100`, `b{x_route="cdn"} 7`, "c 1.5e+01",
	}, "\n") + "\n")
	for _, row := range []struct {
		name   string
		labels []string
		want   float64
	}{
		{"a_total", nil, 14},
		{"a_total", []string{`route="cdn"`}, 4},
		{"a_total", []string{`route="cdn"`, `code="2xx"`}, 3},
		{"a_total", []string{`route="search"`}, 0}, // which does not exist before its first use
		{"b", []string{`route="cdn"`}, 0},
		{"c", nil, 15},
	} {
		if got, err := sum(text, row.name, row.labels...); err != nil || got != row.want {
			t.Errorf("%s%v = %v, %v, want %v", row.name, row.labels, got, err, row.want)
		}
	}
	if _, err := sum(text, "none"); err == nil {
		t.Error("a metric that does not exist has a value")
	}
	if _, err := sum(text[:len(text)-4], "a_total"); err == nil {
		t.Error("a page that ends in a number has a value")
	}
}
