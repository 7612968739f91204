package pipeline

import (
	"io"
	"sync"

	"github.com/iconedge/iconedge/edge/observe"
)

// A countedStream is a body that counts the bytes sent, because its length is known only at the
// end.
type countedStream struct {
	io.ReadCloser
	sent int
	ends func()          // called at the end of the body; nil: nothing is
	To   *observe.Tally  // counts the bytes on Close; nil: nothing does
	Tell func(bytes int) // called on Close; nil: nothing is
}

func (s *countedStream) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	s.sent += n
	if err == io.EOF && s.ends != nil {
		s.ends()
	}
	return n, err
}

// WriteTo copies the body to w, and flushes w after each part, if w has a buffer. fasthttp's server
// would collect the parts of a body of known length.
func (s *countedStream) WriteTo(w io.Writer) (written int64, err error) {
	if file, ok := s.ReadCloser.(io.WriterTo); ok { // the connection may take it without a copy
		written, err = file.WriteTo(w)
		s.sent += int(written)
		if err == nil && s.ends != nil {
			s.ends()
		}
		return written, err
	}
	part := parts.Get().(*[32 << 10]byte)
	defer parts.Put(part)
	buffered, _ := w.(interface{ Flush() error })
	for {
		n, end := s.Read(part[:])
		if n > 0 {
			if n, err = w.Write(part[:n]); err == nil && buffered != nil {
				err = buffered.Flush()
			}
			written += int64(n)
		}
		switch {
		case err != nil:
			return written, err
		case end == io.EOF:
			return written, nil
		case end != nil:
			return written, end
		}
	}
}

var parts = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// Close reports the bytes sent, whether the response was complete or not. Only the first call does.
func (s *countedStream) Close() error {
	if s.To != nil {
		s.To.Send(s.sent)
		s.To = nil
	}
	if s.Tell != nil {
		s.Tell(s.sent)
		s.Tell = nil
	}
	return s.ReadCloser.Close()
}
