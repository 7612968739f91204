package access

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"sync/atomic"
	"time"

	"github.com/iconedge/iconedge/internal/files"
)

const maxList = 64 << 20 // bytes of a list's file

// A standing is the place of a client on the operator's lists.
type standing uint8

const (
	ordinary standing = iota
	Allowed           // no limit counts its requests, and the deny list does not apply
	Denied
)

// Lists are the operator's allow list and deny list. The allow list overrides the deny list. nil
// means that there are none.
type Lists struct{ Allow, Deny *list }

// Of returns the standing of a client.
func (l *Lists) Of(client netip.Addr) standing {
	switch {
	case l == nil:
		return ordinary
	case l.Allow.has(client):
		return Allowed
	case l.Deny.has(client):
		return Denied
	}
	return ordinary
}

// load reads both files. It returns the error of the first file that can't be used, whose list
// stays unchanged.
func (l *Lists) load() error {
	if l == nil {
		return nil
	}
	now := time.Now()
	if err := l.Allow.Reload(now); err != nil {
		return err
	}
	return l.Deny.Reload(now)
}

// Run reads each list again when its file changes, and both on a signal, until ctx ends.
func (l *Lists) Run(ctx context.Context, signals <-chan os.Signal) {
	if l == nil {
		return
	}
	each := files.Spread(ctx, signals, 2)
	go l.Allow.Run(ctx, each[0], l.Allow.logRead)
	l.Deny.Run(ctx, each[1], l.Deny.logRead)
}

// A list holds the addresses of a file, as of the last time that the whole file was valid.
type list struct {
	*files.Watched
	name     string
	path     string // empty: the list is empty
	log      *slog.Logger
	observer Observer
	set      atomic.Pointer[addresses]
}

func newList(name string, path string, log *slog.Logger, o Observer) *list {
	l := &list{name: name, path: path, log: log, observer: o}
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
		l.set.Store(set)
	}
	l.observer.ListRead(l.name, l.set.Load().ranges(), err == nil)
	if err != nil {
		return fmt.Errorf("--%s-file: %w", l.name, err)
	}
	return nil
}

// logRead logs the result of reading the file again.
func (l *list) logRead(err error) {
	switch {
	case l.path == "": // a signal reloads this list too
	case err != nil:
		l.log.Error("address list not read; the previous one stays in use", "list", l.name, "err", err)
	default:
		l.log.Info("address list read", "list", l.name, "ranges", l.set.Load().ranges())
	}
}

// readAddresses reads the file of a list.
func readAddresses(file string) (*addresses, error) {
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
