package icondata

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

const example = `{"prefix":"mdi","lastModified":1719000000,"aliases":{"house":{"parent":"home"},"up":{"parent":"house","vFlip":true}},
"width":24,"height":24,"icons":{"home":{"body":"<path d=\"M0 0\"/>"},"zoo":{"body":"é","width":12}},"not_found":["nö\"","\u0000"]}`

func tree(t testing.TB, s []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(s, &v); err != nil {
		t.Fatalf("%v: %.300s", err, s)
	}
	return v
}

// prepare prepares the pieces of a, without compression.
func (a *Answer) prepare() {
	for _, p := range a.Pieces {
		prepared := p.Prepare(nil)
		a.Add(&prepared.Form, prepared.Bytes())
	}
}

func unzipped(t testing.TB, b []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func TestSplitAndJoin(t *testing.T) {
	a, err := Split([]byte(example))
	if err != nil {
		t.Fatal(err)
	}
	a.prepare()
	got := a.Join(nil)
	if !reflect.DeepEqual(tree(t, got), tree(t, []byte(example))) || len(got) != a.Len() {
		t.Errorf("joined: %s", got)
	}
	if !strings.HasPrefix(string(got),
		`{"prefix":"mdi","lastModified":1719000000,"width":24,"height":24,"aliases":{"house":{"parent":"home"},`) {
		t.Errorf("the order of members: %s", got)
	}
	for _, p := range a.Pieces {
		if again, err := Stored(p.Name, p.Body()); err != nil || !reflect.DeepEqual(&again, p) {
			t.Errorf("stored and read: %+v, %v; want %+v", again, err, p)
		}
	}
	empty := Answer{Head: a.Head, NotFound: []string{"x"}}
	if want := `{` + string(a.Head) + `,"aliases":{},"icons":{},"not_found":["x"]}`; string(empty.Join(nil)) != want {
		t.Errorf("without icons: %s", empty.Join(nil))
	}
}

func TestSplitRefuses(t *testing.T) {
	for _, response := range []string{
		``, `404`, `[]`, `{}`, `{"prefix":"a"}`, `{"icons":{}}`, `{"prefix":1,"icons":{}}`, `{"prefix":"a","icons":[]}`,
		`{"prefix":"a","icons":{},"aliases":{"b":{}}}`,
		`{"prefix":"a","icons":{},"aliases":{"b":{"parent":"c"}}}`,
		`{"prefix":"a","icons":{"x":{}},"aliases":{"b":{"parent":"c"},"c":{"parent":"b"}}}`,
		`{"prefix":"a","icons":{"b":{}},"aliases":{"b":{"parent":"b"}}}`,
		`{"prefix":"a","icons":{},"not_found":"b"}`,
	} {
		if a, err := Split([]byte(response)); !errors.Is(err, ErrForm) {
			t.Errorf("%s: %+v, %v", response, a, err)
		}
	}
	if _, err := Stored("a", []byte("without a NUL")); !errors.Is(err, ErrForm) {
		t.Error(err)
	}
}

// A join of any part of the pieces is the same as encoding/json's object of them, in both codings.
func TestJoinIsJSON(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	text := func() string {
		b := make([]rune, random.IntN(40))
		for i := range b {
			b[i] = rune(random.IntN(0x300))
		}
		if random.IntN(50) == 0 {
			return strings.Repeat(string(b), 3000)
		}
		return string(b)
	}
	for range 500 {
		icons, aliases, a := map[string]any{}, map[string]any{}, Answer{Head: []byte(`"prefix":"p"`)}
		deflated, late := true, random.IntN(100) // the piece that is not deflated yet
		for i := range random.IntN(40) {
			p, value := &Piece{Name: fmt.Sprintf("n%02d", i)}, map[string]any{"body": text()}
			if into := icons; random.IntN(3) == 0 {
				p.Parent, value = "n00", map[string]any{"parent": "n00"}
				into = aliases
				into[p.Name] = value
			} else {
				into[p.Name] = value
			}
			encoded, err := json.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			p.Member = appendMember(nil, p.Name, encoded)
			prepared := p.Prepare(Deflate(p.Member))
			if i == late {
				prepared, deflated = p.Prepare(nil), false
			}
			if string(prepared.Name()) != p.Name || !bytes.Equal(prepared.Member(), p.Member) {
				t.Fatalf("%s %s: %s", prepared.Name(), prepared.Member(), p.Member)
			}
			a.Add(&prepared.Form, prepared.Bytes())
		}
		want := map[string]any{"prefix": "p", "icons": icons, "aliases": aliases}
		for range random.IntN(3) {
			a.NotFound = append(a.NotFound, text())
		}
		if len(a.NotFound) > 0 {
			want["not_found"] = a.NotFound
		}
		encoded, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		got := a.Join(nil)
		if !reflect.DeepEqual(tree(t, got), tree(t, encoded)) || len(got) != a.Len() {
			t.Fatalf("got %.500s, want %.500s", got, encoded)
		}
		if a.IsDeflated() != deflated {
			t.Fatalf("deflated: %v, want %v", a.IsDeflated(), deflated)
		}
		if !deflated {
			continue
		}
		zipped := a.JoinGzip(nil)
		if content := unzipped(t, zipped); !bytes.Equal(content, got) || len(zipped) != a.GzipLen() {
			t.Fatalf("gzip: %.500s, want %.500s", content, got)
		}
	}
}

// The checksum of a join follows from those of its parts.
func TestChecksum(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, length := range []int{0, 1, 2, 15, 16, 255, 256, 4097, 1 << 17} {
		before, after := make([]byte, random.IntN(100)), make([]byte, length)
		for i := range before {
			before[i] = byte(random.Uint32())
		}
		for i := range after {
			after[i] = byte(random.Uint32())
		}
		c := newChecksum(after)
		if got, want := c.after(crc32.ChecksumIEEE(before)), crc32.ChecksumIEEE(append(before, after...)); got != want {
			t.Errorf("%d bytes after %d: %08x, want %08x", length, len(before), got, want)
		}
	}
}

func FuzzSplit(f *testing.F) {
	f.Add([]byte(example))
	f.Add([]byte(`{ "prefix" : "a", "icons" : { "x\"y" : [ 1, {"z":"]}\\\\" }, null ], "b": -1e5, "c": "\\\"", "c": {} } }`))
	f.Add([]byte(`{"prefix":"a","icons":{"a":{"body":1}},"aliases":{"b":{"parent":"a"}},"not_found":[],"info":{}}`))
	f.Fuzz(func(t *testing.T, response []byte) {
		a, err := Split(response)
		if err != nil {
			if !errors.Is(err, ErrForm) {
				t.Fatal(err)
			}
			return
		}
		a.prepare()
		joined := a.Join(nil)
		again, err := Split(joined)
		again.prepare()
		if err != nil || !bytes.Equal(again.Join(nil), joined) {
			t.Fatalf("%q: %v", joined, err)
		}
		was, is := tree(t, response).(map[string]any), tree(t, joined).(map[string]any)
		if !reflect.DeepEqual(was["icons"], is["icons"]) ||
			was["aliases"] != nil && !reflect.DeepEqual(was["aliases"], is["aliases"]) || was["prefix"] != is["prefix"] {
			t.Fatalf("%q becomes %q", response, joined)
		}
	})
}

func BenchmarkJoin(b *testing.B) {
	a := Answer{Head: []byte(`"prefix":"mdi","lastModified":1719000000,"width":24,"height":24`)}
	for i := range 30 {
		p := &Piece{Name: fmt.Sprint("icon", i), Member: fmt.Appendf(nil,
			`"icon%d":{"body":"<path fill=\"currentColor\" d=\"M%d 4c%s\"/>"}`, i, i, strings.Repeat("1.5-2.25 ", 20))}
		prepared := p.Prepare(Deflate(p.Member))
		a.Add(&prepared.Form, prepared.Bytes())
	}
	buffer := make([]byte, 0, 64<<10)
	for name, join := range map[string]func([]byte) []byte{"identity": a.Join, "gzip": a.JoinGzip} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(join(buffer))))
			for b.Loop() {
				join(buffer)
			}
		})
	}
}
