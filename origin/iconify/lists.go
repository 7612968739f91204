package iconify

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/icon/iconify"
	"github.com/iconedge/iconedge/origin/catalog"
	"github.com/iconedge/iconedge/origin/release"
)

// maxLists is the number of sets in one answer of the old lists, as in @iconify/api.
const maxLists = 11

// An ordered is a JSON object whose members keep their order.
type ordered []pair

type pair struct {
	key   string
	value any
}

// MarshalJSON implements json.Marshaler.
func (o ordered) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			b = append(b, ',')
		}
		value, err := json.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		b = append(append(appendJSON(b, m.key), ':'), value...)
	}
	return append(b, '}'), nil
}

// filtered returns the prefixes that prefix or prefixes select, in the order of the sources; all of
// them, if the request has neither.
func (l *Library) filtered(p icon.Params) []string {
	if exact := p["prefix"]; exact != "" {
		return only(l.order, func(prefix string) bool { return prefix == exact })
	}
	if p["prefixes"] == "" {
		return l.order
	}
	filters := strings.Split(p["prefixes"], ",")
	return only(l.order, func(prefix string) bool {
		return slices.ContainsFunc(filters, func(f string) bool {
			return prefix == f ||
				strings.HasSuffix(f, "-") && strings.HasPrefix(prefix, f)
		})
	})
}

func only(list []string, keep func(string) bool) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return !keep(s) })
}

// collections answers /collections.
func (l *Library) collections(p icon.Params) ordered {
	all := ordered{}
	for _, prefix := range only(l.filtered(p), l.visible) {
		all = append(all, pair{prefix, l.sets[prefix].Info})
	}
	return all
}

// modified answers /last-modified.
func (l *Library) modified(p icon.Params) any {
	times := ordered{}
	for _, prefix := range l.filtered(p) {
		times = append(times, pair{prefix, l.sets[prefix].LastModified})
	}
	return map[string]any{"lastModified": times}
}

// A names is the names of a set, as clients show them.
type names struct {
	pack          catalog.Contents
	total         int
	uncategorized []string
	categories    map[string][]string
	hidden        []string
	icons         []string          // visible, without aliases that are only another name
	aliases       map[string]string // aliases that are only another name
}

// namesOf reads all names of a pack, sorted.
func namesOf(ctx context.Context, p *catalog.Pack) (*names, error) {
	icons, err := p.Open(ctx)
	if err != nil {
		return nil, err
	}
	n := &names{pack: icons, categories: map[string][]string{}, aliases: map[string]string{}}
	concealed := map[string]bool{}
	for m := range icons.Icons {
		if m.Hidden && m.AliasOf == "" {
			concealed[m.Name] = true
		}
	}
	for m := range icons.Icons {
		if m.AliasOf != "" && m.Turn == nil && m.Hidden == concealed[m.AliasOf] {
			n.aliases[m.Name] = m.AliasOf
			continue
		}
		if m.Hidden {
			n.hidden = append(n.hidden, m.Name)
			continue
		}
		n.total++
		n.icons = append(n.icons, m.Name)
		for _, c := range m.Categories {
			n.categories[c] = append(n.categories[c], m.Name)
		}
		if len(m.Categories) == 0 {
			n.uncategorized = append(n.uncategorized, m.Name)
		}
	}
	return n, nil
}

// A listing answers /collection, and the old lists.
type listing struct {
	Prefix        string              `json:"prefix"`
	Total         int                 `json:"total"`
	Title         string              `json:"title,omitempty"`
	Info          json.RawMessage     `json:"info,omitempty"`
	Uncategorized []string            `json:"uncategorized,omitempty"`
	Categories    map[string][]string `json:"categories,omitempty"`
	Icons         []string            `json:"icons,omitempty"`
	Hidden        []string            `json:"hidden,omitempty"`
	Aliases       map[string]string   `json:"aliases,omitempty"`
	Chars         map[string]string   `json:"chars,omitempty"`
	Prefixes      json.RawMessage     `json:"prefixes,omitempty"`
	Suffixes      json.RawMessage     `json:"suffixes,omitempty"`
}

// listing returns what all lists of a set have in common.
func (l *Library) listing(p *catalog.Pack, s release.Set, n *names, params icon.Params) listing {
	list := listing{Prefix: p.Key, Total: n.total, Title: title(p, s)}
	if params["info"] != "" {
		list.Info = s.Info
	}
	if params["chars"] != "" {
		list.Chars = characters(s, n)
	}
	return list
}

// characters maps the font characters of a set to its icons. A character that is also a name is
// left out, because the name counts.
func characters(s release.Set, n *names) map[string]string {
	known := map[string]bool{}
	for name := range n.pack.Names {
		known[name] = true
	}
	to := map[string]string{}
	for char, name := range s.Chars {
		if known[char] || !known[name] {
			continue
		}
		if parent, renamed := n.aliases[name]; renamed {
			name = parent
		}
		to[char] = name
	}
	return to
}

// collection answers /collection.
func (l *Library) collection(ctx context.Context, params icon.Params) (any, error) {
	p, s, err := l.set(params["prefix"])
	if err != nil {
		return nil, err
	}
	n, err := namesOf(ctx, p)
	if err != nil {
		return nil, err
	}
	list := l.listing(p, s, n, params)
	list.Uncategorized, list.Categories, list.Hidden, list.Aliases = n.uncategorized, n.categories, n.hidden, n.aliases
	list.Prefixes, list.Suffixes = s.Prefixes, s.Suffixes
	return list, nil
}

// oldLists answers /list-icons and /list-icons-categorized.
func (l *Library) oldLists(ctx context.Context, r iconify.Request) (any, error) {
	if prefix := r.Fields["prefix"]; prefix != "" {
		p, s, err := l.set(prefix)
		if err != nil {
			return nil, err
		}
		return l.oldList(ctx, p, s, r)
	}
	if r.Fields["prefixes"] == "" {
		return nil, badParameter("prefix", "prefix or prefixes is missing: the icon sets to list")
	}
	prefixes := l.filtered(r.Fields)
	if len(prefixes) == 0 {
		return nil, notFound("there is no icon set of these prefixes; /collections lists them")
	}
	all := ordered{}
	for _, prefix := range prefixes[:min(len(prefixes), maxLists)] {
		p, s, err := l.set(prefix)
		if err != nil {
			continue
		}
		list, err := l.oldList(ctx, p, s, r)
		if err != nil {
			return nil, err
		}
		all = append(all, pair{prefix, list})
	}
	return all, nil
}

func (l *Library) oldList(ctx context.Context, p *catalog.Pack, s release.Set, r iconify.Request) (any, error) {
	n, err := namesOf(ctx, p)
	if err != nil {
		return nil, err
	}
	list := l.listing(p, s, n, r.Fields)
	if r.Fields["aliases"] != "" {
		list.Aliases = n.aliases
	}
	if r.Kind == iconify.ListCategorized {
		list.Categories, list.Uncategorized = n.categories, n.uncategorized
		return list, nil
	}
	list.Icons = n.icons
	return struct {
		listing
		Icons []string `json:"icons"` // even if there are none
	}{list, append([]string{}, n.icons...)}, nil
}
