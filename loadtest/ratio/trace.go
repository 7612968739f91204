package ratio

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// A Trace is a sequence of requests for objects, which are numbered from 0.
type Trace struct {
	Name     string
	Requests []uint32 // numbers of objects
	Sizes    []int    // bytes of each object's body; nil: all objects have usualSize
	Objects  int
}

// usualSize is the size of a body where the trace has none, in bytes: a large icon.
const usualSize = 1500

// maxSize is the size of the largest body, in bytes. An edge stores larger ones in slices.
const maxSize = 1 << 20

// size returns the bytes of an object's body.
func (t *Trace) size(object uint32) int {
	if t.Sizes == nil {
		return usualSize
	}
	return t.Sizes[object]
}

// Sized reports whether objects differ in size.
func (t *Trace) Sized() bool { return t.Sizes != nil }

// Read reads a trace: a line for each request, with a key, and optionally the size of the object in
// bytes. An object keeps the size of its first line, up to 1 MiB. The text may be in gzip. Lines
// that begin with * or # are comments.
func Read(name string, r io.Reader) (*Trace, error) {
	in := bufio.NewReader(r)
	if start, _ := in.Peek(2); bytes.Equal(start, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		in = bufio.NewReader(z)
	}
	t, numbers := &Trace{Name: name}, map[string]uint32{}
	lines := bufio.NewScanner(in)
	for n := 1; lines.Scan(); n++ {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 || strings.HasPrefix(fields[0], "*") || strings.HasPrefix(fields[0], "#") {
			continue
		}
		object, known := numbers[fields[0]]
		if !known {
			object = uint32(len(numbers))
			numbers[fields[0]] = object
			if err := t.addSize(fields); err != nil {
				return nil, fmt.Errorf("%s: line %d: %w", name, n, err)
			}
		}
		t.Requests = append(t.Requests, object)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if t.Objects = len(numbers); t.Objects == 0 {
		return nil, fmt.Errorf("%s has no requests: it must have a line with a key for each", name)
	}
	return t, nil
}

// addSize records the size of the next object. Either all objects have a size or none has.
func (t *Trace) addSize(fields []string) error {
	if len(fields) == 1 && t.Sizes == nil {
		return nil
	}
	if len(fields) == 1 || t.Sizes == nil && len(t.Requests) > 0 {
		return fmt.Errorf("%q: either each line has a size or none", strings.Join(fields, " "))
	}
	size, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil || size < 0 {
		return fmt.Errorf("%q is no size in bytes", fields[1])
	}
	t.Sizes = append(t.Sizes, int(min(size, maxSize)))
	return nil
}
