package memory

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/cache/entrytest"
	"github.com/iconedge/iconedge/edge/cache/hashes"
)

// throughSlot encodes an entry into a slot and decodes it; it returns nil if the entry is too
// large.
func throughSlot(t *testing.T, k *Interned, seeds *hashes.Seeds, e *entry.Entry) *entry.Entry {
	t.Helper()
	e.SetHashes(seeds)
	e.ID = 7
	p := &Encoder{}
	if !p.Encode(e, maxSlot) {
		return nil
	}
	p.Intern(k)
	words := make([]uint64, p.slot.Size()/8+2) // one more, which must not change
	words[len(words)-1] = 42
	l := (*Slot)(unsafe.Pointer(&words[0]))
	p.WriteTo(l, e)
	got := l.Decode(k)
	if l.Key() != e.Key || l.Secondary() != e.Secondary || fmt.Sprint(l.Labels()) != fmt.Sprint(e.Labels) || words[len(words)-1] != 42 {
		t.Errorf("the slot has the keys %q %q and the labels %x", l.Key(), l.Secondary(), l.Labels())
	}
	if got.Freshness() != e.Freshness() || l.freshness(parseInterned(p.headerText(e))) != e.Freshness() {
		t.Errorf("the freshness of the slot is %+v, want %+v", got.Freshness(), e.Freshness())
	}
	clear(words) // the decoded entry must be a copy
	return got
}

// headerText returns the header text of an entry before it was interned.
func (p *Encoder) headerText(e *entry.Entry) []byte {
	other := &Encoder{}
	other.Encode(e, maxSlot)
	return other.interned.Out
}

// A decoded entry equals the encoded one.
func TestSlot(t *testing.T) {
	var k Interned
	k.Init(1 << 20)
	seeds := hashes.NewSeeds()
	far := entrytest.Own("/far", "body")
	far.Policy.Stored = time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC)
	foreign := entrytest.Full()
	foreign.Fields = append(foreign.Fields, entry.Field{Name: []byte("X-Own"), Value: []byte("Accept-Language")})
	soft := entrytest.Own("/soft", "body")
	soft.Expire(entrytest.T0.Add(time.Minute), 3)
	for name, tt := range map[string]struct {
		e    *entry.Entry
		fits bool
	}{
		"our own": {entrytest.WithCodings(entrytest.Own("/mdi/home.svg",
			strings.Repeat("<path fill='currentColor'/>", 30))), true},
		"a forwarded one":  {foreign, true},
		"marked stale":     {soft, true},
		"almost nothing":   {entrytest.New("", ""), true},
		"far in time":      {far, false},
		"a large one":      {entrytest.New("/large", strings.Repeat("x", maxSlot)), false},
		"just too large":   {entrytest.New("/large", strings.Repeat("x", maxSlot-slotStart-30)), false},
		"almost too large": {entrytest.New("/large", strings.Repeat("x", maxSlot-slotStart-200)), true},
	} {
		for range 3 { // first with header text of its own, then with an interned header
			got := throughSlot(t, &k, &seeds, tt.e)
			if (got != nil) != tt.fits || got != nil &&
				(!entrytest.Same(got, tt.e) || !entrytest.SameHead(got, tt.e) || got.Hits.Load() != tt.e.Hits.Load()) {
				t.Errorf("%s: %+v is decoded as %+v", name, tt.e, got)
			}
		}
	}
}

func FuzzSlot(f *testing.F) {
	var k Interned
	k.Init(1 << 30)
	seeds := hashes.NewSeeds()
	f.Add("/mdi/home.svg", "", "<svg/>", "Date: x\r\nSurrogate-Key: a b\r\n", "Surrogate-Key", "a b", `"tag"`, int64(1), true)
	f.Add("/page", "en", strings.Repeat("x", 500), "", "Set-Cookie", "a=\xff", ``, int64(-1), false)
	f.Fuzz(func(t *testing.T, key, secondary, body, own, name, value, tag string, n int64, head bool) {
		e := entrytest.New(key, body, value, tag)
		e.SetIdentity([]byte(body), tag)
		e.Secondary, e.Vary, e.Validator, e.Date = secondary, []string{name}, tag+value, []byte(value)
		e.Fields, e.FieldsWithBody = []entry.Field{{Name: []byte(name), Value: []byte(value)},
			{Name: []byte("Link"), Value: []byte(body)}}, []entry.Field{{Name: []byte(value), Value: []byte(name)}}
		e.Policy = cachepolicy.Entry{Stored: timeOf(n), Age: time.Duration(n), Lifetime: time.Duration(len(body)),
			NoCache: head, Heuristic: len(own)%2 == 0, SetsCookie: len(name)%2 == 0}
		e.LastModified, e.Status = timeOf(n), len(key)
		if head {
			e.Head = &entry.Head{Type: []byte(name), Always: []byte(value), Own: []byte(own), OwnBody: []byte(tag),
				Paint: int32(n)}
		}
		for c := entry.Gzip; c <= entry.Brotli && head; c++ {
			e.Variants[c] = &entry.Variant{Body: []byte(own)[:len(own)/2], ETag: entry.Suffixed(tag, c.String())}
		}
		if got := throughSlot(t, &k, &seeds, e); got != nil && (!entrytest.Same(got, e) || !entrytest.SameHead(got, e)) {
			t.Errorf("%+v is decoded as %+v", e, got)
		}
	})
}

// A slot in constant use is counted once in a while, and one that is used seldom each time.
func TestCountDue(t *testing.T) {
	var l Slot
	var counted []uint32
	for _, nth := range []uint32{5, 6, 14, 15, 16, 40, 1<<32 - 1, 0, 8, 9, 10} {
		if l.CountDue(nth, 10) {
			counted = append(counted, nth)
		}
	}
	if want := []uint32{5, 15, 40, 1<<32 - 1, 9}; !slices.Equal(counted, want) {
		t.Errorf("counted at %d, want %d", counted, want)
	}
	l = Slot{}
	for range 2 {
		if !l.CountDue(3, 0) {
			t.Error("not all uses are counted without a distance")
		}
	}
}

// SampleHit counts each of the first uses, and of many about as many as there were; it reports each
// power of two once.
func TestSampleHit(t *testing.T) {
	var l Slot
	const uses = 1 << 16
	powers := map[uint64]int{}
	for i := range uint64(uses) {
		n := l.SampleHit()
		if i < exactHits && n != i+1 {
			t.Fatalf("use %d is counted as number %d", i+1, n)
		}
		if n > 0 && n&(n-1) == 0 {
			powers[n]++
		}
	}
	if n := l.hits.Load(); n < uses/2 || n > uses*2 {
		t.Errorf("%d uses are counted as %d", uses, n)
	}
	for n := uint64(1); n <= uses/4; n *= 2 {
		if powers[n] != 1 {
			t.Errorf("%d uses are reported %d times", n, powers[n])
		}
	}
}
