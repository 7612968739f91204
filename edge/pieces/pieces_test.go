package pieces

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/cache/entrytest"
	"github.com/iconedge/iconedge/edge/icondata"
	"github.com/iconedge/iconedge/icon/iconify"
)

var now = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// stored returns a piece that is fresh for an hour; without a name, a head.
func stored(t testing.TB, pack, name, parent string, asked cache.Generation) *Piece {
	t.Helper()
	body := parent + "\x00" + fmt.Sprintf(`"%s":{"body":"%s"}`, name, strings.Repeat(name, 10))
	if name == "" {
		body = "\x00" + `"prefix":"` + pack + `"`
	}
	e := entrytest.New("/iconify/"+pack+".json#"+name, body)
	e.SetIdentity([]byte(body), `"`+name+`"`)
	e.Policy.Stored, e.Policy.Lifetime = now, time.Hour
	p, err := New(pack, name, e, asked, now)
	if err != nil {
		t.Fatal(err)
	}
	if name == "" {
		p.Lines = &cache.Head{}
	}
	return p
}

// A table has the latest pieces, as long as they are fresh and of the generation, and never
// more bytes than it may, whoever puts pieces into it at once.
func TestTable(t *testing.T) {
	const most = 2 << 20
	table := NewTable(most)
	table.Put(stored(t, "mdi", "home", "", 1))
	if table.Find("mdi", "home", 1, now) == nil || table.Find("mdi", "home", 2, now) != nil ||
		table.Find("mdi", "home", 1, now.Add(time.Hour)) != nil ||
		table.Find("md", "ihome", 1, now) != nil || table.Find("mdi", "", 1, now) != nil {
		t.Error("one piece is not found, or another one is")
	}
	table.Put(stored(t, "mdi", "home", "", 2))
	if table.Find("mdi", "home", 2, now) == nil || table.Find("mdi", "home", 1, now) != nil {
		t.Error("the piece was not replaced")
	}
	var group sync.WaitGroup
	for g := range 4 {
		group.Go(func() {
			for i := range 3000 {
				p := stored(t, "mdi", fmt.Sprint("icon-", g, "-", i), "", 2)
				table.Put(p)
				if i%3 == 0 {
					table.Replace(p, []byte("deflated"))
				}
			}
		})
	}
	group.Wait()
	e, bytes, found := table.current.Load(), 0, 0
	for _, s := range e.segments.Load().list {
		bytes += s.size
		for i, p := range s.pieces[:s.used] {
			if at, n := e.find(s.records[i].sum); at == s && n == i && table.Find(p.Pack(), p.Name, 2, now) == p {
				found++
			}
		}
	}
	if bytes > most || bytes != e.size || found < 1200 {
		t.Errorf("%d bytes of at most %d, counted as %d; %d pieces are found", bytes, most, e.size, found)
	}
}

// A table has as many of the latest pieces as fit, also after its index has grown, and in no case
// a piece under the name of another one.
func TestTableFull(t *testing.T) {
	table := NewTable(4 << 20)
	table.Put(stored(t, "mdi", "", "", 1))
	for i := range 9000 {
		table.Put(stored(t, "mdi", fmt.Sprint("icon-", i), "", 1))
	}
	found, lost := 0, 0 // lost: more pieces than a line of the index has
	for i := range 9000 {
		name := fmt.Sprint("icon-", i)
		p := table.Find("mdi", name, 1, now)
		var r Response
		if ok := table.Lookup(&r, []byte("/mdi.json?icons="+name), false, 1, now); ok != (p != nil) || p != nil && p.Name != name {
			t.Fatalf("%s: %v %v", name, p, ok)
		}
		if p != nil {
			found++
		} else if i > 8000 {
			lost++
		}
	}
	if lost > 10 {
		t.Errorf("%d of the latest 1000 pieces are not found", lost)
	}
	if slots := len(table.current.Load().index.Load().slots); found < 3500 || slots < 16384 {
		t.Errorf("%d pieces are found, by %d slots", found, slots)
	}
	huge := stored(t, "mdi", "huge", "", 1)
	huge.Prepared = (&icondata.Piece{Name: "huge", Member: make([]byte, 1<<20)}).Prepare(nil)
	table.Put(huge)
	if table.Find("mdi", "huge", 1, now) != nil || len(table.current.Load().segments.Load().list) < segmentsOf {
		t.Error("a piece that is too long is stored, or replaced others")
	}
	table.Put(stored(t, "mdi", "home", "", 2))
	table.Put(stored(t, "mdi", "late", "", 1))
	if table.Find("mdi", "icon-8999", 1, now) != nil || table.Find("mdi", "icon-8999", 2, now) != nil ||
		table.Find("mdi", "home", 2, now) == nil || table.Find("mdi", "late", 2, now) != nil {
		t.Error("a piece of another generation is found")
	}
}

// The hash of a name in a target is that of the same name in a table, whatever its length.
func TestScan(t *testing.T) {
	for length := 1; length < 40; length++ {
		name := strings.Repeat("abcdefghijklm-", 3)[:length]
		for _, end := range []string{"", ",x", "%2Cx", "%2cx"} {
			var l lookup
			l.target = []byte("/mdi.json?icons=" + name + end)
			ok := l.scan(len("/mdi.json?icons="), 7, newIndex(minSlots))
			if !ok || len(l.names) != 1+min(len(end), 1) || l.names[0].sum != hash(7, name) || string(l.of(&l.names[0])) != name {
				t.Errorf("%s: %v %+v", l.target, ok, l.names)
			}
		}
	}
}

// full returns a table for lookups: it has two aliases, one of them of an alias.
func full(t testing.TB) *Table {
	table := NewTable(1 << 20)
	for _, name := range []string{"", "account", "home", "zoo", "a-b", "f015"} {
		table.Put(stored(t, "mdi", name, "", 1))
	}
	table.Put(stored(t, "mdi", "house", "home", 1))
	table.Put(stored(t, "mdi", "villa", "house", 1))
	table.Put(stored(t, "mdi", "orphan", "none", 1))
	table.Put(stored(t, "other", "home", "", 1)) // its head is not there
	return table
}

// list returns the names of the pieces of a response.
func (r *Response) list() (names []string) {
	for i, p := range r.answer.Prepared() {
		if names = append(names, string(p.Name())); names[i] != string(r.names[i]) {
			return []string{"different names"}
		}
	}
	return names
}

func TestLookup(t *testing.T) {
	table := full(t)
	for _, row := range []struct {
		target  string
		mounted bool
		want    string // empty: none
	}{
		{"/mdi.json?icons=home", false, "home"},
		{"/mdi.json?icons=zoo,home,account,home", false, "account home zoo"},
		{"/mdi.json?icons=zoo%2Chome%2caccount", true, "account home zoo"},
		{"/iconify/mdi.json?icons=f015", false, "f015"},
		{"/iconify/mdi.json?icons=home", true, ""},
		{"/mdi.json?icons=villa", false, "home house villa"},
		{"/mdi.json?icons=villa,house", false, "home house villa"},
		{"/mdi.json?icons=orphan", false, ""},
		{"/mdi.json?icons=home,none", false, ""},
		{"/mdi.json?icons=home,", false, ""}, // an empty name is not found
		{"/mdi.json?icons=", false, ""},
		{"/mdi.json?icons=home&info=1", false, ""},
		{"/mdi.json?icons=home%00", false, ""},
		{"/mdi.json?icons=HOME", false, ""},
		{"/other.json?icons=home", false, ""},
		{"/iconify.json?icons=home", false, ""},
		{"/mdi.json", false, ""},
		{"", false, ""},
	} {
		var r Response
		ok := table.Lookup(&r, []byte(row.target), row.mounted, 1, now)
		var names []string
		if ok {
			names = r.list()
		}
		if got := strings.Join(names, " "); ok != (row.want != "") || ok && got != row.want {
			t.Errorf("%s, mounted %v: %v %q, want %q", row.target, row.mounted, ok, got, row.want)
		}
	}
}

// A response is that of the address as package iconify reads it, and has no other names.
func FuzzLookup(f *testing.F) {
	for _, s := range []string{"/mdi.json?icons=home%2Czoo", "/iconify/mdi.json?icons=a-b,a-b",
		"/mdi.json?icons=villa", "/mdi.json?icons=home#zoo", "/mdi.json?icons=home;zoo", "/mdi.json?icons=home+zoo"} {
		f.Add(s, false)
	}
	table := full(f)
	f.Fuzz(func(t *testing.T, target string, mounted bool) {
		var r Response
		if !table.Lookup(&r, []byte(target), mounted, 1, now) {
			return
		}
		path, query, _ := strings.Cut(target, "?")
		a, ok := iconify.Find(path, mounted)
		q, err := iconify.Parse(a, query)
		if !ok || err != nil || q.Kind != iconify.Data || q.Prefix != "mdi" || q.Info || q.Pretty || q.Callback != "" {
			t.Fatalf("%q: %+v, %v, %v", target, q, ok, err)
		}
		names := r.list()
		for _, name := range q.Names {
			if !slices.Contains(names, name) {
				t.Fatalf("%q: %q, without %q", target, names, name)
			}
		}
		for _, name := range names {
			if !slices.Contains(q.Names, name) && !strings.Contains(target, "villa") && !strings.Contains(target, "house") {
				t.Fatalf("%q: %q", target, names)
			}
		}
	})
}

// The tag of a response depends on each piece, and on the form.
func TestTag(t *testing.T) {
	table, tags := full(t), map[string]string{}
	names := []string{"account", "home", "zoo", "a-b", "f015", "villa"}
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		target := "/mdi.json?icons=" + strings.Join(names[:1+random.IntN(len(names))], ",")
		var r Response
		if !table.Lookup(&r, []byte(target), false, 1, now) {
			t.Fatal(target)
		}
		content := r.list()
		for _, form := range []string{"", "x"} {
			key, tag := strings.Join(content, ",")+"/"+form, string(r.Tag(form))
			if other, known := tags[tag]; known && other != key {
				t.Fatalf("%s and %s have the tag %s", key, other, tag)
			}
			tags[tag] = key
		}
	}
}
