package h3

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/quic-go/qpack"

	"github.com/iconedge/iconedge/edge/request"
)

const most = 16 << 10

// fieldsOf decodes with quic-go's decoder.
func fieldsOf(section []byte) (list []string, ok bool) {
	next := qpack.NewDecoder().Decode(section)
	for {
		f, err := next()
		if err == io.EOF {
			return list, true
		}
		if err != nil {
			return nil, false
		}
		list = append(list, f.Name+": "+f.Value)
	}
}

func decoded(d *decoder) (list []string) {
	for _, f := range d.fields {
		list = append(list, fmt.Sprintf("%s: %s", f.name, f.value))
	}
	return list
}

// encode encodes with quic-go's encoder.
func encode(fields ...string) []byte {
	var b bytes.Buffer
	enc := qpack.NewEncoder(&b)
	for i := 0; i < len(fields); i += 2 {
		enc.WriteField(qpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	return b.Bytes()
}

// headers returns a HEADERS frame.
func headers(section []byte) []byte {
	dst := append([]byte{frameHeaders, 0, 0}, section...)
	return EndHead(dst, 3)
}

var get = []string{":method", "GET", ":scheme", "https", ":authority", "edge.test", ":path", "/mdi/home.svg"}

// For any bytes the decoder has the result of quic-go's, or leaves them to it, and it never looks
// beyond a frame.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("\x00\x00\xd1\xd7\x50\x0awww.a.test\xc1\x27\x00name\x05value"))
	f.Add([]byte("\x00\x00\x5f\x50\x85\xf1\xe3\xc2\xe5\xf2\x2f\x01\xff\xff"))
	f.Add([]byte("\x02\x00\x80\x10"))
	f.Add([]byte("\x00\x00\xff\x24\xff\x80\x80\x80\x80\x80\x01"))
	f.Add(encode(append(get, "user-agent", "a browser", "accept", "*/*", "cookie", "a=b", "x-name", "value")...))
	f.Add(headers(encode(get...)))
	f.Fuzz(func(t *testing.T, b []byte) {
		var s scratch
		if s.decode(b, most) {
			want, ok := fieldsOf(b)
			if got := decoded(&s.decoder); !ok || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("decode(%x) = %q, quic-go has %q, %v", b, got, want, ok)
			}
		}
		if len(b) < leastHead {
			return
		}
		if s.parse(b, most) && (s.request.Host == nil || s.request.Target[0] != '/') {
			t.Fatalf("%x is no request: %q, %q", b, s.request.Host, s.request.Target)
		}
	})
}

// randomField returns a field that is in the static table, has its name there, or neither.
func randomField(random *rand.Rand) (name, value string) {
	f := static[random.IntN(len(static))]
	if name, value = string(f.name), string(f.value); random.IntN(3) == 0 {
		return name, value
	}
	if random.IntN(2) == 0 {
		name = strings.Repeat("x-name", 1+random.IntN(40))
	}
	value = ""
	for range random.IntN([]int{4, 40, 400}[random.IntN(3)]) {
		value += string(rune('!' + random.IntN('~'-'!')))
	}
	return name, value
}

// The decoder understands what quic-go encodes, and quic-go what the encoder encodes.
func TestSameAsQUICGo(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var s scratch
	for range 3000 {
		var fields []string
		for range random.IntN(20) {
			name, value := randomField(random)
			fields = append(fields, name, value)
		}
		section := encode(fields...)
		if len(fields) == 0 {
			section = []byte{0, 0}
		}
		if ours, theirs := s.decode(section, 1<<30), strings.Join(fields, "|"); !ours ||
			strings.Join(pairs(decoded(&s.decoder)), "|") != theirs {
			t.Fatalf("%q was decoded as %q, %v", theirs, decoded(&s.decoder), ours)
		}
		frame, start := BeginHead(nil, 200)
		for i := 0; i < len(fields); i += 2 {
			add := []func([]byte, string, []byte) []byte{AppendField[string], AppendShort[string]}[random.IntN(2)]
			frame = add(frame, strings.ToUpper(fields[i]), []byte(fields[i+1]))
		}
		frame = EndHead(frame, start)
		want := append([]string{":status", "200"}, fields...)
		if got, ok := fieldsOf(sectionOf(t, frame)); !ok || strings.Join(pairs(got), "|") != strings.Join(want, "|") {
			t.Fatalf("quic-go decodes %q as %q", want, got)
		}
	}
}

func pairs(lines []string) (list []string) {
	for _, line := range lines {
		at := strings.Index(line[1:], ": ") + 1 // a pseudo field begins with a colon
		list = append(list, line[:at], line[at+2:])
	}
	return list
}

// sectionOf returns the field section of a HEADERS frame.
func sectionOf(t *testing.T, frame []byte) []byte {
	t.Helper()
	if frame[1]>>6 < 2 {
		start, length, ok := cutHead(frame[:leastHead])
		if !ok || start+length != len(frame) {
			t.Fatalf("%d bytes are said to be %d", len(frame), start+length)
		}
		return frame[start:]
	}
	return frame[5:] // a length of four bytes
}

// A head that is too long for two bytes of length gets four.
func TestLongHead(t *testing.T) {
	for _, n := range []int{1, 1 << 13, 1<<14 - 1, 1 << 14, 1 << 16} {
		frame, start := BeginHead([]byte("before"), 404)
		frame = EndHead(AppendField(frame, "x", bytes.Repeat([]byte{'v'}, n)), start)
		got, ok := fieldsOf(sectionOf(t, frame[len("before"):]))
		if !ok || len(got) != 2 || got[0] != ":status: 404" || len(got[1]) != n+3 {
			t.Errorf("a value of %d bytes: %.100q", n, got)
		}
	}
}

// An ordinary GET is eligible, with its fields as views. Anything unusual is left to http3.
func TestEligible(t *testing.T) {
	var s scratch
	with := func(more ...string) []byte { return headers(encode(append(append([]string{}, get...), more...)...)) }
	head := with("accept-encoding", "br", "user-agent", "test", "cookie", "a", "cookie", "b", "priority", "u=1, i")
	if !s.parse(head, most) {
		t.Fatal("an ordinary GET is not eligible")
	}
	q := &s.request
	if string(q.Target) != "/mdi/home.svg" || string(q.Host) != "edge.test" || q.Head || string(q.AcceptEncoding) != "br" || !q.Cookie {
		t.Errorf("%q %q %v %q %v", q.Target, q.Host, q.Head, q.AcceptEncoding, q.Cookie)
	}
	if string(s.Line("User-Agent", 0)) != "test" || string(s.Line("cookie", 1)) != "b" || s.Line("cookie", 2) != nil {
		t.Error("a line is not found")
	}
	if n := testing.AllocsPerRun(100, func() { s.parse(head, most) }); n > 0 {
		t.Errorf("it takes %v allocations", n)
	}
	pseudo := func(change ...string) []byte { // replaces values; empty: leaves the field out
		var fields []string
		for i := 0; i < len(get); i += 2 {
			value := get[i+1]
			for j := 0; j < len(change); j += 2 {
				if change[j] == get[i] {
					value = change[j+1]
				}
			}
			if value != "" {
				fields = append(fields, get[i], value)
			}
		}
		return headers(encode(fields...))
	}
	if !s.parse(pseudo(":method", "HEAD"), most) || !s.request.Head {
		t.Error("HEAD is not eligible")
	}
	for name, head := range map[string][]byte{
		"POST": pseudo(":method", "POST"), "no method": pseudo(":method", ""), "http": pseudo(":scheme", "http"),
		"no scheme": pseudo(":scheme", ""),
		"no path":   pseudo(":path", ""), "no slash": pseudo(":path", "mdi"),
		"a space in the path": pseudo(":path", "/a b"), "no authority": pseudo(":authority", ""),
		"two paths": with(":path", "/"), "a late pseudo field": with("a", "b", ":protocol", "x"),
		"an unknown pseudo field":     headers(encode(append([]string{":x", "y"}, get...)...)),
		"a pseudo field after others": headers(encode(append([]string{"a", "b"}, get...)...)), ":status": with(":status", "200"),
		"Host": with("host", "edge.test"), "Connection": with("connection", "keep-alive"),
		"TE": with("te", "trailers"), "Upgrade": with("upgrade", "h2c"),
		"a length": with("content-length", "0"), "Expect": with("expect", "100-continue"),
		"upper case": with("Name", "value"), "no token": with("a b", "c"), "no name": with("", "c"),
		"a control character": with("a", "b\x00"), "a line break": with("a", "b\nc"), "a space at the end": with("a", "b "),
		"too many fields": with(strings.Split(strings.Repeat("a b ", maxFields), " ")[:2*maxFields]...),
		"too long":        with("a", strings.Repeat("b", most)),
	} {
		if s.parse(head, most) {
			t.Errorf("%s is eligible", name)
		}
	}
	for name, section := range map[string][]byte{
		"nothing": {}, "half a prefix": {0}, "inserts": {1, 0, 0xd1}, "a base": {0, 1, 0xd1}, "an entry of the dynamic table": {0, 0, 0x80},
		"a name of the dynamic table": {0, 0, 0x40, 0}, "a late entry": {0, 0, 0x10}, "a late name": {0, 0, 0x00, 0},
		"an index beyond the table": {0, 0, 0xff, 36}, "half a string": {0, 0, 0x27, 5},
		"a malformed Huffman string": append([]byte{0, 0, 0x50, 0x84}, 0xff, 0xff, 0xff, 0xff),
	} {
		if s.decode(section, most) {
			t.Errorf("%s was decoded", name)
		}
	}
	if _, ok := fieldsOf([]byte{0, 0, 0xff, 35}); !ok || len(static) != 99 {
		t.Error("the static table does not end where it should")
	}
}

// A stream has no head unless it begins with a HEADERS frame of moderate length.
func TestCutHead(t *testing.T) {
	for b, want := range map[string][2]int{"\x01\x05x": {2, 5}, "\x01\x40\x05": {3, 5},
		"\x01\x7f\xff": {3, 1<<14 - 1}, "\x00\x05x": {}, "\x01\x80\x00": {}, "\x01\xc0\x00": {}, "\x40\x01\x05": {}, "\x21\x00\x01": {}} {
		if start, length, ok := cutHead([]byte(b)); ok != (want[0] > 0) || ok && (start != want[0] || length != want[1]) {
			t.Errorf("cutHead(%x) = %d, %d, want %v", b, start, length, want)
		}
	}
	if s := (&scratch{request: request.Request{}}); s.parse([]byte{frameHeaders, 0, 0}, most) {
		t.Error("an empty section is a request")
	}
}

func TestPriority(t *testing.T) {
	for value, want := range map[string]struct {
		urgency     int8
		incremental bool
	}{"": {3, false}, "u=1": {1, false}, "u=0, i": {0, true}, "i=?1,u=7": {7, true}, "u=9": {3, false},
		"i=?0": {3, false}, "x": {3, false}} {
		if u, i := priority([]byte(value)); u != want.urgency || i != want.incremental {
			t.Errorf("priority(%q) = %d, %v", value, u, i)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	var s scratch
	head := headers(encode(append(get, "accept-encoding", "gzip, deflate, br, zstd", "user-agent",
		"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36",
		"accept", "image/avif,image/webp,*/*;q=0.8", "priority", "u=1, i")...))
	for b.Loop() {
		s.parse(head, most)
	}
}
