package coding

import (
	"bytes"
	"compress/gzip"
	"io"
	"sync"

	kgzip "github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/molecule-man/go-brrr"
)

const (
	brotliLevel = 5 // about as fast as gzip 6, and smaller
	// smallWindow is the logarithm of the window for bodies that fit into it: 65,520 bytes. Its
	// tables are smaller, and so are the bodies, by some bytes.
	smallWindow = 16
	fitsWindow  = 1<<smallWindow - 16 // RFC 7932, section 9.1
)

// brotliWriters pools encoders, for bodies that fit into the small window and for longer ones.
var brotliWriters = [...]sync.Pool{brotliPool(smallWindow), brotliPool(0)}

// brotliPool returns a pool of encoders with a window; 0: the default one.
func brotliPool(window int) sync.Pool {
	return sync.Pool{New: func() any {
		w, err := brrr.NewWriterOptions(io.Discard, brotliLevel, brrr.WriterOptions{LGWin: window})
		if err != nil {
			panic(err) // an invalid option
		}
		return w
	}}
}

// brotliEncoder is brotli with a window for the length of the body.
type brotliEncoder struct{}

func (brotliEncoder) Encode(body []byte) []byte {
	pool := &brotliWriters[0]
	if len(body) > fitsWindow {
		pool = &brotliWriters[1]
	}
	w := pool.Get().(*brrr.Writer)
	defer pool.Put(w)
	return encodeWith(w, body)
}

var gzipWriters = sync.Pool{New: func() any {
	w, err := kgzip.NewWriterLevel(io.Discard, gzip.DefaultCompression)
	if err != nil {
		panic(err) // an invalid level
	}
	return w
}}

// gzipEncoder is gzip of the default level.
type gzipEncoder struct{}

func (gzipEncoder) Encode(body []byte) []byte {
	w := gzipWriters.Get().(*kgzip.Writer)
	defer gzipWriters.Put(w)
	return encodeWith(w, body)
}

// zstdWindow is far below the 8 MiB that clients must support (RFC 9659), and bounds the memory of
// the encoder.
const zstdWindow = 1 << 20

var zstdWriter = sync.OnceValue(func() *zstd.Encoder {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(zstdWindow))
	if err != nil {
		panic(err) // an invalid option
	}
	return w
})

// zstdEncoder is zstd of the default level.
type zstdEncoder struct{}

func (zstdEncoder) Encode(body []byte) []byte {
	return bytes.Clone(zstdWriter().EncodeAll(body, make([]byte, 0, len(body)/2+64)))
}

// encodeWith writes to memory, which cannot fail.
func encodeWith(w interface {
	io.WriteCloser
	Reset(io.Writer)
}, body []byte) []byte {
	buf := bytes.NewBuffer(make([]byte, 0, len(body)/2+64))
	w.Reset(buf)
	w.Write(body)
	w.Close()
	return bytes.Clone(buf.Bytes())
}
