package objectstore

import (
	"context"
	"errors"
	"fmt"
	"io"
)

var (
	errShort = errors.New("the content is shorter than was said")
	errLong  = errors.New("the content is longer than was said")
)

// A source is the content of a write. It ends with io.EOF only when the content is complete: as long as was said, where that
// was said. Any other end is an error of its own, never a bare io.ErrUnexpectedEOF, which readers of blocks (io.ReadFull, and
// minio-go's) take for the end of a last, shorter block: half an object would be stored as a whole one.
type source struct {
	ctx  context.Context
	r    io.Reader
	size int64 // -1: not known
	read int64
}

func (s *source) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, fmt.Errorf("reading the content: %w", err)
	}
	n, err := s.r.Read(p)
	s.read += int64(n)
	switch {
	case s.size >= 0 && s.read > s.size:
		return 0, errLong
	case err == io.EOF && s.size >= 0 && s.read < s.size:
		return n, errShort
	case err == nil || err == io.EOF:
		return n, err
	}
	return n, fmt.Errorf("reading the content: %w", err)
}

// readSmall reads the content of a conditional write into memory. More than MaxPutIf bytes are ErrTooLarge.
func readSmall(s *source) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(s, MaxPutIf+1))
	if err != nil {
		return nil, err
	}
	if len(b) > MaxPutIf {
		return nil, fmt.Errorf("%w: a conditional write takes %d bytes", ErrTooLarge, MaxPutIf)
	}
	return b, nil
}
