package objectstore

import (
	"context"
	"errors"
	"fmt"
	"io"
)

var (
	errShort = errors.New("the content is shorter than its announced size")
	errLong  = errors.New("the content is longer than its announced size")
)

// A source is the content of a write. It ends with io.EOF only when the content is complete and has
// its announced size. Any other end is a distinct error, never a bare io.ErrUnexpectedEOF: readers
// of blocks (io.ReadFull, and minio-go's own) take that for a last, shorter block, and would store
// half an object as a complete one.
type source struct {
	ctx  context.Context
	r    io.Reader
	size int64 // -1: unknown
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

// readSmall reads the content of a conditional write into memory. It returns ErrTooLarge for more
// than MaxPutIf bytes.
func readSmall(s *source) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(s, MaxPutIf+1))
	if err != nil {
		return nil, err
	}
	if len(b) > MaxPutIf {
		return nil, fmt.Errorf("%w: a conditional write accepts at most %d bytes", ErrTooLarge, MaxPutIf)
	}
	return b, nil
}
