// Package inflate decodes gzip members (RFC 1952) whose decoded length is known, from one piece of
// memory into another, with a pool of decoders.
package inflate

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// ErrCorrupt means that the data is not one gzip member of the given length.
var ErrCorrupt = errors.New("malformed gzip data, or data of another length")

var readers = sync.Pool{New: func() any { return new(gzip.Reader) }}

// Member decodes a member into dst, which has the length of the decoded data, and verifies the
// checksum. No byte may follow the member. The error is ErrCorrupt.
func Member(dst, member []byte) error {
	r := readers.Get().(*gzip.Reader)
	defer readers.Put(r)
	from := bytes.NewReader(member)
	if err := r.Reset(from); err != nil {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	r.Multistream(false)
	if _, err := io.ReadFull(r, dst); err != nil {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	// At the end of the member the reader verifies the checksum.
	if n, err := r.Read(make([]byte, 1)); n != 0 || err != io.EOF || from.Len() > 0 {
		return ErrCorrupt
	}
	return nil
}
