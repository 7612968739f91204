package cache

import (
	"bytes"
	"compress/gzip"
	"io"
	"runtime"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	kgzip "github.com/klauspost/compress/gzip"
)

const (
	minCoded    = 200 // bytes; a smaller body fits into the same packet anyway
	brotliLevel = 5   // about as fast as gzip 6, and smaller
)

// compressible reports whether bodies of a media type get smaller: text in all its forms; what is coded inside does not.
func compressible(contentType []byte) bool {
	name, _, _ := strings.Cut(string(contentType), ";")
	name = strings.ToLower(strings.TrimSpace(name))
	return strings.HasPrefix(name, "text/") || strings.HasSuffix(name, "+xml") || strings.HasSuffix(name, "+json") ||
		name == "application/json" || name == "application/xml" || name == "application/javascript"
}

// reserve counts the codings of a new entry in before they are made, at their most: so the ceiling holds, come they when
// they will.
func (e *Entry) reserve() {
	v := e.Identity()
	if e.coded.Load() || v == nil || len(v.Body) < minCoded || !compressible(e.ContentType) {
		e.coded.Store(true)
		return
	}
	e.reserved.Store(int64(len(v.Body)))
}

// encode queues an entry whose codings are still to be made; where the queue is full a later request for it will.
func (c *Cache) encode(e *Entry) {
	if !e.coded.CompareAndSwap(false, true) {
		return
	}
	c.pending.add(1)
	select {
	case c.codings <- e:
	default:
		c.pending.add(-1)
		e.coded.Store(false)
	}
}

// Touch sees to it that an entry that was too late for the queue gets its codings after all.
func (c *Cache) Touch(e *Entry) {
	if !e.coded.Load() {
		c.encode(e)
	}
}

// Settle waits until every coding that is queued has been made.
func (c *Cache) Settle() { c.pending.wait() }

// A tally counts what is under way. Unlike a sync.WaitGroup it may be waited for while more is begun.
type tally struct {
	mu   sync.Mutex
	zero sync.Cond
	n    int
}

func (t *tally) add(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n += n; t.n == 0 && t.zero.L != nil {
		t.zero.Broadcast()
	}
}

func (t *tally) wait() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.zero.L = &t.mu
	for t.n > 0 {
		t.zero.Wait()
	}
}

// startCoders starts as many goroutines that make codings as half the processors: requests come first.
func (c *Cache) startCoders() {
	for range max(1, runtime.GOMAXPROCS(0)/2) {
		go func() {
			for {
				select {
				case e := <-c.codings:
					e.AddCodings()
					c.grown(e)
					c.pending.add(-1)
				case <-c.closed:
					return
				}
			}
		}()
	}
}

// grown counts an entry anew, if it is still the one under its key.
func (c *Cache) grown(e *Entry) {
	c.front.recount(e)
	if c.Get(e.Key) == e {
		c.set(e)
	}
}

// AddCodings makes the codings that are smaller than the identity body. Each has a tag of its own (RFC 9110, section 8.8.3.3).
// Together they are no larger than that body, which is what was reserved for them; else gzip, which fewer clients ask for, is left out.
func (e *Entry) AddCodings() {
	id := e.Identity()
	room := len(id.Body)
	if b := brotlied(id.Body); len(b) < room {
		e.variants[Brotli].Store(&Variant{Body: b, ETag: Suffixed(id.ETag, "br")})
		room -= len(b)
	}
	if b := gzipped(id.Body); len(b) < room {
		e.variants[Gzip].Store(&Variant{Body: b, ETag: Suffixed(id.ETag, "gzip")})
	}
	e.reserved.Store(0)
}

// Suffixed is the entity tag of a representation made from another: "abc" with br is "abc-br".
func Suffixed(etag, suffix string) string {
	return strings.TrimSuffix(etag, `"`) + "-" + suffix + `"`
}

var brotliWriters = sync.Pool{New: func() any { return brotli.NewWriterLevel(io.Discard, brotliLevel) }}

func brotlied(body []byte) []byte {
	w := brotliWriters.Get().(*brotli.Writer)
	defer brotliWriters.Put(w)
	return coded(w, body)
}

var gzipWriters = sync.Pool{New: func() any {
	w, err := kgzip.NewWriterLevel(io.Discard, gzip.DefaultCompression)
	if err != nil {
		panic(err) // a level that is not one
	}
	return w
}}

func gzipped(body []byte) []byte {
	w := gzipWriters.Get().(*kgzip.Writer)
	defer gzipWriters.Put(w)
	return coded(w, body)
}

// coded writes to memory, which does not fail.
func coded(w interface {
	io.WriteCloser
	Reset(io.Writer)
}, body []byte) []byte {
	buf := bytes.NewBuffer(make([]byte, 0, len(body)/2+64))
	w.Reset(buf)
	w.Write(body)
	w.Close()
	return bytes.Clone(buf.Bytes())
}
