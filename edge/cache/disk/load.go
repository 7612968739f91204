package disk

import (
	"errors"
	"os"
	"slices"
	"time"

	"github.com/iconedge/iconedge/edge/cache/codec"
	"github.com/iconedge/iconedge/edge/cache/entry"
)

// Find returns the entry that is on disk under a key, or the names by which the entries under it
// vary.
func (d *Tier) Find(key string, label uint64) (e *entry.Entry, aliases, names []string) {
	d.mu.RLock()
	p := d.index.atKey(label)
	d.mu.RUnlock()
	switch {
	case p == nil:
		return nil, nil, nil
	case p.varies():
		if n, ok := d.name(p); ok && n.key == key {
			names = n.vary
		}
		return nil, nil, names
	}
	e, aliases = d.load(p)
	if e == nil || e.Key != key || e.Secondary != "" {
		return nil, nil, nil
	}
	d.hits.Add(1)
	return e, aliases, nil
}

// FindVariant returns the entry that is on disk under a key and a secondary key, if it varies by
// these names.
func (d *Tier) FindVariant(key, secondary string, names []string, hash uint64) (e *entry.Entry, aliases []string) {
	d.mu.RLock()
	p := d.index.find(hash)
	d.mu.RUnlock()
	if p == nil {
		return nil, nil
	}
	if e, aliases = d.load(p); e != nil {
		d.mu.Lock()
		d.index.use(p)
		d.mu.Unlock()
	}
	if e == nil || e.Key != key || e.Secondary != secondary && !slices.Contains(aliases, secondary) || !slices.Equal(e.Vary, names) {
		return nil, nil
	}
	d.hits.Add(1)
	return e, aliases
}

// load reads an entry, with the effect of a soft purge since it was written.
func (d *Tier) load(p *location) (e *entry.Entry, aliases []string) {
	b := make([]byte, p.size)
	if !d.read(p, b) {
		return nil, nil
	}
	r, err := parseRecord(b, p.segment.marker)
	if err == nil && r.wholeIntact(b) {
		end := recordStart + int(r.head)
		e, aliases, err = decodeEntry(b[recordStart:end:end], b[end:])
	} else {
		err = errDamaged
	}
	if err != nil {
		d.markDamaged(p)
		return nil, nil
	}
	d.Restored(e)
	d.mu.RLock()
	defer d.mu.RUnlock()
	if p.gone {
		return nil, nil // dropped meanwhile; perhaps only its location records that
	}
	if p.expiredAt != 0 {
		e.Expire(time.Unix(0, p.expiredAt), 0)
	}
	e.Origin = p
	e.Checked.Store(uint64(d.swept) + 1)
	return e, aliases
}

// name reads the name of an entry.
func (d *Tier) name(p *location) (n name, ok bool) {
	b := make([]byte, recordStart)
	if !d.read(p, b) {
		return n, false
	}
	r, err := parseRecord(b, p.segment.marker)
	if err != nil || r.size() != int64(p.size) {
		d.markDamaged(p)
		return n, false
	}
	b = make([]byte, recordStart+int64(r.head))
	if !d.read(p, b) {
		return n, false
	}
	decoder := &codec.Decoder{Rest: b[recordStart:]}
	if n = readName(decoder); decoder.Bad || !r.headIntact(b) {
		d.markDamaged(p)
		return n, false
	}
	return n, true
}

// read reads the first bytes of a record. It is no error if the segment was removed meanwhile.
func (d *Tier) read(p *location, b []byte) bool {
	_, err := p.segment.file.ReadAt(b, int64(p.off))
	if err == nil {
		return true
	}
	if !errors.Is(err, os.ErrClosed) {
		d.markDamaged(p)
	}
	return false
}

// markDamaged makes a location with an unreadable record unusable.
func (d *Tier) markDamaged(p *location) {
	d.errors.Add(1)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.index.retire(p)
}
