//go:build linux

package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/iconedge/iconedge/internal/cli"
	"github.com/iconedge/iconedge/loadtest/h2load"
	"github.com/iconedge/iconedge/loadtest/h3load"
	"github.com/iconedge/iconedge/loadtest/load"
	"github.com/iconedge/iconedge/loadtest/peers"
	"github.com/iconedge/iconedge/loadtest/report"
)

// TestHitTargets: some group measures both sides of every target.
func TestHitTargets(t *testing.T) {
	var names []string
	for _, c := range hitColumns {
		names = append(names, c.name)
	}
	for _, c := range hitSecureColumns {
		names = append(names, c.name)
	}
	names = append(names, report.StoredMiss)
	for _, target := range report.HitTargets {
		together := slices.ContainsFunc(hitGroups, func(g hitGroup) bool {
			return slices.Contains(g.columns, target.Column) && slices.Contains(g.servers, target.Of)
		})
		if !together || !hitGroups.has(target.Against, target.Column) || !slices.Contains(names, target.Column) {
			t.Errorf("%s is not measured", target.String(0))
		}
	}
	if got := (groups{{"x", []string{report.Nginx, report.Forwarding}, []string{report.Head}}}).servers(report.Zipf,
		report.Head); !slices.Equal(got, []string{report.Forwarding, report.Nginx}) {
		t.Errorf("%q", got)
	}
}

func TestChosen(t *testing.T) {
	for only, want := range map[string]string{
		"": "true true true false", "hits": "true false false false", "sites,tls": "false true true false",
		"misses": "false false false true",
	} {
		var b bench
		if only != "" {
			b.only.Set(only)
		}
		if got := fmt.Sprint(b.chosen(hits), b.chosen("sites"), b.chosen(overTLS), b.chosen(onlyMisses)); got != want {
			t.Errorf("--only %s: %s, want %s", only, got, want)
		}
	}
}

// TestHitColumns: the origin of made-up icons supports every kind of request, and its responses are
// the expected ones.
func TestHitColumns(t *testing.T) {
	addr := listening(t, "origin", "--body", fmt.Sprint(hitBody))
	server := &peers.Server{Spec: peers.Spec{Listen: addr}}
	b := &bench{std: cli.Streams{}, origin: server, paths: madeUp(7, 3), groups: hitGroups}
	var err error
	if b.reference, err = newReference(t.Context(), target{"origin", addr.String(), addr}, b.paths); err != nil {
		t.Fatal(err)
	}
	c := &contender{name: report.Nginx, server: server}
	for _, column := range hitColumns {
		plan, why, err := b.planFor(t.Context(), c, column)
		if err != nil || why != "" {
			t.Errorf("%s: %s, %v", column.name, why, err)
			continue
		}
		want := map[string]string{report.Unchanged: "304 0", report.Since: "304 0", report.Head: "200 0",
			report.Range: "206 500"}[column.name]
		sums := map[uint32]bool{}
		for _, r := range plan.Requests {
			if got := fmt.Sprint(r.Want.Status, r.Want.Length); got != want && (want != "" || got != "200 1000") {
				t.Errorf("%s: %s, want %s", column.name, got, want)
			}
			sums[r.Want.Sum] = true
		}
		if column.name == report.Device && (len(plan.Requests) != 6 || len(sums) != 6 || plan.Order[0] > 2 || plan.Order[1] < 3) {
			t.Errorf("%d requests, %d bodies, order %d", len(plan.Requests), len(sums), plan.Order[:2])
		}
	}
	c.name = report.Forwarding // an edge whose responses do not say that they are hits
	if _, _, err := b.planFor(t.Context(), c, hitColumns[0]); !errors.Is(err, errFetched) {
		t.Errorf("without Cache-Status: %v", err)
	}
	c.name = report.ForwardingSites
	if _, _, err := b.planFor(t.Context(), c, hitColumns[0]); !errors.Is(err, errWrong) {
		t.Errorf("without an edit: %v", err)
	}
}

func TestColumnCheck(t *testing.T) {
	want := load.Want{Status: 206, Length: 2, Sum: load.Checksum([]byte("ok"))}
	for _, row := range []struct {
		column column
		answer load.Answer
		want   error
	}{
		{column{}, load.Answer{Status: 206, Body: []byte("ok")}, nil},
		{column{}, load.Answer{Status: 206, Body: []byte("no")}, errWrong},
		{column{}, load.Answer{Status: 200, Body: []byte("whole")}, nil}, // omitted
		{column{}, load.Answer{Status: 502}, errWrong},
		{column{method: http.MethodHead}, load.Answer{Status: 206, Body: []byte("ok")}, errWrong},
	} {
		if err := row.column.check(row.answer, want); !errors.Is(err, row.want) {
			t.Errorf("%+v: %v, want %v", row.answer, err, row.want)
		}
	}
}

// TestAllocations: the objects of the short run and of reading the metrics do not count.
func TestAllocations(t *testing.T) {
	allocated := 1e9
	admin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		allocated += 5000
		fmt.Fprintf(w, "# TYPE go_memstats_mallocs_total counter\ngo_memstats_mallocs_total %v\n", allocated)
	}))
	defer admin.Close()
	b := &bench{std: cli.Streams{Err: &strings.Builder{}}}
	server := &peers.Server{Spec: peers.Spec{Name: report.Ours, Admin: addressOf(admin)}}
	err := b.countAllocations(t.Context(), server, report.Zipf, func(n int) error { allocated += 123 + 3*float64(n); return nil })
	if want := []report.Allocation{{Server: report.Ours, Column: report.Zipf, Each: 3}}; err != nil ||
		!slices.Equal(b.result.Allocations, want) {
		t.Errorf("%+v (%v), want %+v", b.result.Allocations, err, want)
	}
	server.Name = report.Nginx
	if err := b.countAllocations(t.Context(), server, report.Zipf, nil); err != nil || len(b.result.Allocations) != 1 {
		t.Error("objects of another server were counted")
	}
}

// TestSmallest loads the smallest server over HTTP/3.
func TestSmallest(t *testing.T) {
	s := &secureBench{b: &bench{}, pem: filepath.Join(t.TempDir(), "pair.pem")}
	var err error
	if s.pool, err = makePEM(s.pem, time.Now()); err != nil {
		t.Fatal(err)
	}
	addr := listening(t, "smallest", "--pem", s.pem, "--body", fmt.Sprint(hitBody))
	s.paths = []string{"/a", "/b"}
	column := secureColumn{name: report.Quic50, protocol: h2load.HTTP3, conns: 2, streams: 3}
	c := &secureServer{report.Smallest, &peers.Server{Spec: peers.Spec{Listen: addr, Dir: t.TempDir()}}, nil}
	lengths, err := s.compare(t.Context(), c, column)
	if err != nil || !slices.Equal(lengths, []int64{hitBody, hitBody}) {
		t.Fatalf("%d, %v", lengths, err)
	}
	urls, err := s.urlsOf(c, column)
	if err != nil {
		t.Fatal(err)
	}
	config := column.config(urls)
	config.Roots, config.Requests = s.pool, 100
	config.Meter = func() (time.Duration, error) { return 0, nil }
	r, err := h3load.Run(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	if wrong := r.Wrong(&config, 100*hitBody); wrong != "" || r.Mean <= 0 || r.Max < r.Mean || r.Cipher != "TLS_AES_128_GCM_SHA256" {
		t.Errorf("%s in %+v", wrong, r)
	}
	if wrong := r.Wrong(&config, 100*hitBody+1); wrong == "" {
		t.Error("other bodies are not noticed")
	}
	config.Roots = nil
	if _, err := h3load.Run(t.Context(), config); err == nil {
		t.Error("a certificate that nobody signed is accepted")
	}
	if err := os.WriteFile(urls, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := h3load.Run(t.Context(), config); err == nil {
		t.Error("a file without URLs is accepted")
	}
}
