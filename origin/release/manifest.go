package release

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/iconedge/iconedge/icon"
)

// An Epoch is a release in which some icon last changed.
type Epoch struct {
	Seq     int       `json:"seq"`
	ID      string    `json:"id"`
	Created time.Time `json:"created"`
}

// An Omission is an icon that publish left out, with the reason in words.
type Omission struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// A PackEntry is one pack in a manifest.
type PackEntry struct {
	icon.Pack
	Hidden  bool `json:"hidden,omitempty"` // excluded from lists and search
	Archive Blob `json:"archive"`
	// Docs names the part of the pack in the search index (search.EncodeDocs), for the next
	// publication. It is zero for a hidden pack, and in a release of an earlier program.
	Docs    Blob       `json:"docs,omitzero"`
	Source  string     `json:"source"` // digest of the pack's source and of the builder's version
	LeftOut []Omission `json:"left_out,omitempty"`
	// Icons counts the entries of the archive that are icons, including hidden ones.
	Icons   int    `json:"icons"`
	Aliases int    `json:"aliases"` // entries that are aliases, hidden ones included
	Seqs    []int  `json:"seqs"`    // every Seq of an icon in it, ascending
	Colors  Colors `json:"colors,omitzero"`
}

// Colors counts the icons of an archive, without aliases, by their colours. It is zero in a release
// of an earlier program.
type Colors struct {
	Text      int `json:"text,omitempty"`      // in the colour of the text
	Recolored int `json:"recolored,omitempty"` // of them: drawn in black
	Own       int `json:"own,omitempty"`       // in one colour of their own
	Many      int `json:"many,omitempty"`      // in several
	Cleaned   int `json:"cleaned,omitempty"`   // the cleaner has left out something that draws
}

// Add adds the counts of another archive.
func (c *Colors) Add(o Colors) {
	c.Text += o.Text
	c.Recolored += o.Recolored
	c.Own += o.Own
	c.Many += o.Many
	c.Cleaned += o.Cleaned
}

// A Manifest describes the content of a release.
type Manifest struct {
	ID      string    `json:"id"`
	Seq     int       `json:"seq"` // number of the publication, from 1
	Created time.Time `json:"created"`
	// Base is the release that was current when this one was made.
	Base  string      `json:"base,omitempty"`
	Packs []PackEntry `json:"packs"` // sorted by key
	Index Blob        `json:"index"`
	// IndexMade is the form of the index, and a digest of the tags and the lexicon that it was made
	// of; "" in a release of an earlier program.
	IndexMade string `json:"index_made,omitempty"`
	// Sets names the sets of the packs; zero in a release of an earlier program.
	Sets    Blob    `json:"sets,omitzero"`
	History []Epoch `json:"history"` // ascending by Seq; at least those that an icon refers to
}

// ComputeID hashes the content of the release, its packs and index, so that the same library has
// the same id wherever it is published first. The time, the base and the sources of the release do
// not count.
func (m *Manifest) ComputeID() string {
	packs := slices.Clone(m.Packs)
	for i := range packs {
		packs[i].Source, packs[i].LeftOut = "", nil
		// Earlier programs don't know these.
		packs[i].Colors, packs[i].Palette, packs[i].Docs = Colors{}, false, Blob{}
	}
	b, err := json.Marshal(struct {
		Packs []PackEntry
		Index Blob
		Sets  Blob `json:",omitzero"`
	}{packs, m.Index, m.Sets})
	if err != nil { // strings and numbers only, also from ParseManifest
		panic(err)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}

// Encode returns the form that ParseManifest reads.
func (m *Manifest) Encode() []byte { return encode(m) }

// ParseManifest reads a manifest and verifies its id. The error is ErrDamaged.
func ParseManifest(data []byte) (*Manifest, error) {
	m := new(Manifest)
	if err := json.Unmarshal(data, m); err != nil {
		return nil, fmt.Errorf("%w: %v", ErrDamaged, err)
	}
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return m, nil
}

func (m *Manifest) check() error {
	if m.ID != m.ComputeID() {
		return fmt.Errorf("its id does not match its content")
	}
	if !m.Index.valid() {
		return fmt.Errorf("its index has no hash")
	}
	if m.Sets != (Blob{}) && !m.Sets.valid() {
		return fmt.Errorf("its sets have no hash")
	}
	for i, p := range m.Packs {
		switch {
		case !icon.ValidKey(p.Pack.Key):
			return fmt.Errorf("a pack has no valid key")
		case i > 0 && m.Packs[i-1].Pack.Key >= p.Pack.Key:
			return fmt.Errorf("its packs are not sorted")
		case !p.Archive.valid():
			return fmt.Errorf("the archive of %s has no hash", p.Pack.Key)
		case p.Docs != (Blob{}) && !p.Docs.valid():
			return fmt.Errorf("the docs of %s have no hash", p.Pack.Key)
		}
	}
	if !slices.IsSortedFunc(m.History, func(a, b Epoch) int { return cmp.Compare(a.Seq, b.Seq) }) {
		return fmt.Errorf("its history is not sorted")
	}
	return nil
}

// Pack finds a pack by its key.
func (m *Manifest) Pack(key string) (*PackEntry, bool) {
	i, found := slices.BinarySearchFunc(m.Packs, key, func(p PackEntry, key string) int { return cmp.Compare(p.Pack.Key, key) })
	if !found {
		return nil, false
	}
	return &m.Packs[i], true
}

// Changed returns the release in which an icon with that Seq last changed, or this release if the
// history does not have that Seq.
func (m *Manifest) Changed(seq int) Epoch {
	i, found := slices.BinarySearchFunc(m.History, seq, func(e Epoch, seq int) int { return cmp.Compare(e.Seq, seq) })
	if !found {
		return Epoch{m.Seq, m.ID, m.Created}
	}
	return m.History[i]
}
