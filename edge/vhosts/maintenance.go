package vhosts

import (
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/iconedge/iconedge/config"
	"github.com/iconedge/iconedge/config/rules"
	"github.com/iconedge/iconedge/internal/hostport"
)

// maintenanceEvery is the time after which the file of a maintenance is looked at again.
const maintenanceEvery = time.Second

// A Maintenance closes a site while a file exists. A nil one never does.
type Maintenance struct {
	config config.Maintenance
	allow  []netip.Prefix
	due    atomic.Int64 // when the file is looked at again, in Unix nanoseconds
	page   atomic.Pointer[rules.Page]
	mu     sync.Mutex
	info   fs.FileInfo // of page
}

func newMaintenance(of *config.Maintenance) *Maintenance {
	if of == nil {
		return nil
	}
	m := &Maintenance{config: *of}
	for _, one := range of.Allow {
		if p, err := hostport.ParsePrefix(one); err == nil {
			m.allow = append(m.allow, p)
		}
	}
	return m
}

// Undecided reports whether Page has to decide about a request, so that the hit path can't answer
// it. It makes no system call.
func (m *Maintenance) Undecided(now time.Time) bool {
	return m != nil && (m.page.Load() != nil || now.UnixNano() >= m.due.Load())
}

// Page returns the response to a request of a client while the site is closed; nil: it is open for
// the client.
func (m *Maintenance) Page(client netip.Addr, now time.Time) *rules.Page {
	if m == nil {
		return nil
	}
	if now.UnixNano() >= m.due.Load() {
		m.look(now)
	}
	page := m.page.Load()
	if page == nil || slices.ContainsFunc(m.allow, func(p netip.Prefix) bool { return p.Contains(client.Unmap().WithZone("")) }) {
		return nil
	}
	return page
}

// look looks at the file. While it can't be read the site stays closed, with an empty page.
func (m *Maintenance) look(now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now.UnixNano() < m.due.Load() {
		return
	}
	defer m.due.Store(now.Add(maintenanceEvery).UnixNano())
	info, err := os.Stat(m.config.File)
	if errors.Is(err, fs.ErrNotExist) {
		m.page.Store(nil)
		m.info = nil
		return
	}
	if err == nil && m.info != nil && os.SameFile(info, m.info) && info.ModTime().Equal(m.info.ModTime()) && info.Size() == m.info.Size() {
		return
	}
	page, err := rules.ReadPage(m.config.File, m.config.RetryAfter)
	if err != nil {
		page, info = rules.NewPage(m.config.File, nil, m.config.RetryAfter), nil
	}
	m.info = info
	m.page.Store(page)
}
