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

	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/files"
	"github.com/iconedge/iconedge/problem"
)

const maxList = 64 << 20 // bytes of a list's file

// A standing is what the operator's lists say of a client.
type standing uint8

const (
	ordinary standing = iota
	allowed           // no limit counts its calls, and no list denies it
	denied
)

// lists are the operator's: who is denied, and who is allowed whatever else is said. Nil: there are none.
type lists struct{ allow, deny *list }

// newLists are the lists of these files; nil, if there are none. They are empty until they are loaded.
func newLists(allow, deny string, log *slog.Logger, m *metrics) *lists {
	if allow == "" && deny == "" {
		return nil
	}
	return &lists{newList(listAllow, allow, log, m), newList(listDeny, deny, log, m)}
}

// of is the standing of a client.
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

// load reads both files. An error is that of the first that can't be used: its list stays as it is.
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

// run reads each list again when its file has changed, and both at once when it is told to, until ctx ends.
func (l *lists) run(ctx context.Context, said <-chan os.Signal) {
	if l == nil {
		return
	}
	each := files.Spread(ctx, said, 2)
	go l.allow.Run(ctx, each[0], l.allow.told)
	l.deny.Run(ctx, each[1], l.deny.told)
}

// A list is the addresses of a file, as it was when it was last read and all of it understood.
type list struct {
	*files.Kept
	name    listName
	path    string // empty: nobody is on it
	log     *slog.Logger
	metrics *metrics
	set     atomic.Pointer[addresses]
}

func newList(name listName, path string, log *slog.Logger, m *metrics) *list {
	l := &list{name: name, path: path, log: log, metrics: m}
	l.set.Store(new(addresses))
	l.Kept = files.NewKept(l.read, path)
	return l
}

func (l *list) has(client netip.Addr) bool { return l.set.Load().has(client) }

// read puts the addresses of the file in place of those before. What can't be used changes nothing.
func (l *list) read(time.Time) error {
	if l.path == "" {
		return nil
	}
	set, err := readAddresses(l.path)
	if err == nil {
		l.set.Store(&set)
	}
	l.metrics.listRead(l.name, len(*l.set.Load()), err == nil)
	if err != nil {
		return fmt.Errorf("--%s-file: %w", l.name, err)
	}
	return nil
}

// told logs what came of reading the file again.
func (l *list) told(err error) {
	switch {
	case l.path == "": // somebody said to read it
	case err != nil:
		l.log.Error("a list can't be read; the one before it stays", "list", l.name.String(), "err", err)
	default:
		l.log.Info("a list was read", "list", l.name.String(), "ranges", len(*l.set.Load()))
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

// barred is the answer to a client on the deny list; nil, if it is not there, or proves to be an edge of this service. Whether the process lives is told to everybody:
// health checks come from addresses that nobody thinks of.
func (h *handler) barred(r *request) *problem.Problem {
	if h.lists == nil || r.Tier || h.lists.of(r.Client) != denied || string(r.ctx.URI().PathOriginal()) == healthPath {
		return nil
	}
	return problem.New(http.StatusForbidden, "calls from this address are not answered here").With(fasthttp.HeaderCacheControl, "no-store")
}
