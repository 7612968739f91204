package attacks

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/iconedge/iconedge/test/harness"
)

// A clientResult is what a well-behaved client experienced.
type clientResult struct {
	calls, failed int
	example       error // an example of the failures
	took          []time.Duration
}

func (b *clientResult) p99() time.Duration {
	if len(b.took) == 0 {
		return 0
	}
	slices.Sort(b.took)
	return b.took[len(b.took)*99/100]
}

const (
	clientCallers = 4                     // callers
	clientPause   = 10 * time.Millisecond // between two calls of a caller
	newConnEvery  = 5                     // one of so many calls uses a new connection
)

// runClient sends requests at a low rate until ctx ends, at least two for each caller, on
// connections that it keeps and now and then on a new one. A response must come within a time
// limit.
func runClient(ctx context.Context, address string, within time.Duration) (all clientResult) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range clientCallers {
		wg.Go(func() {
			kept, once := newClient(false, within), newClient(true, within)
			defer kept.CloseIdleConnections()
			tick := time.NewTicker(clientPause)
			defer tick.Stop()
			for i := 0; i < 2 || ctx.Err() == nil; i++ {
				client := kept
				if i%newConnEvery == 0 {
					client = once
				}
				start := time.Now()
				err := requestHot(client, address)
				mu.Lock()
				all.calls++
				all.took = append(all.took, time.Since(start))
				if err != nil {
					all.failed++
					all.example = err
				}
				mu.Unlock()
				<-tick.C
			}
		})
	}
	wg.Wait()
	return all
}

// newClient returns a client with the address 127.0.0.1. It completes a call that has begun, even
// if the attack ends.
func newClient(once bool, within time.Duration) *http.Client {
	return &http.Client{Timeout: within, Transport: &http.Transport{DisableKeepAlives: once,
		DialContext: (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}}).DialContext}}
}

func requestHot(client *http.Client, address string) error {
	resp, err := client.Get("http://" + address + "/hot")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && (resp.StatusCode != http.StatusOK || string(body) != "hot") {
		err = fmt.Errorf("%d %.100q", resp.StatusCode, body)
	}
	return err
}

// usage is what a process uses of its machine; zero where /proc does not show it.
type usage struct {
	memory      int64 // bytes
	descriptors int
}

func footprint(pid int) (u usage) {
	proc := "/proc/" + strconv.Itoa(pid)
	u.memory = harness.Resident(pid)
	if open, err := os.ReadDir(proc + "/fd"); err == nil {
		u.descriptors = len(open)
	}
	return u
}

// watchFootprint samples a process every half second, and sends the maximum when ctx has ended.
func watchFootprint(ctx context.Context, pid int) <-chan usage {
	most := make(chan usage, 1)
	go func() {
		var m usage
		for tick := time.NewTicker(500 * time.Millisecond); ctx.Err() == nil; {
			u := footprint(pid)
			m.memory, m.descriptors = max(m.memory, u.memory), max(m.descriptors, u.descriptors)
			select {
			case <-ctx.Done():
			case <-tick.C:
			}
		}
		most <- m
	}()
	return most
}

func TestP99(t *testing.T) {
	b := clientResult{}
	for i := range 200 {
		b.took = append(b.took, time.Duration(200-i))
	}
	if got := b.p99(); got != 199 {
		t.Errorf("%d, want 199", got)
	}
}
