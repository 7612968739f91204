//go:build linux

package entries

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/iconedge/iconedge/loadtest/peers"
)

// An edge is one under measurement.
type edge struct {
	*peers.Server
	tree  peers.Tree
	meter func() (time.Duration, error)
	began time.Time
}

// start starts an edge of icons. Its runtime writes a line about each collection.
func (m *measurement) start(ctx context.Context, dir string, args ...string) (*edge, error) {
	place := peers.Place{Dir: dir, Origin: m.origin.address(), CPUs: strconv.Itoa(m.EdgeCPU), Cores: 1}
	spec, err := peers.Edge("edge", m.Program, place, args...)
	if err != nil {
		return nil, err
	}
	spec.Env = append(spec.Env, "GODEBUG=gctrace=1")
	e := &edge{began: time.Now()}
	if e.Server, err = peers.Start(ctx, spec); err != nil {
		return nil, err
	}
	if e.tree, err = e.Tree(); err != nil {
		e.Stop()
		return nil, err
	}
	e.meter = e.tree.Meter()
	return e, nil
}

// ready waits until /readyz says so, and returns the time since the start.
func (e *edge) ready(ctx context.Context) (time.Duration, error) {
	err := e.Ready(ctx)
	return time.Since(e.began), err
}

// purge sends a purge, and returns how many entries it concerned.
func (e *edge) purge(call map[string][]string) (int, error) {
	text, err := json.Marshal(call)
	if err != nil {
		return 0, err
	}
	response, err := http.Post("http://"+e.Admin.String()+"/purge", "application/json", strings.NewReader(string(text)))
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err
	}
	var result struct{ Purged *int }
	if err := json.Unmarshal(answer, &result); err != nil || result.Purged == nil {
		return 0, fmt.Errorf("the edge answers a purge with %q", answer)
	}
	return *result.Purged, nil
}

// A collection is one run of the garbage collector.
type collection struct {
	from, to time.Time
	pauses   time.Duration // in which all goroutines waited
}

// collections returns those that the edge's runtime has written lines about, such as
//
//	gc 7 @2.104s 1%: 0.02+11+0.03 ms clock, 0.02+0.1/2/5+0.03 ms cpu, …
func (e *edge) collections() (all []collection, err error) {
	output, err := os.ReadFile(filepath.Join(e.Dir, "output"))
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(output)) {
		if c, ok := parseCollection(line, e.began); ok {
			all = append(all, c)
		}
	}
	return all, nil
}

func parseCollection(line string, began time.Time) (c collection, ok bool) {
	var number, percent int
	var at, stop, mark, end float64
	n, _ := fmt.Sscanf(line, "gc %d @%fs %d%%: %f+%f+%f ms clock,", &number, &at, &percent, &stop, &mark, &end)
	if n != 6 || !strings.Contains(line, " ms clock,") {
		return c, false
	}
	millis := func(f float64) time.Duration { return time.Duration(f * float64(time.Millisecond)) }
	c.from = began.Add(time.Duration(at * float64(time.Second)))
	c.to = c.from.Add(millis(stop + mark + end))
	c.pauses = millis(stop + end)
	return c, true
}

// dropPages makes the kernel forget the pages of the files in a folder, as if it had not read them.
func dropPages(dir string) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	unix.Sync()
	for _, file := range files {
		f, err := os.Open(filepath.Join(dir, file.Name()))
		if err != nil {
			return err
		}
		err = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
		f.Close()
		if err != nil {
			return err
		}
	}
	return nil
}
