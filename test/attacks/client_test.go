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
	"strings"
	"sync"
	"testing"
	"time"
)

// A behaviour is what a well-behaved client experienced.
type behaviour struct {
	asked, failed int
	why           error // an example of the failures
	took          []time.Duration
}

func (b *behaviour) p99() time.Duration {
	if len(b.took) == 0 {
		return 0
	}
	slices.Sort(b.took)
	return b.took[len(b.took)*99/100]
}

const (
	behaving = 4                     // callers
	manners  = 10 * time.Millisecond // between two calls of a caller
	fresh    = 5                     // one of so many calls uses a new connection
)

// behave sends requests at a low rate until ctx ends, at least two for each caller, on connections
// that it keeps and now and then on a new one. A response must come within a time limit.
func behave(ctx context.Context, address string, within time.Duration) (all behaviour) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range behaving {
		wg.Go(func() {
			kept, once := polite(false, within), polite(true, within)
			defer kept.CloseIdleConnections()
			tick := time.NewTicker(manners)
			defer tick.Stop()
			for i := 0; i < 2 || ctx.Err() == nil; i++ {
				client := kept
				if i%fresh == 0 {
					client = once
				}
				start := time.Now()
				err := askPolitely(client, address)
				mu.Lock()
				all.asked++
				all.took = append(all.took, time.Since(start))
				if err != nil {
					all.failed++
					all.why = err
				}
				mu.Unlock()
				<-tick.C
			}
		})
	}
	wg.Wait()
	return all
}

// polite returns a client with the address 127.0.0.1. It completes a call that has begun, even if
// the attack ends.
func polite(once bool, within time.Duration) *http.Client {
	return &http.Client{Timeout: within, Transport: &http.Transport{DisableKeepAlives: once,
		DialContext: (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}}).DialContext}}
}

func askPolitely(client *http.Client, address string) error {
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

// used is what a process uses of its machine; zero where /proc does not show it.
type used struct {
	memory      int64 // bytes
	descriptors int
}

func footprint(pid int) (u used) {
	proc := "/proc/" + strconv.Itoa(pid)
	status, err := os.ReadFile(proc + "/status")
	if err != nil {
		return u
	}
	_, line, _ := strings.Cut(string(status), "VmRSS:")
	if fields := strings.Fields(line); len(fields) > 0 {
		kib, _ := strconv.ParseInt(fields[0], 10, 64)
		u.memory = kib << 10
	}
	if open, err := os.ReadDir(proc + "/fd"); err == nil {
		u.descriptors = len(open)
	}
	return u
}

// watchFootprint samples a process every half second, and sends the maximum when ctx has ended.
func watchFootprint(ctx context.Context, pid int) <-chan used {
	most := make(chan used, 1)
	go func() {
		var m used
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
	b := behaviour{}
	for i := range 200 {
		b.took = append(b.took, time.Duration(200-i))
	}
	if got := b.p99(); got != 199 {
		t.Errorf("%d, want 199", got)
	}
}
