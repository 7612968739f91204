package release

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/iconedge/iconedge/icon"
)

var (
	t0       = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	someHash = strings.Repeat("0123456789abcdef", 4)
)

func sample() *Manifest {
	m := &Manifest{
		Seq: 7, Created: t0, Base: strings.Repeat("a", 32),
		Packs: []PackEntry{
			{Pack: icon.Pack{Key: "a", Name: "A & <b>", Count: 2, Height: []float64{12.5, 24}},
				Archive: Blob{someHash, 10}, Source: "s", Icons: 2, Seqs: []int{3, 7}},
			{Pack: icon.Pack{Key: "b"}, Hidden: true, Archive: Blob{someHash, 11}, LeftOut: []Omission{{"x", "why"}}},
		},
		Index:   Blob{someHash, 12},
		History: []Epoch{{3, strings.Repeat("3", 32), t0.Add(-time.Hour)}, {7, strings.Repeat("7", 32), t0}},
	}
	m.ID = m.ComputeID()
	return m
}

func TestManifest(t *testing.T) {
	m := sample()
	got, err := ParseManifest(m.Encode())
	if err != nil || !reflect.DeepEqual(got, m) {
		t.Errorf("ParseManifest(Encode()) = %+v, %v, want %+v", got, err, m)
	}
	if p, ok := got.Pack("b"); !ok || p.Pack.Key != "b" {
		t.Errorf("Pack(b) = %v, %v", p, ok)
	}
	if p, ok := got.Pack("c"); ok {
		t.Errorf("Pack(c) = %v", p)
	}
}

func TestChanged(t *testing.T) {
	m := sample()
	for _, tt := range []struct {
		seq  int
		want Epoch
	}{
		{3, m.History[0]},
		{7, m.History[1]},
		{4, Epoch{7, m.ID, t0}}, // unknown, so it may be as new as the release
	} {
		if got := m.Changed(tt.seq); got != tt.want {
			t.Errorf("Changed(%d) = %v, want %v", tt.seq, got, tt.want)
		}
	}
}

func TestComputeID(t *testing.T) {
	id := sample().ID
	for _, tt := range []struct {
		what   string
		change func(*Manifest)
		same   bool
	}{
		{"the time", func(m *Manifest) { m.Created = t0.Add(time.Hour) }, true},
		{"the sequence number", func(m *Manifest) { m.Seq = 8 }, true},
		{"the history", func(m *Manifest) { m.Base, m.History = "", nil }, true},
		{"the sources", func(m *Manifest) { m.Packs[0].Source, m.Packs[1].LeftOut = "other", nil }, true},
		{"an archive", func(m *Manifest) { m.Packs[0].Archive.Size = 11 }, false},
		{"a licence", func(m *Manifest) { m.Packs[0].License = "MIT" }, false},
		{"whether a pack is hidden", func(m *Manifest) { m.Packs[1].Hidden = false }, false},
		{"the index", func(m *Manifest) { m.Index.Size = 0 }, false},
		{"the number of packs", func(m *Manifest) { m.Packs = m.Packs[:1] }, false},
	} {
		m := sample()
		tt.change(m)
		if same := m.ComputeID() == id; same != tt.same {
			t.Errorf("another value for %s: same id is %v, want %v", tt.what, same, tt.same)
		}
	}
}

func TestDamagedManifest(t *testing.T) {
	renamed := func(change func(*Manifest)) []byte {
		m := sample()
		change(m)
		m.ID = m.ComputeID()
		return m.Encode()
	}
	for _, tt := range []struct {
		why  string
		data []byte
	}{
		{"nothing", nil},
		{"a truncated manifest", sample().Encode()[:300]},
		{"another pack name", bytes.Replace(sample().Encode(), []byte(`"count": 2`), []byte(`"count": 3`), 1)},
		{"packs out of order", renamed(func(m *Manifest) { m.Packs[0], m.Packs[1] = m.Packs[1], m.Packs[0] })},
		{"a pack twice", renamed(func(m *Manifest) { m.Packs[1].Pack.Key = "a" })},
		{"an invalid pack key", renamed(func(m *Manifest) { m.Packs[0].Pack.Key = "../a" })},
		{"an invalid hash", renamed(func(m *Manifest) { m.Packs[0].Archive.Hash = "../../etc/passwd" })},
		{"no index", renamed(func(m *Manifest) { m.Index = Blob{} })},
		{"history out of order", renamed(func(m *Manifest) { m.History[0].Seq = 9 })},
	} {
		if _, err := ParseManifest(tt.data); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v, want ErrDamaged", tt.why, err)
		}
	}
}

func TestCurrent(t *testing.T) {
	c := Current{Release: strings.Repeat("0f", 16), Published: t0}
	if got, err := ParseCurrent(c.Encode()); err != nil || got != c {
		t.Errorf("ParseCurrent(Encode()) = %v, %v, want %v", got, err, c)
	}
	for _, s := range []string{"", "{}", `{"release":"../x"}`, `{"release":"` + strings.Repeat("0F", 16) + `"}`, "[]"} {
		if _, err := ParseCurrent([]byte(s)); !errors.Is(err, ErrDamaged) {
			t.Errorf("ParseCurrent(%q): %v, want ErrDamaged", s, err)
		}
	}
}

func TestKeys(t *testing.T) {
	id := strings.Repeat("0f", 16)
	if got, ok := ManifestID(ManifestKey(id)); !ok || got != id {
		t.Errorf("ManifestID(ManifestKey(%q)) = %q, %v", id, got, ok)
	}
	for _, key := range []string{"", "current", "releases/x/release.json", "releases/" + id, "releases/" + id + "/other.json"} {
		if got, ok := ManifestID(key); ok {
			t.Errorf("ManifestID(%q) = %q", key, got)
		}
	}
}

func TestSame(t *testing.T) {
	m := Meta{Name: "a", Width: 1, Categories: []string{"x"}, Seq: 1}
	for _, tt := range []struct {
		what  string
		other Meta
		want  bool
	}{
		{"another sequence number", Meta{Name: "a", Width: 1, Categories: []string{"x"}, Seq: 2}, true},
		{"empty tags instead of nil", Meta{Name: "a", Width: 1, Categories: []string{"x"}, Tags: []string{}}, true},
		{"another category", Meta{Name: "a", Width: 1, Categories: []string{"y"}, Seq: 1}, false},
		{"another width", Meta{Name: "a", Width: 2, Categories: []string{"x"}, Seq: 1}, false},
	} {
		if got := m.Same(tt.other); got != tt.want {
			t.Errorf("%s: Same is %v, want %v", tt.what, got, tt.want)
		}
	}
}

// FuzzParseManifest checks that an accepted manifest, encoded again, is accepted with the same
// meaning.
func FuzzParseManifest(f *testing.F) {
	f.Add(sample().Encode())
	f.Add([]byte("{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := ParseManifest(data)
		if err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Fatalf("%v is not ErrDamaged", err)
			}
			return
		}
		again, err := ParseManifest(m.Encode())
		if err != nil || !bytes.Equal(again.Encode(), m.Encode()) {
			t.Fatalf("ParseManifest(Encode()): %v", err)
		}
	})
}
