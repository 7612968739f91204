package edge

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"sync/atomic"
	"time"

	"github.com/iconedge/iconedge/edge/observe"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/files"
	"github.com/iconedge/iconedge/problem"
	"github.com/valyala/fasthttp"
)

const maxList = 64 << 20 // bytes of a list's file

// A standing is the place of a client on the operator's lists.
type standing uint8

const (
	ordinary standing = iota
	allowed           // no limit counts its requests, and the deny list does not apply
	denied
)

// lists are the operator's allow list and deny list. The allow list overrides the deny list. nil
// means that there are none.
type lists struct{ allow, deny *list }

// newLists returns the lists of these files; nil, if there are none. They are empty until load.
func newLists(allow, deny string, log *slog.Logger, m *observe.Metrics) *lists {
	if allow == "" && deny == "" {
		return nil
	}
	return &lists{newList(observe.ListAllow, allow, log, m), newList(observe.ListDeny, deny, log, m)}
}

// of returns the standing of a client.
func (l *lists) of(client netip.Addr) standing {
	switch {
	case l == nil:
		return ordinary
	case l.allow.has(client):
		return allowed
	case l.deny.has(client):
		return denied
	}
	return ordinary
}

// load reads both files. It returns the error of the first file that can't be used, whose list
// stays unchanged.
func (l *lists) load() error {
	if l == nil {
		return nil
	}
	now := time.Now()
	if err := l.allow.Reload(now); err != nil {
		return err
	}
	return l.deny.Reload(now)
}

// run reads each list again when its file changes, and both on a signal, until ctx ends.
func (l *lists) run(ctx context.Context, said <-chan os.Signal) {
	if l == nil {
		return
	}
	each := files.Spread(ctx, said, 2)
	go l.allow.Run(ctx, each[0], l.allow.told)
	l.deny.Run(ctx, each[1], l.deny.told)
}

// A list holds the addresses of a file, as of the last time that the whole file was valid.
type list struct {
	*files.Watched
	name    observe.ListName
	path    string // empty: the list is empty
	log     *slog.Logger
	metrics *observe.Metrics
	set     atomic.Pointer[addresses]
}

func newList(name observe.ListName, path string, log *slog.Logger, m *observe.Metrics) *list {
	l := &list{name: name, path: path, log: log, metrics: m}
	l.set.Store(new(addresses))
	l.Watched = files.Watch(l.read, path)
	return l
}

func (l *list) has(client netip.Addr) bool { return l.set.Load().has(client) }

// read replaces the addresses by those of the file. A file that can't be used changes nothing.
func (l *list) read(time.Time) error {
	if l.path == "" {
		return nil
	}
	set, err := readAddresses(l.path)
	if err == nil {
		l.set.Store(&set)
	}
	l.metrics.ListRead(l.name, len(*l.set.Load()), err == nil)
	if err != nil {
		return fmt.Errorf("--%s-file: %w", l.name, err)
	}
	return nil
}

// told logs the result of reading the file again.
func (l *list) told(err error) {
	switch {
	case l.path == "": // a signal reloads this list too
	case err != nil:
		l.log.Error("address list not read; the previous one stays in use", "list", l.name.String(), "err", err)
	default:
		l.log.Info("address list read", "list", l.name.String(), "ranges", len(*l.set.Load()))
	}
}

func readAddresses(file string) (addresses, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxList+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxList {
		return nil, fmt.Errorf("%s has more than %d bytes", file, maxList)
	}
	set, err := parseAddresses(text)
	if err != nil {
		return nil, fmt.Errorf("%s, %w", file, err)
	}
	return set, nil
}

// denied returns the 403 for a client on the deny list; nil for all other clients and for edges
// behind this one. Health checks are answered for every client, because operators tend to forget
// the addresses from which they come.
func (h *handler) denied(r *request) *problem.Problem {
	if h.lists == nil || r.Tier || h.lists.of(r.Client) != denied || string(r.ctx.URI().PathOriginal()) == routes.HealthPath {
		return nil
	}
	return problem.New(http.StatusForbidden, "requests from this address are denied").With(fasthttp.HeaderCacheControl, "no-store")
}
