package catalog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"slices"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/origin/withdrawal"
)

// ErrWithdrawn means that the operator has withdrawn the icon or the pack.
var ErrWithdrawn = errors.New("withdrawn by the operator")

// storeWithdrawn reads the set of withdrawn icons from the store, with the content of its object.
func (m *mirror) storeWithdrawn(ctx context.Context) (*withdrawal.Set, []byte, error) {
	body, err := withdrawal.Read(ctx, m.store)
	if err != nil {
		return nil, nil, fmt.Errorf("reading %s: %w", withdrawal.Key, err)
	}
	return parseWithdrawn(body)
}

// ownWithdrawn returns the set that setWithdrawn recorded in the mirror.
func (m *mirror) ownWithdrawn() (*withdrawal.Set, []byte, error) {
	body, err := os.ReadFile(m.path(withdrawal.Key))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	return parseWithdrawn(body)
}

func parseWithdrawn(body []byte) (*withdrawal.Set, []byte, error) {
	if body == nil {
		return nil, nil, nil
	}
	_, set, err := withdrawal.Parse(body)
	if err != nil {
		return nil, nil, fmt.Errorf("reading %s: %w", withdrawal.Key, err)
	}
	return set, body, nil
}

// setWithdrawn records the list in the mirror, so that withdrawn icons stay withdrawn if the origin
// starts while the store is unreachable.
func (m *mirror) setWithdrawn(body []byte) error {
	if body == nil {
		err := os.Remove(m.path(withdrawal.Key))
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return err
	}
	return m.saveBytes(withdrawal.Key, body)
}

// State identifies what clients can see: the id of the release, and of the set of withdrawn icons
// if there are any. Edges compare it to learn that something has changed.
func (r *Release) State() string {
	if sum := r.withdrawn.Sum(); sum != "" {
		return r.ID() + "-" + sum
	}
	return r.ID()
}

// Withdrawn returns the withdrawn packs, and the withdrawn icons of the other packs with their
// aliases: PACK or PACK/NAME, sorted. The release, which may lack some of them, must be the current
// one.
func (r *Release) Withdrawn() []string {
	all := r.withdrawn.Targets()
	for _, p := range r.order {
		for name := range p.withdrawn {
			all = append(all, icon.Ref{Pack: p.Pack.Key, Name: name}.String())
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// IsWithdrawn reports whether a whole pack is withdrawn.
func (r *Release) IsWithdrawn(pack string) bool { return r.withdrawn.Pack(pack) }

// withdraw leaves the withdrawn icons of an open pack out: those that are named, and their aliases,
// which are the same SVG. It corrects what the list of packs says.
func (p *Pack) withdraw(a *archive, names []string) error {
	gone := map[string]bool{}
	for _, name := range names {
		gone[name] = true
	}
	for more := true; more; { // an alias may have aliases
		more = false
		for e := range a.All() {
			m, err := a.Meta(e)
			if err != nil {
				return err
			}
			if m.AliasOf != "" && gone[m.AliasOf] && !gone[m.Name] {
				gone[m.Name], more = true, true
			}
		}
	}
	described := *p.Pack
	described.Samples = slices.DeleteFunc(slices.Clone(described.Samples), func(name string) bool { return gone[name] })
	described.Categories = slices.Clone(described.Categories)
	for name := range gone {
		e, ok := a.Find(name)
		if !ok {
			continue // of another release
		}
		m, err := a.Meta(e)
		if err != nil {
			return err
		}
		if m.Hidden || m.AliasOf != "" {
			continue
		}
		described.Count--
		for i := range described.Categories {
			if c := &described.Categories[i]; slices.Contains(m.Categories, c.Name) {
				c.Count--
			}
		}
	}
	described.Categories = slices.DeleteFunc(described.Categories, func(c icon.Category) bool { return c.Count == 0 })
	p.Pack, p.withdrawn = &described, gone
	return nil
}

// A shownNames is the icon.NameList of a pack without its withdrawn icons.
type shownNames struct {
	*archive
	withdrawn map[string]bool
}

func (s shownNames) Near(name string, n int) iter.Seq[string] {
	return func(yield func(string) bool) {
		for near := range s.archive.Near(name, n) {
			if !s.withdrawn[near] && !yield(near) {
				return
			}
		}
	}
}

func (s shownNames) Lookup(name string) (there, visible bool) {
	if s.withdrawn[name] {
		return false, false
	}
	return s.archive.Lookup(name)
}

// forgetPruned closes the earlier releases that the store no longer has.
func (c *Catalog) forgetPruned(ctx context.Context) {
	c.mu.Lock()
	earlier := slices.Clone(c.earlier)
	c.mu.Unlock()
	for _, r := range earlier {
		if _, err := c.mirror.manifest(ctx, r.ID()); isMissing(err) {
			c.closeEarlier(func(other *Release) bool { return other.ID() == r.ID() })
		}
	}
}

// closeEarlier closes the open earlier releases that match. Requests that use one end first.
func (c *Catalog) closeEarlier(match func(*Release) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.earlier = slices.DeleteFunc(c.earlier, func(r *Release) bool {
		if match(r) {
			r.Done()
			return true
		}
		return false
	})
}
