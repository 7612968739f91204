//go:build linux

package simulate

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/valyala/fasthttp/fasthttputil"

	"github.com/iconedge/iconedge/edge"
)

// A node is a whole edge in this process. Its clients reach it in memory; it reaches Redis and the
// shields over sockets.
type node struct {
	*link         // nil: it is in the centre
	log           *record
	public, admin *fasthttputil.InmemoryListener
	end           context.CancelFunc
	ended         chan error
}

// startNode starts an edge. The clock of its cache and limits is off by skew.
func startNode(n *node, skew time.Duration, change func(*edge.Config)) error {
	var cfg edge.Config
	cfg.Flags(flag.NewFlagSet("", flag.PanicOnError))
	n.log = newRecord()
	n.public, n.admin = fasthttputil.NewInmemoryListener(), fasthttputil.NewInmemoryListener()
	cfg.CacheBytes, cfg.Loop, cfg.Log = 1<<20, "off", slog.New(n.log)
	cfg.Listener, cfg.AdminListener = n.public, n.admin
	cfg.Clock = func() time.Time { return time.Now().Add(skew) }
	cfg.Drain, cfg.Neighbours = time.Second, true
	// Connections in memory come from 0.0.0.0, so that X-Forwarded-For names the client.
	cfg.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/32")}
	change(&cfg)
	if err := cfg.Validate(); err != nil {
		return fmt.Errorf("configuring an edge: %w", err)
	}
	s, err := edge.New(cfg)
	if err != nil {
		return fmt.Errorf("making an edge: %w", err)
	}
	ctx, end := context.WithCancel(context.Background())
	n.end, n.ended = end, make(chan error, 1)
	go func() {
		n.ended <- s.Run(ctx)
		s.Close()
	}()
	return nil
}

// get sends a request of a client, with fields (name, value, name, value).
func (n *node) get(target, client string, fields ...string) (status int, body string, err error) {
	var head strings.Builder
	fmt.Fprintf(&head, "GET %s HTTP/1.1\r\nHost: edge.test\r\nX-Forwarded-For: %s\r\nConnection: close\r\n", target, client)
	for i := 0; i+1 < len(fields); i += 2 {
		fmt.Fprintf(&head, "%s: %s\r\n", fields[i], fields[i+1])
	}
	return exchange(n.public, head.String()+"\r\n")
}

// purgeTries is how often an operator repeats a purge that did not reach Redis in time.
const purgeTries = 5

// purge sends a purge of the operator to the edge, and again while the edge says so.
func (n *node) purge(body string) error {
	request := fmt.Sprintf("POST /purge HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	status, answer, err := exchange(n.admin, request)
	for i := 1; i < purgeTries && status == http.StatusServiceUnavailable; i++ {
		status, answer, err = exchange(n.admin, request)
	}
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("purging: %d %s", status, answer)
	}
	return err
}

// exchange sends a request over a new connection, and reads the response.
func exchange(to *fasthttputil.InmemoryListener, request string) (status int, body string, err error) {
	conn, err := to.Dial()
	if err != nil {
		return 0, "", err
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, request); err != nil {
		return 0, "", err
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0, "", err
	}
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}

// The messages of an edge's log by which the simulation knows what the edge has done, and when.
const (
	purgedThere  = "purge of another edge"
	switched     = "release"
	redisGone    = "Redis unreachable; limits counted by this edge alone"
	redisBack    = "Redis reachable again"
	logBack      = "event log in Redis readable again"
	cacheDropped = "the log in redis does not reach back to this edge's position; its cache is dropped"
)

// A record is the log of an edge: when it wrote each message.
type record struct {
	mu     sync.Mutex
	times  map[string][]time.Time
	latest map[string]string // the id of the last message that has one
}

func newRecord() *record {
	return &record{times: map[string][]time.Time{}, latest: map[string]string{}}
}

// count returns how often a message was written.
func (l *record) count(message string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.times[message])
}

// after returns when a message was first written after a time; zero: not yet.
func (l *record) after(message string, t time.Time) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	times := l.times[message]
	i := sort.Search(len(times), func(i int) bool { return times[i].After(t) })
	if i == len(times) {
		return time.Time{}
	}
	return times[i]
}

// all returns when a message was written.
func (l *record) all(message string) []time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.times[message])
}

// known returns the release that the edge learnt last.
func (l *record) known() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.latest[switched]
}

// Enabled, Handle, WithAttrs and WithGroup implement slog.Handler.
func (l *record) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

func (l *record) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.times[r.Message] = append(l.times[r.Message], r.Time)
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "id" {
			l.latest[r.Message] = a.Value.String()
		}
		return true
	})
	return nil
}

func (l *record) WithAttrs([]slog.Attr) slog.Handler { return l }
func (l *record) WithGroup(string) slog.Handler      { return l }
