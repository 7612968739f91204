package iconify

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/origin/catalog"
	"github.com/iconedge/iconedge/origin/release"
	"github.com/iconedge/iconedge/origin/search"
)

// defaultSide is the width and height of a set whose source has none (defaultIconDimensions of
// @iconify/utils).
const defaultSide = 16

// New prepares a release. names is its list for edges, in the form of icon.AppendNames. The error
// is one of reading a pack whose source does not say how many icons it has.
func New(r *catalog.Release, index *search.Index, names []byte) (*Library, error) {
	l := &Library{release: r, index: index, sets: map[string]release.Set{}}
	l.words = sync.OnceValue(func() *keywords { return newKeywords(names) })
	for _, s := range r.Sets() {
		if p, ok := r.Pack(s.Key); ok {
			if err := l.addSet(p, s); err != nil {
				return nil, err
			}
		}
	}
	for _, p := range r.Packs() { // of a release of an earlier program
		if _, known := l.sets[p.Key]; !known {
			if err := l.addSet(p, release.Set{Key: p.Key, Total: -1}); err != nil {
				return nil, err
			}
		}
	}
	return l, nil
}

func (l *Library) addSet(p *catalog.Pack, s release.Set) (err error) {
	l.order = append(l.order, s.Key)
	l.sets[s.Key], err = l.completed(p, s)
	return err
}

// completed returns a set with what its source lacks, and without the icons that are withdrawn.
func (l *Library) completed(p *catalog.Pack, s release.Set) (release.Set, error) {
	s.Width, s.Height = cmp.Or(s.Width, defaultSide), cmp.Or(s.Height, defaultSide)
	if s.LastModified == 0 {
		seqs := p.Seqs()
		if len(seqs) > 0 {
			s.LastModified = l.release.Epoch(seqs[len(seqs)-1]).Created.Unix()
		}
	}
	counted := s.Total
	if s.Total < 0 || p.HasWithdrawn() {
		n, err := namesOf(context.Background(), p)
		if err != nil {
			return s, err
		}
		s.Total = n.total
	}
	switch {
	case s.Info == nil:
		s.Info = infoOf(p, s.Total)
	case counted != s.Total || p.HasWithdrawn():
		s.Info = corrected(s.Info, p, s.Total)
	}
	return s, nil
}

// An info is what an answer says about a set whose source is not in Iconify's form (IconifyInfo of
// @iconify/types).
type info struct {
	Name     string    `json:"name"`
	Total    int       `json:"total"`
	Version  string    `json:"version,omitempty"`
	Author   author    `json:"author"`
	License  license   `json:"license"`
	Samples  []string  `json:"samples,omitempty"`
	Height   []float64 `json:"height,omitempty"`
	Category string    `json:"category,omitempty"`
	Palette  bool      `json:"palette"`
	Hidden   bool      `json:"hidden,omitempty"`
}

type author struct {
	Name string `json:"name"`
	URL  string `json:"url,omitempty"`
}

type license struct {
	Title string `json:"title"`
	SPDX  string `json:"spdx,omitempty"`
	URL   string `json:"url,omitempty"`
}

func infoOf(p *catalog.Pack, total int) json.RawMessage {
	b, err := json.Marshal(info{
		Name: p.Name, Total: total, Version: p.Version, Author: author{p.Author, p.AuthorURL},
		License: license{p.LicenseTitle, p.License, p.LicenseURL}, Samples: p.Samples, Height: p.Height,
		Category: p.Category, Palette: p.Palette, Hidden: p.Hidden,
	})
	if err != nil { // heights come from JSON
		panic(err)
	}
	return b
}

// corrected returns the description of a set with another total, and without withdrawn samples.
func corrected(raw json.RawMessage, p *catalog.Pack, total int) json.RawMessage {
	members := map[string]json.RawMessage{}
	if json.Unmarshal(raw, &members) != nil {
		return infoOf(p, total)
	}
	members["total"], _ = json.Marshal(total)
	var samples []string
	if json.Unmarshal(members["samples"], &samples) == nil && samples != nil {
		samples = slices.DeleteFunc(samples, p.Withdrew)
		members["samples"], _ = json.Marshal(samples)
	}
	b, err := json.Marshal(members)
	if err != nil { // its members were decoded before
		return infoOf(p, total)
	}
	return b
}

// palette reports whether a set has colours of its own.
func palette(p *catalog.Pack, s release.Set) bool {
	var in struct{ Palette *bool }
	if json.Unmarshal(s.Info, &in) != nil || in.Palette == nil {
		return p.Palette
	}
	return *in.Palette
}

// title returns the name of a set, as its source has it.
func title(p *catalog.Pack, s release.Set) string {
	var in struct{ Name string }
	if json.Unmarshal(s.Info, &in) != nil || in.Name == "" {
		return p.Name
	}
	return in.Name
}

// setKeys returns the surrogate keys of answers about a set as a whole.
func setKeys(prefix string) string { return "set/" + prefix + " pack/" + prefix }

// visible reports whether a set may be in lists.
func (l *Library) visible(prefix string) bool {
	p, ok := l.release.Pack(prefix)
	return ok && !p.Hidden && icon.ValidKey(prefix)
}
