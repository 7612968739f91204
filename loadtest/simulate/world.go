//go:build linux

package simulate

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/iconedge/iconedge/edge"
	"github.com/iconedge/iconedge/loadtest/load"
)

const (
	shieldCount = 2
	maxSkew     = 5 * time.Minute // of an edge's clock, in both directions
	atOnce      = 48              // edges that start, or are asked
	settling    = 2 * time.Minute // that the fleet may take for anything
	searchLimit = 60              // calls of a client a minute, in a region
)

// A world is a fleet: Redis and relays as processes, and in this process an origin, shields and
// edges.
type world struct {
	folder  string
	timeout time.Duration // for a check of a limit; 0: the default
	redis   *server
	origin  *origin
	serving *http.Server
	shields []*node
	links   []*link
	edges   []*node
}

// newWorld starts a fleet of so many edges, in turn in each region, and waits until each knows the
// release.
func newWorld(ctx context.Context, edges, regions int, timeout time.Duration) (*world, error) {
	w := &world{origin: newOrigin(), timeout: timeout}
	if err := w.start(ctx, edges, regions); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

func (w *world) start(ctx context.Context, edges, regions int) (err error) {
	if w.folder, err = os.MkdirTemp("", "simulate"); err != nil {
		return err
	}
	secret := filepath.Join(w.folder, "secret")
	if err := os.WriteFile(secret, []byte("a-secret-between-tiers-0123"), 0o600); err != nil {
		return err
	}
	if w.redis, err = startRedis(ctx, w.folder); err != nil {
		return err
	}
	at, err := w.serveOrigin()
	if err != nil {
		return err
	}
	targets := []string{w.redis.address, at}
	for range shieldCount {
		address, err := w.startShield(at, secret)
		if err != nil {
			return err
		}
		targets = append(targets, address)
	}
	for i, p := range places[:regions] {
		l, err := openLink(p, i, targets...)
		if err != nil {
			return err
		}
		w.links = append(w.links, l)
	}
	return w.startEdges(ctx, edges, secret)
}

func (w *world) serveOrigin() (address string, err error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	w.serving = &http.Server{Handler: w.origin}
	go w.serving.Serve(ln)
	return ln.Addr().String(), nil
}

func (w *world) startShield(origin, secret string) (address string, err error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	n := &node{}
	w.shields = append(w.shields, n)
	return ln.Addr().String(), startNode(n, 0, func(c *edge.Config) {
		c.Listener, c.TierSecretFile, c.Redis, c.Region = ln, secret, "redis://"+w.redis.address, "shield"
		c.Origins = nil
		c.Origins.Set("http://" + origin)
	})
}

func (w *world) startEdges(ctx context.Context, count int, secret string) error {
	for i := range count {
		w.edges = append(w.edges, &node{link: w.links[i%len(w.links)]})
	}
	// In groups, because a fleet whose edges all start at once keeps two cores so busy that health
	// checks fail, and each failed one costs another connection.
	for first := 0; first < count; first += atOnce {
		group := w.edges[first:min(first+atOnce, count)]
		if err := w.startGroup(ctx, group, first, secret); err != nil {
			return err
		}
	}
	return nil
}

// startGroup starts some edges, from the index first, and waits until each knows the release.
func (w *world) startGroup(ctx context.Context, group []*node, first int, secret string) error {
	err := each(group, func(i int, n *node) error {
		skew := maxSkew * time.Duration(2*(first+i)-len(w.edges)) / time.Duration(len(w.edges))
		return startNode(n, skew, func(c *edge.Config) {
			c.TierSecretFile, c.Redis, c.Region = secret, "redis://"+n.addresses[0], n.name
			c.Origins = nil
			c.Origins.Set("http://" + strings.Join(n.addresses[2:], ",http://"))
			c.Origins.Set("http://" + n.addresses[1])
			c.RedisTimeout = w.timeout
			// Of a large fleet the origin gets as many health checks as of a manageable one.
			c.OriginCheck = max(c.OriginCheck, c.OriginCheck*time.Duration(len(w.edges))/manageable)
			c.Limits.Set(fmt.Sprintf("search=%d/1m", searchLimit))
		})
	})
	if err != nil {
		return err
	}
	return w.wait(ctx, "every edge knows the release", group, func(n *node) bool { return n.log.known() == releaseID(1) })
}

// close ends everything.
func (w *world) close() {
	each(slices.Concat(w.edges, w.shields), func(_ int, n *node) error {
		if n != nil && n.end != nil {
			n.end()
			<-n.ended
		}
		return nil
	})
	for _, l := range w.links {
		l.close()
	}
	if w.serving != nil {
		w.serving.Close()
	}
	if w.redis != nil {
		w.redis.kill()
	}
	os.RemoveAll(w.folder)
}

// wait waits until a condition holds for every node.
func (w *world) wait(ctx context.Context, what string, nodes []*node, is func(*node) bool) error {
	left, end := nodes, time.Now().Add(settling)
	for {
		var still []*node
		for _, n := range left {
			if !is(n) {
				still = append(still, n)
			}
		}
		if left = still; len(left) == 0 {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("not after %v: %s (%d of %d edges are missing)", settling, what, len(left), len(nodes))
		}
		if err := load.Pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

// each calls f for all nodes, some at a time, and returns the first error.
func each(nodes []*node, f func(i int, n *node) error) error {
	var all sync.WaitGroup
	errs, places := make([]error, len(nodes)), make(chan struct{}, atOnce)
	for i, n := range nodes {
		places <- struct{}{}
		all.Go(func() {
			errs[i] = f(i, n)
			<-places
		})
	}
	all.Wait()
	return cmp.Or(errs...)
}

// check requests some icons of every edge, other ones of the next edge, and checks that each edge
// serves their present content.
func (w *world) check(nodes []*node, sample int) error {
	return each(nodes, func(first int, n *node) error {
		for i := range sample {
			i = (first*sample + i) % iconCount
			status, got, err := n.get(iconPath(i), "192.0.2.250")
			if want := w.origin.svg(iconPath(i)); err != nil || status != http.StatusOK || got != want {
				return fmt.Errorf("an edge of %s serves %s wrong: %d %.120s, want %.120s (%w)", n.name, iconPath(i), status, got, want, err)
			}
		}
		return nil
	})
}
