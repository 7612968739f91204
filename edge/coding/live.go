package coding

import (
	"encoding/binary"
	"hash/crc32"
	"io"
	"sync"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zstd"
	"github.com/molecule-man/go-brrr"
)

// Live codes bodies at a cheap level while they are sent. It is safe for concurrent use.
type Live interface {
	// Stream returns a coder of one body, which writes to w. It comes from a pool.
	Stream(w io.Writer) Stream
	// Light reports whether a stream between two parts holds some kilobytes only, so that there may
	// be thousands of them.
	Light() bool
}

// A Stream codes one body. Its errors are those of the writer to which it writes.
type Stream interface {
	io.Writer
	Flush() error // writes all of the body so far
	Close() error // writes the end of the coded body
	// Free returns the memory of the stream, with or without Close before. The stream must not be
	// used any more.
	Free()
}

// NewStream returns a coder of one body in a coding that Sent returns.
func NewStream(c Coding, w io.Writer) Stream { return rows[c].Live.Stream(w) }

// IsLight reports whether a stream of a coding holds little memory.
func IsLight(c Coding) bool { return rows[c].Live.Light() }

// liveBrotli is the level of br while a response is sent: three times as fast as level 5.
const liveBrotli = 3

type brotliLive struct{}

// A pooled stream is an encoder that returns to its pool. It holds less than a megabyte.
type pooled struct {
	encoder
	pool *sync.Pool
}

type encoder interface {
	io.WriteCloser
	Flush() error
	Reset(io.Writer)
}

func (s pooled) Free() {
	s.Reset(io.Discard)
	s.pool.Put(s.encoder)
}

var liveBrotlis = sync.Pool{New: func() any {
	w, err := brrr.NewWriterOptions(io.Discard, liveBrotli, brrr.WriterOptions{LGWin: smallWindow})
	if err != nil {
		panic(err) // an invalid option
	}
	return w
}}

func (brotliLive) Light() bool { return false }

func (brotliLive) Stream(w io.Writer) Stream { return streamOf(&liveBrotlis, w) }

func streamOf(pool *sync.Pool, w io.Writer) Stream {
	s := pooled{pool.Get().(encoder), pool}
	s.Reset(w)
	return s
}

// liveWindow is the window of zstd while a response is sent. It bounds the memory of a stream.
const liveWindow = 128 << 10

var liveZstds = sync.Pool{New: func() any {
	w, err := zstd.NewWriter(io.Discard, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true),
		zstd.WithWindowSize(liveWindow), zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		panic(err) // an invalid option
	}
	return w
}}

type zstdLive struct{}

func (zstdLive) Light() bool { return false }

func (zstdLive) Stream(w io.Writer) Stream { return streamOf(&liveZstds, w) }

type gzipLive struct{}

func (gzipLive) Light() bool { return true }

func (gzipLive) Stream(w io.Writer) Stream { return &gzipStream{w: w} }

const (
	// gzipPart is the number of bytes that a stream of gzip codes at once. They share the window of
	// deflate with those before.
	gzipPart   = 16 << 10
	gzipBefore = 8 << 10 // bytes before a part to which it may refer
	// worthBefore is the length of a part from which looking at all of gzipBefore is worth its
	// cost.
	worthBefore = 1 << 10
)

// gzipHead is the head of a member without a time and a name (RFC 1952, section 2.3.1).
var gzipHead = []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255}

// A gzipStream codes each part by itself, so that between two parts it holds only the end of the
// body so far, to which the next part refers.
type gzipStream struct {
	w      io.Writer
	sum    uint32
	length uint32 // modulo 2^32
	begun  bool
	held   []byte // the end of the body; its last parts are not coded yet
	coded  int    // bytes of held that are coded
}

func (s *gzipStream) Write(p []byte) (int, error) {
	written := len(p)
	s.sum, s.length = crc32.Update(s.sum, crc32.IEEETable, p), s.length+uint32(len(p))
	for len(p) > 0 {
		n := min(len(p), gzipPart-(len(s.held)-s.coded))
		s.held, p = append(s.held, p[:n]...), p[n:]
		if len(s.held)-s.coded == gzipPart {
			if err := s.code(false); err != nil {
				return 0, err
			}
		}
	}
	return written, nil
}

// code codes the rest of held; last means that the body ends.
func (s *gzipStream) code(last bool) error {
	if !s.begun {
		s.begun = true
		if _, err := s.w.Write(gzipHead); err != nil {
			return err
		}
	}
	part, before := s.held[s.coded:], s.held[:s.coded]
	if len(part) < worthBefore {
		before = before[max(0, len(before)-gzipBefore/4):]
	}
	if err := flate.StatelessDeflate(s.w, part, last, before); err != nil {
		return err
	}
	if drop := len(s.held) - gzipBefore; drop > 0 {
		s.held = s.held[:copy(s.held, s.held[drop:])]
	}
	s.coded = len(s.held)
	return nil
}

func (s *gzipStream) Flush() error {
	if len(s.held) == s.coded && s.begun {
		return nil
	}
	err := s.code(false)
	if cap(s.held) > gzipPart { // the body may pause for hours
		s.held = append(make([]byte, 0, len(s.held)), s.held...)
	}
	return err
}

func (s *gzipStream) Close() error {
	if err := s.code(true); err != nil {
		return err
	}
	tail := binary.LittleEndian.AppendUint32(nil, s.sum)
	_, err := s.w.Write(binary.LittleEndian.AppendUint32(tail, s.length))
	return err
}

func (s *gzipStream) Free() {}
