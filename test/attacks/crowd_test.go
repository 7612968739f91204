package attacks

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/iconedge/iconedge/test/harness"
)

const (
	crowdInput  = 256 << 20 // bytes that all clients of a crowd may send
	crowdLimit  = 128 << 20 // bytes that the edge may use for them, without a limit of memory
	smallNode   = "200MiB"  // a limit of memory that the process must stay below
	smallBytes  = 200 << 20
	crowdCalls  = 20
	shortCrowd  = 120     // addresses in the short form
	shortMemory = "16MiB" // --client-memory there
)

// crowds are ways for many clients, each from an address of its own and within its share, to make
// the edge hold memory together.
var crowds = []hoard{
	{"h2: 100 POSTs without a body, indexed fields", "tcp", 0, frames(indexedPosts(""))},
	{"h2: 100 POSTs of which a byte comes, indexed fields", "tcp", 0, frames(indexedPosts("a"))},
	{"h2: indexed fields, cold calls", "tcp", 0, frames(indexedBombs(true))},
	{"h2: no window, hits of 60 kB", "tcp", 0, frames(noWindow("/medium"))},
	{"h2: hits of 60 kB, unread", "tcp", 0, frames(openWindow("/medium"))},
	{"tls: h2, 100 POSTs without a body, indexed fields", "tls2", 0, frames(indexedPosts(""))},
	{"half a head of 15 kB", "tcp", 0, send("GET /hot HTTP/1.1\r\nX: " + strings.Repeat("a", 15000))},
	{"bodies of 60 kB, half", "tcp", 0, send(posting + "Content-Length: 60000\r\n\r\n" + strings.Repeat("a", 33_000))},
	{"bodies of 8 MB, announced", "tcp", 0, send(posting + "Content-Length: 8000000\r\n\r\na")},
	{"hits of 2 kB in a row, unread", "tcp", 0, send(strings.Repeat("GET /small HTTP/1.1\r\n"+home+"\r\n", 60))},
	{"tls: hits of 2 kB in a row, unread", "tls1", 0, send(strings.Repeat("GET /small HTTP/1.1\r\n"+home+"\r\n", 60))},
	{"h3: 128 POSTs without a body", "quic", 0, streams3(echo3)},
	{"h3: 128 POSTs of which a byte comes, fields by reference", "quic", 0,
		streams3(append(head3("POST", "/echo", strings.Repeat("\xf5", 120)), 0, 0x7f, 0xff, 'a'))},
	{"h3: 128 cold calls", "quic", 0, streams3(head3("GET", "/stuck/h3", ""))},
	{"h3: 128 hits of 60 kB, unread", "quic", 0, streams3(head3("GET", "/medium", ""))},
	{"h3: half a head of 15 kB on 8 streams", "quic", 0,
		streams3(append([]byte{1, 0x7f, 0xfe, 0, 0}, bytes.Repeat([]byte{0xd1}, 15_000)...))},
	{"h3: bodies of 8 MB, announced", "quic", 0, streams3(append(append([]byte{}, echo3...), 0, 0x80, 0x7a, 0x12, 0, 'a'))},
}

// indexedPosts begins a hundred POST requests with four references each to a field of 3.7 kB. body
// is what arrives of each body.
func indexedPosts(body string) func(*blockWriter) []byte {
	return func(w *blockWriter) (all []byte) {
		for i := range 100 {
			block := pseudo(post2, "/echo")
			if i == 0 {
				block = append(block, 0x40, 1, 'x', 0x7f, 0xf5, 0x1b) // 127 + 3573
				block = append(block, bytes.Repeat([]byte("a"), 3700)...)
				block = append(block, 0xbe, 0xbe, 0xbe)
			} else {
				block = append(block, 0xbe, 0xbe, 0xbe, 0xbe)
			}
			all = append(all, w.headers(uint32(2*i+1), http2.FlagHeadersEndHeaders, block)...)
			if body != "" {
				all = append(all, w.frame(http2.FrameData, 0, uint32(2*i+1), []byte(body))...)
			}
		}
		return all
	}
}

// TestCrowds has many clients make the edge hold memory together, while another one sends hits.
// With ICONEDGE_HOARDS=all, or a name of the list, it measures with 200, 1,000 and 3,000 addresses
// how much that is, without a limit of memory and with a small one. Without it the crowd is small,
// and so is what all clients may hold; the test only checks that they hold no more and that the
// other client is answered.
func TestCrowds(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other systems have no 127.1.0.1")
	}
	which := os.Getenv("ICONEDGE_HOARDS")
	if which == "" {
		e := startEdge(t, "--client-memory", shortMemory)
		for _, h := range crowds {
			if h.connections = shortCrowd; h.over == "quic" { // its handshakes are dear
				h.connections /= 3
			}
			t.Run(h.name, func(t *testing.T) { h.short(t, e) })
		}
		return
	}
	var table []string
	for _, h := range crowds {
		if which != "all" && which != h.name {
			continue
		}
		for _, limit := range []string{"", smallNode} {
			for _, n := range []int{200, 1000, 3000} {
				h.connections = n
				t.Run(strings.TrimSpace(fmt.Sprintf("%s/%d %s", h.name, n, limit)),
					func(t *testing.T) { table = append(table, h.byCrowd(t, limit)) })
			}
		}
	}
	fmt.Printf("| what each client sends | addresses | GOMEMLIMIT | bytes sent | memory before | at most | hits of "+
		"another client | p99 in quiet | beside | meanwhile |\n|---|---|---|---|---|---|---|---|---|---|\n%s\n", strings.Join(table, "\n"))
}

// short carries out the short form.
func (h hoard) short(t *testing.T, e *harness.Server) {
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); h.run(ctx, e, crowd{h.connections, crowdInput}, new(atomic.Int64)) }()
	defer func() {
		stop()
		<-done
		harness.Eventually(t, "its memory is free", func() bool {
			return gauge(t, e, "client_memory_bytes", "requests")+gauge(t, e, "client_memory_bytes", "responses") < 1<<20
		})
	}()
	for _, kind := range []string{"requests", "responses"} {
		if held, most := gauge(t, e, "client_memory_bytes", kind), gauge(t, e, "client_memory_max_bytes", kind); held > most || most == 0 {
			t.Errorf("%s hold %.0f bytes of %.0f", kind, held, most)
		}
	}
	others(t, e)
}

// others sends hits from another address.
func others(t *testing.T, e *harness.Server) (b clientResult) {
	client := newClient(false, harness.Longest)
	defer client.CloseIdleConnections()
	for range crowdCalls {
		start := time.Now()
		if err := requestHot(client, e.Address("public")); err != nil {
			b.failed++
			b.example = err
		}
		b.calls++
		b.took = append(b.took, time.Since(start))
	}
	if b.failed > 0 {
		for _, kind := range []string{"requests", "responses"} {
			t.Logf("%s hold %.0f bytes", kind, gauge(t, e, "client_memory_bytes", kind))
		}
		t.Errorf("%d of %d hits of another client failed: %v", b.failed, b.calls, b.example)
	}
	return b
}

// gauge returns the value of an edge's metric for a kind.
func gauge(t *testing.T, e *harness.Server, name, kind string) (v float64) {
	t.Helper()
	for line := range strings.Lines(e.Metrics(t)) {
		if rest, ok := strings.CutPrefix(line, fmt.Sprintf("iconedge_edge_%s{kind=%q} ", name, kind)); ok {
			v, _ = strconv.ParseFloat(strings.TrimSpace(rest), 64)
		}
	}
	return v
}

// byCrowd measures the whole form, and returns a row of the table. It also measures the other
// client while the same crowd calls on another edge: that is what the crowd's own work costs the
// machine.
func (h hoard) byCrowd(t *testing.T, limit string) string {
	if limit != "" {
		t.Setenv("GOMEMLIMIT", limit)
	}
	e, spare := startEdge(t), startEdge(t)
	quiet := others(t, e)
	beside, _ := h.meanwhile(t, spare, e)
	before := footprint(e.Cmd.Process.Pid).memory
	ctx, stop := context.WithCancel(t.Context())
	peak := watchFootprint(ctx, e.Cmd.Process.Pid)
	under, spent := h.meanwhile(t, e, e)
	stop()
	most := (<-peak).memory
	if limit == "" && most-before > crowdLimit || limit != "" && most > smallBytes {
		t.Errorf("%d MiB, then %d", before>>20, most>>20)
	}
	round := func(b clientResult) time.Duration { return b.p99().Round(10 * time.Microsecond) }
	return fmt.Sprintf("| %s | %d | %s | %.1f MB | %d MiB | %d MiB | %d of %d | %v | %v | %v |", h.name, h.connections, limit,
		float64(spent)/1e6, before>>20, most>>20, under.calls-under.failed, under.calls, round(quiet), round(beside), round(under))
}

// meanwhile sends hits to e while the crowd calls on target. It returns after the crowd's end, with
// the bytes that the crowd sent.
func (h hoard) meanwhile(t *testing.T, target, e *harness.Server) (b clientResult, spent int64) {
	var made atomic.Int64
	done := make(chan int64)
	go func() {
		spent, _ := h.run(t.Context(), target, crowd{h.connections, crowdInput}, &made)
		done <- spent
	}()
	for made.Load() < int64(h.connections)/2 && t.Context().Err() == nil {
		time.Sleep(10 * time.Millisecond)
	}
	b = others(t, e)
	return b, <-done
}
