package edge

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Hits stay right while pages are purged, the file is read again and entries are evicted: each
// response is whole, of its own path, has the fields of one state of the file, and is not older
// than the last purge before the request. With -short each of the four clients sends 200 requests
// instead of 400.
func TestHitsWhileAllChanges(t *testing.T) {
	t.Parallel()
	requests := 400
	if testing.Short() {
		requests = 100
	}
	const paths, bodyLength = 300, 80 << 10 // more than the cache has room for
	var versions, floors [paths]atomic.Int64
	page := func(path int, version int64) string {
		line := fmt.Sprintf("page %d version %d\n", path, version)
		return strings.Repeat(line, bodyLength/len(line))
	}
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/page/"))
		w.Header().Set("Cache-Control", "max-age=3600")
		w.Header().Set("Content-Type", "image/png")
		io.WriteString(w, page(path, versions[path].Load()))
	}))
	t.Cleanup(origin.Close)
	file := func(state int) string {
		return fmt.Sprintf("version: 1\nsites:\n  - name: a\n    hosts: [a.test]\n    origins: {app: {urls: [%q]}}\n"+
			"    rules:\n      - {match: {path: \"/page/*\"}, response_headers: {set: {X-State: \"%d\", X-Also: \"%d\"}}}\n", origin.URL,
			state, state)
	}
	e := newFileEdge(t, file(0))
	ended, wait := make(chan struct{}), sync.WaitGroup{}
	forever := func(do func(random *rand.Rand)) {
		random := rand.New(rand.NewPCG(rand.Uint64(), 0))
		wait.Go(func() {
			for {
				select {
				case <-ended:
					return
				default:
					do(random)
				}
			}
		})
	}
	forever(func(random *rand.Rand) {
		path := random.IntN(10) // those that are requested most
		version := versions[path].Add(1)
		resp, err := http.Post(e.admin+"/purge", "application/json",
			strings.NewReader(fmt.Sprintf(`{"urls":["http://a.test/page/%d"]}`, path)))
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Errorf("purge: %v, %v", resp, err)
			return
		}
		resp.Body.Close()
		floors[path].Store(version)
	})
	state := 0
	forever(func(*rand.Rand) {
		state++
		e.write(t, file(state))
		if err := e.sites.Reload(); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Millisecond) // so that hits of each state happen
	})
	var hits atomic.Int64
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			random := rand.New(rand.NewPCG(rand.Uint64(), 1))
			for range requests {
				path := random.IntN(10)
				if random.IntN(4) == 0 {
					path = random.IntN(paths)
				}
				floor := floors[path].Load()
				resp, body := e.ask(t, fmt.Sprintf("GET http://a.test/page/%d", path))
				var version int64
				fmt.Sscanf(body, "page "+strconv.Itoa(path)+" version %d\n", &version)
				if body != page(path, version) || version < floor {
					t.Errorf("page %d after version %d: %d bytes, %.40q", path, floor, len(body), body)
					return
				}
				if a, b := resp.Header.Get("X-State"), resp.Header.Get("X-Also"); a == "" || a != b {
					t.Errorf("fields of two states of the file: %q, %q", a, b)
				}
				if strings.Contains(resp.Header.Get("Cache-Status"), "hit") {
					hits.Add(1)
				}
			}
		})
	}
	clients.Wait()
	close(ended)
	wait.Wait()
	if hits.Load() < int64(requests/4) || state < 3 {
		t.Errorf("%d hits and %d states: too few to tell", hits.Load(), state)
	}
}
