package icon

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sort"
)

// Names tells which packs and icons a release has, aliases and hidden ones included: what is not in it is not there. Names are kept as they
// cross the wire, each without the letters that it begins with like the one before it; every sixteenth is whole, so that one is
// found by halves.
type Names struct {
	packs []packNames // sorted by key
	count int
}

// PackNames are those of one pack, sorted, each with whether it is hidden.
type PackNames struct {
	Key    string
	Hidden bool
	Names  iter.Seq2[string, bool]
}

type packNames struct {
	key    string
	hidden bool
	names  []byte
	starts []uint32 // of every sixteenth name
	count  int
}

const (
	namesForm  = "names/1\n"
	whole      = 16     // names, from one that is whole to the next
	hiddenName = 1 << 7 // beside the number of letters that are those of the name before
	maxShared  = 1<<7 - 1
)

// What an answer says of a name or a pack that is well-formed, and not there.
const (
	NoIcon = "the pack has no icon of that name; /api/v1/search finds names by words"
	NoPack = "there is no pack of that key; /api/v1/packs lists them"
)

var errNames = errors.New("this is no list of names")

// AppendNames appends the list of these packs, sorted by key, in the form in which it crosses the wire: of each pack the length of its key, the key,
// 1 if it is hidden, how many names there are and how many bytes they take, 32 bits each; of each name the letters shared
// with the one before it, with the highest bit if it is hidden, the number of those that follow, and these.
func AppendNames(b []byte, packs iter.Seq[PackNames]) []byte {
	b = append(b, namesForm...)
	for p := range packs {
		b = append(append(b, byte(len(p.Key))), p.Key...)
		b = append(b, flag(p.Hidden, 1))
		sizes := len(b)
		b = append(b, make([]byte, 8)...)
		count, last := 0, ""
		for name, hidden := range p.Names {
			shared := 0
			if count%whole != 0 {
				shared = min(sharedBy(last, name), maxShared)
			}
			b = append(b, byte(shared)|flag(hidden, hiddenName), byte(len(name)-shared))
			b = append(b, name[shared:]...)
			count, last = count+1, name
		}
		binary.BigEndian.PutUint32(b[sizes:], uint32(count))
		binary.BigEndian.PutUint32(b[sizes+4:], uint32(len(b)-sizes-8))
	}
	return b
}

func flag(set bool, bit byte) byte {
	if set {
		return bit
	}
	return 0
}

func sharedBy(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// ParseNames reads what AppendNames wrote. The list keeps b.
func ParseNames(b []byte) (*Names, error) {
	rest, ok := bytes.CutPrefix(b, []byte(namesForm))
	if !ok {
		return nil, errNames
	}
	n := &Names{}
	for last := ""; len(rest) > 0; {
		p, after, err := parsePack(rest)
		if err != nil {
			return nil, err
		}
		if p.key <= last {
			return nil, fmt.Errorf("%w: its packs are not sorted", errNames)
		}
		n.packs, n.count = append(n.packs, p), n.count+1+p.count
		last, rest = p.key, after
	}
	return n, nil
}

// parsePack reads the names of one pack.
func parsePack(b []byte) (p packNames, rest []byte, err error) {
	at := 1 + int(b[0])
	if len(b) < at+9 || !ValidKey(string(b[1:at])) || b[at] > 1 {
		return p, nil, fmt.Errorf("%w: a pack's key is none", errNames)
	}
	p = packNames{key: string(b[1:at]), hidden: b[at] == 1, count: int(binary.BigEndian.Uint32(b[at+1:]))}
	size := int(binary.BigEndian.Uint32(b[at+5:]))
	if b = b[at+9:]; size > len(b) {
		return p, nil, fmt.Errorf("%w: it is cut", errNames)
	}
	p.names = b[:size]
	return p, b[size:], p.index()
}

// index goes through all names once: they are sorted, and as many as was said.
func (p *packNames) index() error {
	var c, last cursor
	count := 0
	for ; c.at < len(p.names); count++ {
		if count%whole == 0 {
			p.starts = append(p.starts, uint32(c.at))
		}
		if last = c; !c.fits(p.names, count%whole == 0) {
			return fmt.Errorf("%w: a name is cut", errNames)
		}
		if c.next(p.names); !ValidKey(string(c.name())) || bytes.Compare(c.name(), last.name()) <= 0 {
			return fmt.Errorf("%w: its names are not sorted", errNames)
		}
	}
	if count != p.count {
		return fmt.Errorf("%w: %d names were to come, %d did", errNames, p.count, count)
	}
	return nil
}

// A cursor goes from name to name.
type cursor struct {
	at     int // of the next one
	buf    [MaxKey]byte
	length int
	hidden bool
}

func (c *cursor) name() []byte { return c.buf[:c.length] }

// next reads the next name.
func (c *cursor) next(names []byte) {
	shared, more := int(names[c.at]&maxShared), int(names[c.at+1])
	c.hidden = names[c.at]&hiddenName != 0
	copy(c.buf[shared:], names[c.at+2:c.at+2+more])
	c.at, c.length = c.at+2+more, shared+more
}

// fits reports whether there is a name to be read.
func (c *cursor) fits(names []byte, first bool) bool {
	if c.at+2 > len(names) {
		return false
	}
	shared, more := int(names[c.at]&maxShared), int(names[c.at+1])
	return c.at+2+more <= len(names) && shared+more <= MaxKey && (shared == 0 || !first && shared <= c.length)
}

// search finds the place where a name is or would be.
func (p *packNames) search(name string) (i int, found, hidden bool) {
	block := sort.Search(len(p.starts), func(k int) bool {
		at := int(p.starts[k])
		return string(p.names[at+2:at+2+int(p.names[at+1])]) > name
	}) - 1
	if block < 0 {
		return 0, false, false
	}
	c := cursor{at: int(p.starts[block])}
	for i = block * whole; i < min((block+1)*whole, p.count); i++ {
		c.next(p.names)
		if order := cmp.Compare(string(c.name()), name); order >= 0 {
			return i, order == 0, c.hidden
		}
	}
	return i, false, false
}

func (p *packNames) name(i int) string {
	c := cursor{at: int(p.starts[i/whole])}
	for range i%whole + 1 {
		c.next(p.names)
	}
	return string(c.name())
}

// Near is that of a Shelf.
func (p *packNames) Near(name string, n int) iter.Seq[string] {
	return func(yield func(string) bool) {
		at, found, _ := p.search(name)
		for i := range Around(at, found, p.count, n) {
			if !yield(p.name(i)) {
				return
			}
		}
	}
}

// Shows is that of a Shelf.
func (p *packNames) Shows(name string) (there, visible bool) {
	_, found, hidden := p.search(name)
	return found, found && !hidden
}

// Len is how many packs and icons there are.
func (n *Names) Len() int { return n.count }

// Has reports whether a pack is there, and whether it has an icon of that name.
func (n *Names) Has(pack, name string) (hasPack, hasIcon bool) {
	p := n.pack(pack)
	if p == nil {
		return false, false
	}
	_, found, _ := p.search(name)
	return true, found
}

func (n *Names) pack(key string) *packNames {
	i, found := slices.BinarySearchFunc(n.packs, key, func(p packNames, key string) int { return cmp.Compare(p.key, key) })
	if !found {
		return nil
	}
	return &n.packs[i]
}

// Near gives names in a pack that are close to one that it has not.
func (n *Names) Near(pack, name string) []string {
	p := n.pack(pack)
	if p == nil {
		return nil
	}
	return Near(p, name)
}

// NearPacks gives keys of visible packs that are close to one that there is not.
func (n *Names) NearPacks(key string) []string {
	return NearKeys(func(yield func(string) bool) {
		for i := range n.packs {
			if p := &n.packs[i]; !p.hidden && !yield(p.key) {
				return
			}
		}
	}, key)
}
