package dictionaries

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/molecule-man/go-brrr"

	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/compress"
	"github.com/iconedge/iconedge/test/sequential"
)

const tableBytes = 1 << 20

func newTable(t testing.TB) *Table {
	t.Helper()
	c, err := cache.New(cache.Options{MaxBytes: 16 << 20, Clock: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return New(c, compress.New(c, slog.New(slog.DiscardHandler)), tableBytes)
}

// text returns text that does not compress to nothing.
func text(seed uint64, length int) []byte {
	random := rand.New(rand.NewPCG(seed, 1))
	var b []byte
	for len(b) < length {
		b = append(strconv.AppendUint(b, uint64(random.Uint32()), 16), ' ')
	}
	return b[:length]
}

// stored stores a response of https://edge.test.
func (x *Table) stored(t testing.TB, path string, body []byte) *cache.Entry {
	t.Helper()
	e := &cache.Entry{Key: "https://edge.test" + path, Status: http.StatusOK, ContentType: []byte("text/css"), Validator: `"1"`}
	e.Policy.Stored, e.Policy.Lifetime = time.Now(), time.Hour
	e.SetIdentity(body, `"1"`)
	if !x.cache.Put(e, x.cache.Generation()) {
		t.Fatalf("%s is not stored", path)
	}
	return e
}

var here = Scope{"shop", "https", "edge.test"}

func (x *Table) learn(t testing.TB, path, match string, body []byte) *cache.Entry {
	t.Helper()
	e := x.stored(t, path, body)
	x.Learn(e, Learned{here, path, http.Header{FieldUse: {`match="` + match + `"`}}, x.cache.Generation()})
	return e
}

func (x *Table) find(scope Scope, target string, body []byte) *Dictionary {
	sum := sha256.Sum256(body)
	return x.Find(Claim{Scope: scope, Target: target, Available: []byte(":" + base64.StdEncoding.EncodeToString(sum[:]) + ":")})
}

// delta returns the difference, once it is made.
func (x *Table) delta(t testing.TB, d *Dictionary, e *cache.Entry, c Coding) []byte {
	t.Helper()
	x.Delta(d, e, c)
	for end := time.Now().Add(time.Minute); x.compressor.Stats().Pending > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the difference is never made")
		}
	}
	return x.Delta(d, e, c)
}

// A dictionary serves its own site, origin and path.
func TestFind(t *testing.T) {
	x, body := newTable(t), text(1, 5000)
	x.learn(t, "/a1", "/a*", body)
	for _, row := range []struct {
		scope  Scope
		target string
		body   []byte
		want   bool
	}{
		{here, "/a2", body, true}, {here, "/b2", body, false}, {here, "/a2", body[1:], false},
		{Scope{"other", "https", "edge.test"}, "/a2", body, false}, {Scope{"shop", "http", "edge.test"}, "/a2", body, false},
		{Scope{"shop", "https", "www.edge.test"}, "/a2", body, false},
	} {
		if got := x.find(row.scope, row.target, row.body); (got != nil) != row.want {
			t.Errorf("%v %s: %v", row.scope, row.target, got != nil)
		}
	}
	for _, wrong := range []string{"", "::", ":AA==:", strings.Repeat("a", 46), ":" + strings.Repeat("=", 44) + ":",
		":" + strings.Repeat("A", 44) + ":", ":" + strings.Repeat("\n", 44) + ":"} {
		if x.Find(Claim{Scope: here, Target: "/a2", Available: []byte(wrong)}) != nil {
			t.Errorf("%q names a dictionary", wrong)
		}
	}
	// The allocations are those of the test.
	if n := testing.AllocsPerRun(100, func() { x.find(here, "/a2", body[2:]) }); n > 4 {
		t.Errorf("an unknown hash costs %v allocations", n)
	}
}

// A table keeps its bound: the versions and the differences that were used the longest ago go
// first, and a body that is too long is not kept.
func TestBounds(t *testing.T) {
	t.Parallel()
	x := newTable(t)
	for i := range 3 * maxVersions {
		x.learn(t, fmt.Sprintf("/a%d", i), "/a*", text(uint64(i), 5000))
		x.find(here, "/a", text(0, 5000))
	}
	if got := x.Stats().Dictionaries; got != maxVersions {
		t.Errorf("%d versions are kept, want %d", got, maxVersions)
	}
	for i, want := range map[int]bool{0: true, 1: false, 3*maxVersions - 1: true, 2 * maxVersions: false, 2*maxVersions + 1: true} {
		if got := x.find(here, "/a", text(uint64(i), 5000)) != nil; got != want {
			t.Errorf("version %d is kept: %v", i, got)
		}
	}
	x.learn(t, "/long", "/long", text(1, tableBytes/largest+1))
	if x.find(here, "/long", text(1, tableBytes/largest+1)) != nil {
		t.Error("a dictionary that is too long is kept")
	}
	for i := range 100 {
		x.learn(t, fmt.Sprintf("/b%d", i), fmt.Sprintf("/b%d", i), text(uint64(100+i), 50_000))
		if s := x.Stats(); s.Bytes > tableBytes {
			t.Fatalf("the table has %d bytes", s.Bytes)
		}
	}
	if x.find(here, "/b99", text(199, 50_000)) == nil || x.find(here, "/b0", text(100, 50_000)) != nil {
		t.Error("not the oldest dictionaries are gone")
	}
}

// After each step, the bytes that a table counts are those of what it has.
func TestBytes(t *testing.T) {
	sequential.Test(t)
	t.Parallel()
	x, random := newTable(t), rand.New(rand.NewPCG(3, 4))
	for range 300 {
		n := random.IntN(40)
		body := text(uint64(n), 20_000+n*1000)
		switch path := fmt.Sprintf("/%d-%d", n%3, n); random.IntN(4) {
		case 0:
			x.learn(t, path, fmt.Sprintf("/%d-*", n%3), body)
		case 1:
			x.learn(t, path, path, body)
		case 2:
			if d := x.find(here, path, body); d != nil {
				x.delta(t, d, x.stored(t, path+"x", append(body[:len(body):len(body)], "new"...)), Coding(random.IntN(int(codings))))
			}
		case 3:
			x.cache.Purge(cache.Purge{Keys: []string{"https://edge.test" + path}}, time.Now())
			if x.find(here, path, body) != nil {
				t.Fatal("a dictionary outlives its purge")
			}
		}
		var want int64
		for item := x.used.Front(); item != nil; item = item.Next() {
			switch one := item.Value.(type) {
			case *Dictionary:
				want += int64(len(one.body)) + perItem
			case *delta:
				want += int64(len(one.body)) + perItem
				if x.known[one.of.id] != one.of {
					t.Fatal("a difference outlives its dictionary")
				}
			}
		}
		versions := 0
		for _, all := range x.scopes {
			versions += len(all)
		}
		if x.bytes != want || want > tableBytes || versions != len(x.known) {
			t.Fatalf("counted %d bytes of %d, %d dictionaries of %d", x.bytes, want, versions, len(x.known))
		}
	}
}

// A difference that saves too little is not sent, and not made again.
func TestUseless(t *testing.T) {
	t.Parallel()
	x, one := newTable(t), text(1, 5000)
	x.learn(t, "/a1", "/a*", one)
	d := x.find(here, "/a2", one)
	random := make([]byte, 5000)
	for i := range random {
		random[i] = byte(rand.Uint32())
	}
	e := x.stored(t, "/a3", random)
	if x.delta(t, d, e, Zstd) != nil || x.Stats().Useless != 1 {
		t.Errorf("bytes at random: %+v", x.Stats())
	}
	if body, known := x.Made(d, e.ID, Zstd); body != nil || !known {
		t.Error("the table forgets what saves nothing")
	}
	x.delta(t, d, e, Zstd)
	if x.Stats().Useless != 1 {
		t.Error("it is made again")
	}
}

// The bodies are those of RFC 9842, sections 4 and 5, and the programs zstd and brotli read them,
// also where the dictionary is longer than usual windows.
func TestEncode(t *testing.T) {
	sequential.Test(t)
	t.Parallel()
	for _, length := range []int{100, 5000, 300_000, 3 << 20} {
		old := text(1, length)
		body := bytes.Replace(append(text(2, 50), old...), old[:50], []byte("new"), 1)
		sum := sha256.Sum256(old)
		for coding, want := range map[Coding]string{Zstd: "5e2a4d1820000000", Brotli: "ff444342"} {
			coded, err := encode(coding, sum, old, body)
			if err != nil {
				t.Fatal(err)
			}
			head := want + hex.EncodeToString(sum[:])
			if !strings.HasPrefix(hex.EncodeToString(coded), head) {
				t.Fatalf("%v begins with %x", coding, coded[:40])
			}
			if len(coded) > 200+length/100 {
				t.Errorf("%v: %d bytes of a change of 100 in %d", coding, len(coded), length)
			}
			rest := coded[len(head)/2:]
			if coding == Zstd {
				d, err := zstd.NewReader(nil, zstd.WithDecoderDictRaw(0, old))
				if err != nil {
					t.Fatal(err)
				}
				// The head is a frame that every decoder skips.
				if got, err := d.DecodeAll(coded, nil); err != nil || !bytes.Equal(got, body) {
					t.Errorf("zstd of %d bytes: %v", length, err)
				}
				d.Close()
			}
			if coding == Brotli {
				r, err := brrr.NewReaderOptions(bytes.NewReader(rest), brrr.ReaderOptions{Dictionaries: [][]byte{old}})
				if err != nil {
					t.Fatal(err)
				}
				if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, body) {
					t.Errorf("brotli of %d bytes: %v", length, err)
				}
			}
			program(t, coding, old, rest, body)
		}
	}
}

// program decodes a body with the program of a coding.
func program(t *testing.T, c Coding, dictionary, coded, want []byte) {
	t.Helper()
	name := map[Coding]string{Zstd: "zstd", Brotli: "brotli"}[c]
	path, err := exec.LookPath(name)
	if err != nil {
		t.Logf("SKIPPED: the program %s is not installed", name)
		return
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "dictionary")
	if err := os.WriteFile(file, dictionary, 0o600); err != nil {
		t.Fatal(err)
	}
	// A raw dictionary may not begin as a trained one does, so zstd gets it as the file to patch.
	if help, err := exec.Command(path, "--help").Output(); err != nil || c == Brotli && !bytes.Contains(help, []byte("dictionary")) {
		t.Logf("SKIPPED: this version of %s takes no dictionaries", name)
		return
	}
	args := map[Coding][]string{Zstd: {"-d", "-c", "--patch-from=" + file}, Brotli: {"-d", "-c", "-D", file}}[c]
	cmd := exec.Command(path, args...)
	cmd.Stdin = bytes.NewReader(coded)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if got, err := cmd.Output(); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s with a dictionary of %d bytes: %v, %d bytes, %s", name, len(dictionary), err, len(got), errs.String())
	}
}

// Accept-Encoding decides between both codings and those without a dictionary.
func TestAccepted(t *testing.T) {
	t.Parallel()
	for accept, want := range map[string]string{
		"gzip, deflate, br, zstd, dcb, dcz": "dcz", "dcb": "dcb", "br, dcb": "dcb", "dcb, dcz;q=0.5": "dcb", "br, dcz;q=0.5": "",
		"br": "", "": "", "dcz;q=0": "", "DCZ": "dcz", "identity": "",
	} {
		c, ok := Accepted(accept)
		if got := c.String(); ok != (want != "") || ok && got != want {
			t.Errorf("%q: %s, %v; want %q", accept, got, ok, want)
		}
	}
}
