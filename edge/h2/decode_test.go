package h2

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"golang.org/x/net/http2/hpack"

	"github.com/iconedge/iconedge/test/sequential"
)

// oracle decodes with x/net's decoder.
type oracle struct {
	d      *hpack.Decoder
	fields []string
}

func newOracle() *oracle {
	o := &oracle{}
	o.d = hpack.NewDecoder(tableSize, func(f hpack.HeaderField) { o.fields = append(o.fields, f.Name+": "+f.Value) })
	return o
}

func (o *oracle) decode(b []byte) ([]string, bool) {
	o.fields = nil
	_, err := o.d.Write(b)
	if closed := o.d.Close(); err == nil {
		err = closed
	}
	return o.fields, err == nil
}

func decoded(d *decoder) []string {
	var list []string
	for _, f := range d.fields {
		list = append(list, fmt.Sprintf("%s: %s", f.Name, f.Value))
	}
	return list
}

// For any two blocks the decoder gives the result of x/net's decoder. It refuses some that x/net
// accepts: a table size after a field, a third table size, and integers of more than five bytes.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("\x82\x86\x84\x41\x0fwww.example.com"), []byte("\x82\x86\x84\xbe\x58\x08no-cache"))
	f.Add([]byte("\x3f\xe1\x1f\x82"), []byte("\x20\x3f\xe1\x1f\x40\x0acustom-key\x0dcustom-header\xbe"))
	f.Add([]byte("\x41\x8c\xf1\xe3\xc2\xe5\xf2\x3a\x6b\xa0\xab\x90\xf4\xff"), []byte("\xbe\xbf"))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		d, o := &decoder{}, newOracle()
		d.init()
		for _, block := range [][]byte{first, second} {
			want, ok := o.decode(block)
			if total := len(block); total > 16<<10 || len(want) > maxFields {
				return
			}
			err := d.decode(block, 1<<30)
			if err != nil {
				return
			}
			if !ok {
				t.Fatalf("decode(%x) = %q, x/net can't", block, decoded(d))
			}
			if got := decoded(d); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("decode(%x) = %q, x/net has %q", block, got, want)
			}
		}
	})
}

// The decoder follows any encoder's table: fields of all sizes, over many blocks, while the table
// changes its size.
func TestDecodeFollowsTable(t *testing.T) {
	sequential.Test(t)
	rng := rand.New(rand.NewPCG(1, 2))
	var buf bytes.Buffer
	enc := hpack.NewEncoder(&buf)
	d := &decoder{}
	d.init()
	for block := range 3000 {
		buf.Reset()
		if rng.IntN(20) == 0 {
			enc.SetMaxDynamicTableSize(uint32(rng.IntN(tableSize + 1)))
		}
		var want []string
		for range rng.IntN(20) {
			f := hpack.HeaderField{Name: fmt.Sprint("name-", rng.IntN(60)), Value: fmt.Sprint(rng.IntN(30)), Sensitive: rng.IntN(10) == 0}
			if rng.IntN(15) == 0 {
				f.Value = string(bytes.Repeat([]byte{'v'}, rng.IntN(5000)))
			}
			if err := enc.WriteField(f); err != nil {
				t.Fatal(err)
			}
			want = append(want, f.Name+": "+f.Value)
		}
		if err := d.decode(buf.Bytes(), 1<<30); err != nil {
			t.Fatalf("block %d: %v", block, err)
		}
		if got := decoded(d); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("block %d: %.300q, want %.300q", block, got, want)
		}
	}
}

// A list that is too long is cut, but the table gets all entries of its block.
func TestDecodeStops(t *testing.T) {
	d := &decoder{}
	d.init()
	// 127+33+22*128.
	long := append([]byte("\x40\x01a\x7f\xa1\x16"), bytes.Repeat([]byte{'v'}, 2976)...)
	bomb := append(long, bytes.Repeat([]byte{0xbe}, 10000)...)
	if err := d.decode(bomb, 16<<10); err != nil || !d.truncated || len(d.fields) > 6 {
		t.Errorf("an HPACK bomb: %v, truncated %v, %d fields", err, d.truncated, len(d.fields))
	}
	if err := d.decode([]byte{0xbe}, 16<<10); err != nil || d.truncated || len(d.fields) != 1 {
		t.Errorf("the next block: %v, truncated %v, %d fields", err, d.truncated, len(d.fields))
	}
}

func TestInvalidFields(t *testing.T) {
	for block, invalid := range map[string]bool{
		"\x00\x01a\x01b": false, "\x00\x01A\x01b": true, "\x00\x00\x01b": true, "\x00\x02a \x01b": true, "\x00\x01:\x01b": true,
		"\x00\x01a\x02 b": true, "\x00\x01a\x02b\t": true, "\x00\x01a\x03b\tc": false, "\x00\x01a\x03b\x00c": true,
		"\x00\x01a\x02b\n": true,
		"\x00\x01a\x00":    false, "\x40\x01A\x01b\xbe": true, "\x00\x02a:\x01b": true, "\x0f\x00\x01\xe9": false,
	} {
		d := &decoder{}
		d.init()
		if err := d.decode([]byte(block), 1<<20); err != nil {
			t.Fatalf("%q: %v", block, err)
		}
		if last := d.fields[len(d.fields)-1]; last.invalid != invalid {
			t.Errorf("%q: invalid %v, want %v", block, last.invalid, invalid)
		}
	}
}

// x/net decodes an appended field to the same name and value.
func FuzzAppendField(f *testing.F) {
	f.Add("Content-Type", "image/svg+xml", 200)
	f.Add("x", "", 418)
	f.Fuzz(func(t *testing.T, name, value string, status int) {
		if status < 100 || status > 999 {
			return
		}
		b := AppendField(AppendStatus(nil, status), name, value)
		got, ok := newOracle().decode(b)
		lower := []byte(name)
		for i, c := range lower {
			if 'A' <= c && c <= 'Z' {
				lower[i] = c | 0x20
			}
		}
		if want := []string{fmt.Sprint(":status: ", status), string(lower) + ": " + value}; !ok || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%q, %v; want %q", got, ok, want)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	var buf bytes.Buffer
	enc := hpack.NewEncoder(&buf)
	block := func(path string) []byte {
		buf.Reset()
		for _, f := range [][2]string{{":method", "GET"}, {":authority", "cdn.example.org"}, {":scheme", "https"},
			{":path", path}, {"sec-ch-ua", `"Chromium";v="140"`},
			{"user-agent", "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36"},
			{"accept", "image/avif,image/webp,*/*;q=0.8"},
			{"sec-fetch-site", "cross-site"}, {"sec-fetch-mode", "no-cors"}, {"sec-fetch-dest", "image"},
			{"referer", "https://example.org/"}, {"accept-encoding", "gzip, deflate, br"}, {"accept-language", "en"}} {
			enc.WriteField(hpack.HeaderField{Name: f[0], Value: f[1], Sensitive: f[0] == ":path"})
		}
		return bytes.Clone(buf.Bytes())
	}
	first, later := block("/mdi/home.svg"), block("/mdi/account-box-outline.svg")
	d := &decoder{}
	d.init()
	d.decode(first, 16<<10)
	b.ReportAllocs()
	for b.Loop() {
		if err := d.decode(later, 16<<10); err != nil || len(d.fields) != 13 {
			b.Fatal(err)
		}
	}
}

func TestLine(t *testing.T) {
	d := &decoder{}
	d.init()
	var block []byte
	for _, f := range [][2]string{{"user-agent", "x"}, {"forwarded", "for=a"}, {"forwarded", "for=b"}} {
		block = AppendField(block, f[0], f[1])
	}
	if err := d.decode(block, 1<<10); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name string
		nth  int
		want string
	}{{"user-agent", 0, "x"}, {"user-agent", 1, ""}, {"forwarded", 1, "for=b"}, {"forwarded", 2, ""}, {"referer", 0, ""}} {
		if got := d.Line(row.name, row.nth); string(got) != row.want || row.want == "" && got != nil {
			t.Errorf("line %d of %s is %q", row.nth, row.name, got)
		}
	}
}
