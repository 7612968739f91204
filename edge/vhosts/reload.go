package vhosts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/iconedge/iconedge/config"
	"github.com/iconedge/iconedge/config/flags"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/internal/admin"
	"github.com/iconedge/iconedge/internal/problem"
)

// A Reloader replaces the sites of an edge when their file has changed. Its exported fields are set
// before the first use, Use and Certify at the latest before Run.
type Reloader struct {
	Builder
	Load   func() (*flags.Loaded, error) // its error is config.Findings if the file is wrong
	Use    func(*Set)                    // makes a Set that of all requests from now on
	Record func(ok bool)                 // the outcome of each reading
	// Certify makes certificates those of all handshakes from now on. After an error the previous
	// ones stay. nil: the certificates can't change.
	Certify func(flags.Certificates) error

	mu      sync.Mutex    // one reload at a time
	first   *flags.Loaded // as the edge started
	current *Set
	primary *upstream.Client
}

// Start reads the file for the first time. It returns its sites, and the client of the main origin.
func (r *Reloader) Start() (set *Set, primary *upstream.Client, err error) {
	if r.first, err = r.Load(); err != nil {
		return nil, nil, err
	}
	if r.current, err = r.Build(r.first, func(*Set) error { return nil }); err != nil {
		return nil, nil, err
	}
	r.primary = r.current.Primary()
	r.Record(true)
	return r.current, r.primary, nil
}

// connects bounds the connections that Connect opens at a time.
const connects = 16

// Connect opens a connection to an origin of any site, and closes it. The error is that of the
// first site. After a reload the sites are not those with which the edge has started.
func (r *Reloader) Connect(ctx context.Context) error {
	r.mu.Lock()
	set := r.current
	r.mu.Unlock()
	ctx, connected := context.WithCancel(ctx)
	defer connected()
	errs := make([]error, len(set.table.Sites))
	var accepted atomic.Bool
	var all errgroup.Group
	all.SetLimit(connects)
	for i, site := range set.table.Sites {
		all.Go(func() error {
			if errs[i] = set.by[site].main().Connect(ctx); errs[i] == nil {
				accepted.Store(true)
				connected()
			}
			return nil
		})
	}
	all.Wait()
	if accepted.Load() {
		return nil
	}
	return errs[0]
}

// Certificates returns those of the file with which the edge has started.
func (r *Reloader) Certificates() flags.Certificates { return r.first.Certificates() }

// Run reloads the file on each signal, until ctx ends.
func (r *Reloader) Run(ctx context.Context, told <-chan os.Signal) {
	tick := time.NewTicker(10 * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			r.Sweep(r.Clock.At(now))
		case <-told:
			r.Reload() // which logs its error
		}
	}
}

// Reload reads the file and makes its sites those of all requests from now on. A wrong file changes
// nothing.
func (r *Reloader) Reload() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := r.swap()
	r.Record(err == nil)
	if err != nil {
		r.Log.Error("configuration file not usable; the previous one stays in use", "err", err)
		return err
	}
	r.Log.Info("configuration file reloaded", "sha256", r.current.SHA256())
	return nil
}

func (r *Reloader) swap() error {
	loaded, err := r.Load()
	if err != nil {
		return err
	}
	if fixed := loaded.Fixed(r.first); len(fixed) > 0 {
		return fixed
	}
	set, err := r.Build(loaded, func(set *Set) error {
		if before := r.current.Icons; (before != nil) != (set.Icons != nil) || before != nil && set.Primary() != r.primary {
			return config.Findings{loaded.File.Find("sites", "the site with icons and its origin can't change without "+
				"a restart; must be as before, or the edge must be restarted")}
		}
		if r.Certify == nil {
			return nil
		}
		return r.Certify(loaded.Certificates()) // last, because it can't be undone
	})
	if err != nil {
		return err
	}
	r.current = set
	r.Use(set)
	return nil
}

// Handle adds the endpoints of the configuration to the admin listener.
func (r *Reloader) Handle(mux *http.ServeMux, access *admin.Access) {
	protected := func(do http.HandlerFunc) http.Handler {
		return access.Protect(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			w.Header().Set("Cache-Control", "no-store")
			do(w, q)
		}))
	}
	mux.Handle("POST /config/reload", protected(r.serveReload))
	mux.Handle("GET /config", protected(func(w http.ResponseWriter, _ *http.Request) {
		r.mu.Lock()
		set := r.current
		r.mu.Unlock()
		w.Header().Set("Content-Type", "application/yaml")
		w.Header().Set("Config-SHA256", set.SHA256())
		fmt.Fprintf(w, "# sha256: %s\n%s", set.SHA256(), set.Text())
	}))
}

func (r *Reloader) serveReload(w http.ResponseWriter, _ *http.Request) {
	err := r.Reload()
	if err == nil {
		r.mu.Lock()
		sum := r.current.SHA256()
		r.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, "{\"sha256\":%q}\n", sum)
		return
	}
	var findings config.Findings
	lines := []string{err.Error()}
	if errors.As(err, &findings) {
		lines = nil
		for _, f := range findings {
			lines = append(lines, f.String())
		}
	}
	w.Header().Set("Content-Type", problem.ContentType)
	w.WriteHeader(http.StatusUnprocessableEntity)
	json.NewEncoder(w).Encode(map[string]any{"type": "about:blank",
		"title": http.StatusText(http.StatusUnprocessableEntity), "status": http.StatusUnprocessableEntity,
		"detail": "the configuration file is wrong; the previous one stays in use", "findings": lines})
}
