package release

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unsafe"
)

const iconSVG = `<svg xmlns="http://www.w3.org/2000/svg" width="24" height="24" viewBox="0 0 24 24"><path d="M0 0h24v24z"/></svg>`

var metas = []Meta{
	{Name: "a", Width: 24, Height: 24, ViewBox: "0 0 24 24", Monochrome: true, Seq: 1},
	{Name: "a-b", Width: 24, Height: 24, ViewBox: "0 0 24 24", AliasOf: "a", Hidden: true, Seq: 3},
	{Name: "ab", Width: 12.5, Height: 24, ViewBox: "-1 0 12.5 24", Categories: []string{"Émoji & <co>"}, Tags: []string{"x", "y"}, Seq: 2},
	{Name: "c", Width: 24, Height: 24, ViewBox: "0 0 24 24", Monochrome: true, Seq: 1},
}

// write makes an archive of metas, each with a different SVG.
func write(t testing.TB, metas ...Meta) ([]byte, Blob) {
	t.Helper()
	var buf bytes.Buffer
	w := NewWriter(&buf)
	for _, m := range metas {
		if err := w.Add(m, []byte(m.Name+iconSVG)); err != nil {
			t.Fatal(err)
		}
	}
	blob, err := w.Close()
	if err != nil {
		t.Fatal(err)
	}
	return buf.Bytes(), blob
}

func openBytes(data []byte) (*Archive, error) {
	return OpenArchive(bytes.NewReader(data), int64(len(data)))
}

func TestArchive(t *testing.T) {
	data, blob := write(t, metas...)
	sum := sha256.Sum256(data)
	if want := (Blob{hex.EncodeToString(sum[:]), int64(len(data))}); blob != want {
		t.Errorf("Close() = %v, want %v", blob, want)
	}
	a, err := openBytes(data)
	if err != nil {
		t.Fatal(err)
	}
	if a.Len() != len(metas) {
		t.Fatalf("Len() = %d, want %d", a.Len(), len(metas))
	}
	i := 0
	for e := range a.All() {
		want := metas[i]
		i++
		m, err := a.Meta(e)
		if err != nil || !reflect.DeepEqual(m, want) || a.Name(e) != want.Name {
			t.Errorf("Meta(%s) = %+v, %v, want %+v", a.Name(e), m, err, want)
		}
		svg, err := a.Read(e)
		if err != nil || string(svg) != want.Name+iconSVG {
			t.Errorf("Read(%s) = %q, %v", want.Name, svg, err)
		}
		if found, ok := a.Find(want.Name); !ok || found != e {
			t.Errorf("Find(%q) = %v, %v, want %v", want.Name, found, ok, e)
		}
	}
	for _, name := range []string{"", "A", "a-", "a-a", "b", "d", "a.svg"} {
		if _, ok := a.Find(name); ok {
			t.Errorf("Find(%q) found an entry", name)
		}
	}
}

func TestMember(t *testing.T) {
	data, _ := write(t, metas...)
	a, err := openBytes(data)
	if err != nil {
		t.Fatal(err)
	}
	e, _ := a.Find("ab")
	m, err := a.Member(e)
	if err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(m))
	if err != nil {
		t.Fatal(err)
	}
	svg, err := io.ReadAll(r) // verifies checksum and size
	if want := "ab" + iconSVG; err != nil || string(svg) != want || m.Size() != len(want) {
		t.Errorf("the member has %q, %v, size %d", svg, err, m.Size())
	}
	if svg, err = m.Inflate(); err != nil || string(svg) != "ab"+iconSVG {
		t.Errorf("Inflate: %q, %v", svg, err)
	}
	if svg, err = io.ReadAll(flate.NewReader(bytes.NewReader(m.Deflated()))); err != nil || string(svg) != "ab"+iconSVG {
		t.Errorf("inflating Deflated gives %q, %v", svg, err)
	}
	m[len(m)-gzipTrailer]++
	if _, err := m.Inflate(); !errors.Is(err, ErrDamaged) {
		t.Errorf("with another checksum: %v, want ErrDamaged", err)
	}
}

func TestNear(t *testing.T) {
	data, _ := write(t, metas...)
	a, err := openBytes(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		n    int
		want string
	}{
		{"ab", 2, "c a-b"}, // a name is not near itself
		{"aa", 3, "ab a-b c"},
		{"0", 3, "a a-b ab"},
		{"z", 2, "c ab"},
		{"b", 9, "c ab a-b a"},
		{"b", 0, ""},
	} {
		if got := strings.Join(slices.Collect(a.Near(tt.name, tt.n)), " "); got != tt.want {
			t.Errorf("Near(%q, %d) = %q, want %q", tt.name, tt.n, got, tt.want)
		}
	}
	for range a.Near("b", 9) {
		break // a caller may stop early
	}
}

// TestDeterministic checks that the same icons give the same bytes at any time.
func TestDeterministic(t *testing.T) {
	one, _ := write(t, metas...)
	two, _ := write(t, metas...)
	if !bytes.Equal(one, two) {
		t.Error("two archives of the same icons differ")
	}
}

// TestOrdinaryZIP checks that other programs can read the archive.
func TestOrdinaryZIP(t *testing.T) {
	data, _ := write(t, metas...)
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range r.File {
		rc, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		svg, err := io.ReadAll(rc)
		if f.Name != metas[i].Name+".svg" || err != nil || string(svg) != metas[i].Name+iconSVG {
			t.Errorf("archive/zip reads %s as %q, %v", f.Name, svg, err)
		}
	}
	unzip, err := exec.LookPath("unzip")
	if err != nil {
		t.Skip("unzip is not installed")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "pack.zip")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(unzip, "-q", file, "-d", dir).CombinedOutput(); err != nil || len(out) != 0 {
		t.Fatalf("unzip: %v: %s", err, out)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "a-b.svg")); err != nil || string(got) != "a-b"+iconSVG {
		t.Errorf("unzip gives %q, %v", got, err)
	}
}

func TestAddRefuses(t *testing.T) {
	for _, tt := range []struct {
		why string
		m   Meta
		svg []byte
	}{
		{"no name", Meta{}, nil},
		{"a path", Meta{Name: "../x"}, nil},
		{"upper case", Meta{Name: "Zed"}, nil},
		{"the same name again", Meta{Name: "m"}, nil},
		{"out of order", Meta{Name: "b"}, nil},
		{"too large", Meta{Name: "x"}, make([]byte, MaxSVG+1)},
		{"too much metadata", Meta{Name: "x", Tags: []string{strings.Repeat("t", maxComment)}}, nil},
	} {
		w := NewWriter(io.Discard)
		if err := w.Add(Meta{Name: "m"}, nil); err != nil {
			t.Fatal(err)
		}
		if err := w.Add(tt.m, tt.svg); err == nil {
			t.Errorf("Add accepts: %s", tt.why)
		}
	}
}

func TestMany(t *testing.T) {
	const n = 66_000 // more than 16 bits can count, so the archive has a ZIP64 end record
	var buf bytes.Buffer
	w := NewWriter(&buf)
	for i := range n {
		m := Meta{Name: fmt.Sprintf("name-of-an-icon-%05d", i), Width: 24, Height: 24, ViewBox: "0 0 24 24",
			Categories: []string{"Some"}, Seq: 1}
		if err := w.Add(m, []byte(iconSVG)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Close(); err != nil {
		t.Fatal(err)
	}
	a, err := openBytes(buf.Bytes())
	if err != nil || a.Len() != n {
		t.Fatalf("OpenArchive: %v, %v", a, err)
	}
	if perIcon := cap(a.records) * int(unsafe.Sizeof(record{})) / n; perIcon > 12 {
		t.Errorf("an open archive holds %d bytes an icon", perIcon)
	}
	e, ok := a.Find("name-of-an-icon-65999")
	if svg, err := a.Read(e); !ok || err != nil || string(svg) != iconSVG {
		t.Errorf("the last icon: %v, %q, %v", ok, svg, err)
	}
}

func TestDamagedArchive(t *testing.T) {
	data, _ := write(t, metas...)
	plain := func() []byte { return bytes.Clone(data) }
	for _, tt := range []struct {
		why  string
		data []byte
	}{
		{"nothing", nil},
		{"not an archive", []byte(strings.Repeat("x", 500))},
		{"truncated at the end", data[:len(data)-1]},
		{"truncated at the start", data[1:]},
		{"a byte before it", append([]byte("x"), data...)},
		{"a byte after it", append(plain(), 'x')},
		{"the end record alone", data[len(data)-endRecord:]},
		{"another name in the directory", bytes.Replace(plain(), []byte("c.svg{"), []byte("a.svg{"), 1)},
		{"an invalid icon name", bytes.Replace(plain(), []byte("c.svg{"), []byte("C.svg{"), 1)},
		{"an entry other than SVG", bytes.Replace(plain(), []byte("c.svg{"), []byte("c.txt{"), 1)},
		{"no description", bytes.Replace(plain(), []byte("c.svg{"), []byte("c.svg["), 1)},
	} {
		if _, err := openBytes(tt.data); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v, want ErrDamaged", tt.why, err)
		}
	}
}

// TestEveryBit flips each bit in turn: every icon must then be unchanged or damaged.
func TestEveryBit(t *testing.T) {
	data, _ := write(t, metas...)
	for i := range data {
		for bit := range 8 {
			wrong := bytes.Clone(data)
			wrong[i] ^= 1 << bit
			checkReads(t, wrong)
		}
	}
}

// checkReads opens data and reads all icons. Every error must be ErrDamaged, and every SVG must
// match its checksum.
func checkReads(t *testing.T, data []byte) {
	t.Helper()
	a, err := openBytes(data)
	if _, mapped := OpenMapped(bytes.NewReader(data), data); (mapped == nil) != (err == nil) {
		t.Fatalf("OpenMapped: %v, OpenArchive: %v", mapped, err)
	}
	if err != nil {
		if !errors.Is(err, ErrDamaged) {
			t.Fatalf("OpenArchive: %v is not ErrDamaged", err)
		}
		return
	}
	last := ""
	for e := range a.All() {
		if name := a.Name(e); name <= last {
			t.Fatalf("%q comes after %q", name, last)
		} else {
			last = name
		}
		if _, err := a.Meta(e); err != nil {
			t.Fatalf("Meta(%s): %v, though the archive was opened", last, err)
		}
		svg, err := a.Read(e)
		if err != nil && !errors.Is(err, ErrDamaged) {
			t.Fatalf("Read(%s): %v is not ErrDamaged", last, err)
		}
		if err == nil && crc32.ChecksumIEEE(svg) != a.entry(e.i).crc() {
			t.Fatalf("Read(%s) returns an SVG that does not match its checksum", last)
		}
		if found, ok := a.Find(last); !ok || found != e {
			t.Fatalf("Find(%q) = %v, %v, want %v", last, found, ok, e)
		}
	}
}

func FuzzOpenArchive(f *testing.F) {
	data, _ := write(f, metas...)
	empty, _ := write(f)
	f.Add(data)
	f.Add(empty)
	f.Add(data[:len(data)/2])
	f.Fuzz(func(t *testing.T, data []byte) { checkReads(t, data) })
}

func BenchmarkRead(b *testing.B) {
	data, _ := write(b, metas...)
	a, err := openBytes(data)
	if err != nil {
		b.Fatal(err)
	}
	e, _ := a.Find("ab")
	b.ReportAllocs()
	for b.Loop() {
		if svg, err := a.Read(e); err != nil || len(svg) != len("ab"+iconSVG) {
			b.Fatal(err)
		}
	}
}

func BenchmarkAdd(b *testing.B) {
	w := NewWriter(io.Discard)
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		n++
		m := metas[0]
		m.Name = fmt.Sprintf("i%09d", n)
		if err := w.Add(m, []byte(iconSVG)); err != nil {
			b.Fatal(err)
		}
	}
}
