package quic

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// An abuse is one kind of abuse, and what the edge must do about it.
type abuse struct {
	name, section string // of the RFC that says what must come
	requires      string
	// do sends it once, and returns an error unless the edge does what it must.
	do func(ctx context.Context, e *edge) error
}

const (
	// mostMemory is how much more memory the edge may use than before an abuse.
	mostMemory = 64 << 20
	// measuring is how long an abuse is repeated for the table of costs, by so many at a time.
	measuring = time.Second
	together  = 4
)

// measures is the environment variable with which the kit repeats each abuse and prints its costs.
const measures = "ICONEDGE_ATTACKS"

// carryOut does each abuse and has another client request hits meanwhile.
func carryOut(t *testing.T, e *edge, list []abuse) {
	t.Helper()
	other := newClient(t, e)
	other.served(t)
	var table []string
	for _, a := range list {
		t.Run(a.name, func(t *testing.T) {
			before := e.usage()
			var ended sync.WaitGroup
			ended.Go(func() {
				if err := a.do(t.Context(), e); err != nil {
					t.Errorf("%s: %v (%s)", a.requires, err, a.section)
				}
			})
			other.served(t) // meanwhile
			ended.Wait()
			if now := e.usage(); now.memory-before.memory > mostMemory {
				t.Errorf("the edge has %d MiB more than before", (now.memory-before.memory)>>20)
			}
			other.served(t)
			if os.Getenv(measures) != "" && !t.Failed() {
				table = append(table, a.costs(t, e, other))
			}
		})
	}
	if len(table) > 0 {
		fmt.Printf("| abuse | RFC | outcome | times | CPU each time | MiB more at most |\n|---|---|---|---:|---:|---:|\n%s\n",
			strings.Join(table, "\n"))
	}
}

// costs repeats an abuse, and returns a row of the table of costs.
func (a abuse) costs(t *testing.T, e *edge, other *client) string {
	before, most := e.usage(), int64(0)
	ctx, enough := context.WithTimeout(t.Context(), measuring)
	defer enough()
	var times atomic.Int64
	var wg sync.WaitGroup
	for range together {
		wg.Go(func() {
			for ctx.Err() == nil {
				if err := a.do(t.Context(), e); err != nil {
					t.Logf("when repeated: %v", err) // a busy edge may answer by Retry
				}
				times.Add(1)
			}
		})
	}
	other.served(t)
	ended := make(chan struct{})
	go func() { wg.Wait(); close(ended) }()
	for done := false; !done; {
		select {
		case <-ended:
			done = true
		case <-time.After(100 * time.Millisecond):
		}
		most = max(most, e.usage().memory)
	}
	took := (e.usage().cpu - before.cpu) / time.Duration(max(times.Load(), 1))
	return fmt.Sprintf("| %s | %s | %s | %d | %v | %d |", a.name, a.section, a.requires, times.Load(),
		took.Round(10*time.Microsecond), max(0, most-before.memory)>>20)
}
