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

// Names lists the packs and icons of a release, including aliases and hidden ones. An icon that is
// not in the list does not exist. The names stay in their wire form: each omits the prefix that it
// shares with the previous name, except that every sixteenth is whole, which allows binary search.
type Names struct {
	packs []packNames // sorted by key
	count int
}

// PackNames holds the names of one pack in sorted order, each with whether it is hidden.
type PackNames struct {
	Key    string
	Hidden bool
	Names  iter.Seq2[string, bool]
	// Spellings are other spellings of names, which are no valid names themselves, sorted.
	Spellings []string
}

type packNames struct {
	key    string
	hidden bool
	names  []byte
	starts []uint32 // offset of every sixteenth name
	count  int

	spellings []string // sorted
}

// NamesVersion identifies the bytes that AppendNames writes for the same packs. It changes with
// them.
const NamesVersion = "names-2"

const (
	namesForm   = "names/1\n"
	spelledForm = "names/2\n" // with spellings, which an earlier edge can't read
	whole       = 16          // distance between whole names
	hiddenName  = 1 << 7      // flag in the byte with the length of the shared prefix
	maxShared   = 1<<7 - 1
)

// NoIcon and NoPack are the details of 404 answers for well-formed names that do not exist.
const (
	NoIcon = "the pack has no icon of that name; /api/v1/search finds names by words"
	NoPack = "there is no pack of that key; /api/v1/packs lists them"
)

var errNames = errors.New("not a list of names")

// AppendNames appends the wire form of these packs, which must be sorted by key. A pack consists of
// the length of its key, the key, 1 if it is hidden (otherwise 0), and the number and total size of
// its names, 32 bits each. A name consists of the length of the prefix that it shares with the
// previous one (with the highest bit set if the name is hidden), the length of the rest, and the
// rest. If a pack has spellings, each pack ends with the number and total size of its spellings, 32
// bits each, and of each spelling the length and the bytes.
func AppendNames(b []byte, packs iter.Seq[PackNames]) []byte {
	all := slices.Collect(packs)
	spelled := slices.ContainsFunc(all, func(p PackNames) bool { return len(p.Spellings) > 0 })
	if spelled {
		b = append(b, spelledForm...)
	} else {
		b = append(b, namesForm...)
	}
	for _, p := range all {
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
		if spelled {
			b = appendSpellings(b, p.Spellings)
		}
	}
	return b
}

func appendSpellings(b []byte, spellings []string) []byte {
	sizes := len(b)
	b = binary.BigEndian.AppendUint32(b, uint32(len(spellings)))
	b = append(b, make([]byte, 4)...)
	for _, s := range spellings {
		b = append(append(b, byte(len(s))), s...)
	}
	binary.BigEndian.PutUint32(b[sizes+4:], uint32(len(b)-sizes-8))
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

// ParseNames reads the output of AppendNames. The result keeps b.
func ParseNames(b []byte) (*Names, error) {
	rest, ok := bytes.CutPrefix(b, []byte(namesForm))
	spelled := false
	if !ok {
		rest, spelled = bytes.CutPrefix(b, []byte(spelledForm))
	}
	if !ok && !spelled {
		return nil, errNames
	}
	n := &Names{}
	for last := ""; len(rest) > 0; {
		p, after, err := parsePack(rest)
		if err == nil && spelled {
			after, err = p.parseSpellings(after)
		}
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
		return p, nil, fmt.Errorf("%w: a pack's key is invalid", errNames)
	}
	p = packNames{key: string(b[1:at]), hidden: b[at] == 1, count: int(binary.BigEndian.Uint32(b[at+1:]))}
	size := int(binary.BigEndian.Uint32(b[at+5:]))
	if b = b[at+9:]; size > len(b) {
		return p, nil, fmt.Errorf("%w: it is truncated", errNames)
	}
	p.names = b[:size]
	return p, b[size:], p.index()
}

// parseSpellings reads the spellings of a pack, and returns the rest.
func (p *packNames) parseSpellings(b []byte) (rest []byte, err error) {
	if len(b) < 8 {
		return nil, fmt.Errorf("%w: it is truncated", errNames)
	}
	count, size := int(binary.BigEndian.Uint32(b)), int(binary.BigEndian.Uint32(b[4:]))
	if b = b[8:]; size > len(b) {
		return nil, fmt.Errorf("%w: it is truncated", errNames)
	}
	b, rest = b[:size], b[size:]
	for last := ""; len(b) > 0; {
		n := 1 + int(b[0])
		if n > len(b) {
			return nil, fmt.Errorf("%w: a spelling is truncated", errNames)
		}
		s := string(b[1:n])
		if s <= last {
			return nil, fmt.Errorf("%w: its spellings are not sorted", errNames)
		}
		if ValidSpelling(s) { // earlier origins list names that no address can have
			p.spellings = append(p.spellings, s)
		}
		last, b = s, b[n:]
		count--
	}
	if count != 0 {
		return nil, fmt.Errorf("%w: it announces %d spellings more than it has", errNames, count)
	}
	return rest, nil
}

// index reads all names once to build starts. It checks that they are valid and sorted, and that
// their number is the announced one.
func (p *packNames) index() error {
	var c, last cursor
	count := 0
	for ; c.at < len(p.names); count++ {
		if count%whole == 0 {
			p.starts = append(p.starts, uint32(c.at))
		}
		if last = c; !c.fits(p.names, count%whole == 0) {
			return fmt.Errorf("%w: a name is truncated", errNames)
		}
		if c.next(p.names); !ValidKey(string(c.name())) || bytes.Compare(c.name(), last.name()) <= 0 {
			return fmt.Errorf("%w: its names are not sorted", errNames)
		}
	}
	if count != p.count {
		return fmt.Errorf("%w: it announces %d names and has %d", errNames, p.count, count)
	}
	return nil
}

// A cursor decodes one name after another.
type cursor struct {
	at     int // offset of the next name
	buf    [MaxKey]byte
	length int
	hidden bool
}

func (c *cursor) name() []byte { return c.buf[:c.length] }

// next decodes the next name. The caller has checked it with fits.
func (c *cursor) next(names []byte) {
	shared, more := int(names[c.at]&maxShared), int(names[c.at+1])
	c.hidden = names[c.at]&hiddenName != 0
	copy(c.buf[shared:], names[c.at+2:c.at+2+more])
	c.at, c.length = c.at+2+more, shared+more
}

// fits reports whether a whole name follows.
func (c *cursor) fits(names []byte, first bool) bool {
	if c.at+2 > len(names) {
		return false
	}
	shared, more := int(names[c.at]&maxShared), int(names[c.at+1])
	return c.at+2+more <= len(names) && shared+more <= MaxKey && (shared == 0 || !first && shared <= c.length)
}

// search finds the index of a name, or the index where it would be inserted.
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

// Near implements NameList.
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

// Lookup implements NameList.
func (p *packNames) Lookup(name string) (there, visible bool) {
	_, found, hidden := p.search(name)
	return found, found && !hidden
}

// Len returns the number of packs and icons.
func (n *Names) Len() int { return n.count }

// Has reports whether a pack exists, and whether it has an icon of that name.
func (n *Names) Has(pack, name string) (hasPack, hasIcon bool) {
	p := n.pack(pack)
	if p == nil {
		return false, false
	}
	_, found, _ := p.search(name)
	return true, found
}

// Shows reports whether there is an icon that lists show.
func (n *Names) Shows(ref Ref) bool {
	p := n.pack(ref.Pack)
	if p == nil || p.hidden {
		return false
	}
	_, visible := p.Lookup(ref.Name)
	return visible
}

// HasSpelling reports whether a pack has an icon whose name is spelled so at its author's.
func (n *Names) HasSpelling(pack, spelling string) bool {
	p := n.pack(pack)
	if p == nil {
		return false
	}
	_, found := slices.BinarySearch(p.spellings, spelling)
	return found
}

func (n *Names) pack(key string) *packNames {
	i, found := slices.BinarySearchFunc(n.packs, key, func(p packNames, key string) int { return cmp.Compare(p.key, key) })
	if !found {
		return nil
	}
	return &n.packs[i]
}

// Near returns names in a pack that are similar to a name that the pack lacks.
func (n *Names) Near(pack, name string) []string {
	p := n.pack(pack)
	if p == nil {
		return nil
	}
	return Near(p, name)
}

// Meant returns the names in a pack that a client may mean by another spelling of name.
func (n *Names) Meant(pack, name string) []string {
	p := n.pack(pack)
	if p == nil {
		return nil
	}
	return Meant(p, name)
}

// NearPacks returns keys of visible packs that are similar to a key that does not exist.
func (n *Names) NearPacks(key string) []string {
	return NearKeys(func(yield func(string) bool) {
		for i := range n.packs {
			if p := &n.packs[i]; !p.hidden && !yield(p.key) {
				return
			}
		}
	}, key)
}

// Visible calls yield with the name of every visible icon of every visible pack.
func (n *Names) Visible(yield func(name string) bool) {
	for _, p := range n.packs {
		if p.hidden {
			continue
		}
		var c cursor
		for c.at < len(p.names) {
			c.next(p.names)
			if !c.hidden && !yield(string(c.name())) {
				return
			}
		}
	}
}
