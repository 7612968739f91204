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

// encode queues an entry whose codings are still to be made; where the queue is full a later request for it will.
func (c *Cache) encode(e *Entry) {
	if v := e.Identity(); v == nil || len(v.Body) < minCoded || !compressible(e.ContentType) {
		e.coded.Store(true)
	}
	if !e.coded.CompareAndSwap(false, true) {
		return
	}
	c.pending.Add(1)
	select {
	case c.codings <- e:
	default:
		c.pending.Done()
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
func (c *Cache) Settle() { c.pending.Wait() }

// startCoders starts as many goroutines that make codings as half the processors: requests come first.
func (c *Cache) startCoders() {
	for range max(1, runtime.GOMAXPROCS(0)/2) {
		go func() {
			for {
				select {
				case e := <-c.codings:
					e.AddCodings()
					c.grown(e)
					c.pending.Done()
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
func (e *Entry) AddCodings() {
	id := e.Identity()
	if b := brotlied(id.Body); len(b) < len(id.Body) {
		e.variants[Brotli].Store(&Variant{Body: b, ETag: Suffixed(id.ETag, "br")})
	}
	if b := gzipped(id.Body); len(b) < len(id.Body) {
		e.variants[Gzip].Store(&Variant{Body: b, ETag: Suffixed(id.ETag, "gzip")})
	}
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
