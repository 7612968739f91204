package search

import (
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/iconedge/iconedge/icon"
)

// Bounds of the cost of any query to the whole library.
const (
	mostTime   = 5 * time.Millisecond
	mostMemory = 1 << 20 // bytes
)

// scripts have letters of which random queries consist.
var scripts = []string{
	"abcdefghijklmnopqrstuvwxyz", "ABCxyz0123456789", "абвгдежзийклмнопрстуфхцчшщыэюя",
	"的一是不了人我在有他这中大来上国个到说们为子和你地出道也时年", "あいうえおかきくけこさしすせそアイウエオカキクケコ",
	"가나다라마바사아자차카타파하고노도로모보", "ابتثجحخدذرزسشصضطظعغفقكلمنهوي", "กขคงจฉชซญฎฏฐดตถทธนบปผ", "अआइईउऊकखगघचछजझटठडढ",
	"äöüßéèêñçåøæœ", "🏠❤️🚀🎉😀👍🏽→⚙", ":/-_.,' \"()*",
}

// hostile returns queries that are meant to be expensive: common and rare words, incomplete words
// and typos, in every script, many of them at once.
func hostile(x *Index) (queries []Query) {
	for _, text := range []string{
		"a", "s", "outline", "s s", "outline s", "a b c d e f g h i j k l m n o p", "outline fill circle arrow s",
		strings.Repeat("open ", 16), strings.Repeat("open1 ", 16),
		"o u t l i n", "outline outline outline outline outline outline o",
		"zzzzzzzzzzzz yyyyyyyyyyyyy xxxxxxxxxxxx wwww", strings.Repeat("qwxzvjkq ", 22),
		"outline filled sharp rounded bold qq", "openx autox interx contx googx codex", strings.Repeat("红苹果", 60),
		strings.Repeat("homearrow", 20),
	} {
		queries = append(queries, Query{Text: text})
	}
	r := rand.New(rand.NewPCG(8, 15)) // a fixed seed repeats the same queries
	words := func() (list []string) {
		name, _ := x.names(uint32(r.IntN(x.docs)))
		return strings.Split(string(name), "-")
	}
	for range 400 {
		var text strings.Builder
		for script := scripts[r.IntN(len(scripts))]; text.Len() < r.IntN(icon.MaxText); {
			letters := []rune(script)
			for range 1 + r.IntN(9) {
				text.WriteRune(letters[r.IntN(len(letters))])
			}
			text.WriteByte(' ')
		}
		queries = append(queries, Query{Text: text.String()})
		known := []string{}
		for range 1 + r.IntN(5) {
			for _, w := range words() {
				switch r.IntN(4) {
				case 0:
					w = w[:1+r.IntN(len(w))] // incomplete
				case 1:
					w = w[:len(w)/2] + "x" + w[len(w)/2:] // a typo
				}
				known = append(known, w)
			}
		}
		text.Reset()
		text.WriteString(strings.Join(known, " "))
		queries = append(queries, Query{Text: text.String()},
			Query{Text: text.String(), Filter: Filter{Style: "outline", Commercial: true}, Offset: icon.MaxOffset})
		name, _ := x.names(uint32(r.IntN(x.docs)))
		queries = append(queries, Query{Text: string(name), Explain: true})
		doc := uint32(r.IntN(x.docs))
		name, _ = x.names(doc)
		queries = append(queries, Query{Similar: icon.Ref{Pack: x.packs[x.packOf(doc)].Key, Name: string(name)}})
	}
	for i := range queries {
		queries[i].Limit = icon.MaxLimit
		if i%3 == 0 {
			queries[i].Explain = true
		}
	}
	return queries
}

// worst adds the largest cost of hostile queries, of a search with its suggestions, and reports it
// if it exceeds the bounds. A query runs up to five times, because other programs on the machine
// can only make it slower.
func (r *report) worst(t *testing.T, x *Index) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var most, mostOf time.Duration
	memory := uint64(0)
	var slowest, largest Query
	queries := hostile(x)
	for _, q := range queries {
		call := func() {
			if hits, _ := x.Search(q); len(hits) == 0 && q.Offset == 0 {
				x.Suggest(q.Text)
			}
		}
		call()
		used := uint64(math.MaxUint64)
		// More than once, because a collection may take the memory that queries reuse.
		for tries := 0; tries < 3 && used > memory; tries++ {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			call()
			runtime.ReadMemStats(&after)
			used = min(used, after.TotalAlloc-before.TotalAlloc)
		}
		if used > memory {
			memory, largest = used, q
		}
		best := time.Hour
		for tries := 0; tries < 5 && best > mostOf; tries++ {
			start := cpuTime()
			call()
			best = min(best, cpuTime()-start)
		}
		if best > most {
			most, slowest = best, q
		}
		mostOf = most
	}
	r.line("\nOf %d hostile queries in %d scripts (long, incomplete, misspelt, filtered, explained, or for similar "+
		"icons), with suggestions if they find nothing, the most expensive takes %.1f ms of CPU, "+
		"and the largest allocates %.2f MB.", len(queries), len(scripts), most.Seconds()*1e3, float64(memory)/1e6)
	if most > mostTime || memory > mostMemory {
		t.Errorf("a query takes %v of CPU (%+v) or %d bytes (%+v), want at most %v and %d", most, slowest, memory,
			largest, mostTime, mostMemory)
	}
}
