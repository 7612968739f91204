package queries

import (
	"slices"
	"strings"

	"github.com/iconedge/iconedge/edge/cache/invalidation"
)

// anyHost is the host in keys that have none, as in package routes.
const anyHost = "_"

// Learned returns how many rules were learned so far. A purge that was widened before a rule was
// learned has to be widened again.
func (t *Table) Learned() uint64 { return t.learned.Load() }

// Widen returns a purge with the shared keys of the addresses that it names.
func (t *Table) Widen(p invalidation.Purge) invalidation.Purge {
	if t.places.Load() == nil {
		return p
	}
	p.Keys, p.Tags, p.Prefixes = slices.Clip(p.Keys), slices.Clip(p.Tags), slices.Clip(p.Prefixes)
	for _, key := range p.Keys {
		if strings.Contains(key, sharedMark) {
			continue
		}
		for _, r := range t.at(placeOf(key)) {
			p.Keys = append(p.Keys, r.Key(key))
		}
	}
	w := widening{table: t}
	for _, tag := range p.Tags {
		host, target, ok := cutTag(tag)
		if !ok || strings.Contains(target, sharedMark) {
			continue
		}
		for _, r := range w.of(host, pathOf(target)) {
			p.Tags = append(p.Tags, tag[:len(tag)-len(target)]+r.Key(target))
		}
	}
	for _, prefix := range p.Prefixes {
		// A prefix with a part of a query removes all shared responses for the path.
		if at := strings.IndexByte(prefix, '?'); at >= 0 {
			p.Prefixes = append(p.Prefixes, prefix[:at]+sharedMark)
		}
	}
	return p
}

// A widening finds the rules for the addresses of one purge.
type widening struct {
	table *Table
	paths map[string][]*Rule // of all hosts; nil: not needed yet
}

// of returns the rules for a path on a host; empty: on any.
func (w *widening) of(host, path string) []*Rule {
	if host != "" {
		return w.table.at(host + path)
	}
	if w.paths == nil {
		w.paths = map[string][]*Rule{}
		all := w.table.places.Load()
		for i := range all {
			if p := all[i].Load(); p != nil {
				w.paths[p.rules[0].path] = append(w.paths[p.rules[0].path], p.rules...)
			}
		}
	}
	return w.paths[path]
}

// cutTag returns the host and the target in the surrogate key of an address, as cache.AddressTag,
// cache.SharedTag and cache.TargetTag make them. The host is that of keys; empty: any.
func cutTag(tag string) (host, target string, ok bool) {
	rest, ok := strings.CutPrefix(tag, " ")
	if !ok || strings.HasPrefix(rest, "/") {
		return "", rest, ok
	}
	host, target, ok = strings.Cut(rest, " ")
	if strings.HasSuffix(host, "/") {
		host = anyHost
	}
	return host, target, ok && host != "" && strings.HasPrefix(target, "/")
}
