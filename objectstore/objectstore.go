// Package objectstore keeps objects under keys, in a folder (Dir) or in a bucket of an
// S3-compatible service. All stores behave alike, as storetest checks: a reader sees either the old
// or the new version of an object, and all of it; of several concurrent calls of PutIf, one
// succeeds; and an error says whether the object, the bucket, the permission or the endpoint is
// missing.
//
// A key is 1 to 1024 bytes of UTF-8. It consists of segments of at most 255 bytes, joined by single
// slashes. No segment is "." or "..", and there are no control characters (such as NUL) and no
// backslashes. As in a file system, a key names either an object or a folder of others, never both.
// Keys under ".iconedge/" are reserved for the folder store.
//
// The package imports minio-go, only in s3.go, and no other package of this module.
package objectstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"
)

// Errors of this package wrap one of these, or an error of the standard library. Their text is one
// line that names the store, and never contains a secret.
var (
	ErrNotExist = errors.New("no such object")
	ErrChanged  = errors.New("the object has changed") // the condition of PutIf is false
	// ErrKey means that a key is malformed, or leads out of the store.
	ErrKey = errors.New("not a usable key")
	// ErrNoBucket means that the bucket is missing or, for a dir: store, that there is no folder.
	ErrNoBucket = errors.New("no such bucket")
	// ErrDenied means that the credentials are wrong, missing or insufficient.
	ErrDenied = errors.New("access denied")
	// ErrUnreachable means that the endpoint can't be reached, or is failing at the moment.
	ErrUnreachable = errors.New("the endpoint can't be reached")
	ErrAddress     = errors.New("not the address of a store")        // see Address
	ErrTooLarge    = errors.New("the object exceeds the size limit") // see ReadAll and MaxPutIf
)

// MaxPutIf is the largest object that PutIf accepts, in bytes: one request to an S3 endpoint. For a
// larger object, the client would upload parts before the endpoint checks the condition.
const MaxPutIf = 16 << 20

// An Info describes an object. Size is in bytes. ETag changes with the content; callers compare it
// and never parse it. List may leave it empty if computing it would mean reading the object; Stat
// always sets it.
type Info struct {
	Key      string
	Size     int64
	Modified time.Time
	ETag     string
}

// A Reader opens objects. It returns ErrNotExist for a missing object.
type Reader interface {
	Open(ctx context.Context, key string) (io.ReadCloser, error)
}

// A RangeReader also opens parts of objects: n bytes from offset off, fewer if the object ends
// earlier, or all the rest if n is negative. An offset at or past the end gives an empty reader.
type RangeReader interface {
	Reader
	OpenRange(ctx context.Context, key string, off, n int64) (io.ReadCloser, error)
}

// A Bucket is a complete store. All its methods may be called concurrently, also from several
// processes.
type Bucket interface {
	RangeReader
	Stat(ctx context.Context, key string) (Info, error)
	// Put stores everything that r yields. Size is the number of bytes, or -1 if it is unknown; any
	// other number of bytes is an error. The object becomes visible when all of it is durable;
	// after an error, the old object is still there.
	Put(ctx context.Context, key string, r io.Reader, size int64) error
	// PutIf is Put on a condition: the object has the ETag etag or, if etag is "", does not exist.
	// Otherwise PutIf returns ErrChanged. It accepts at most MaxPutIf bytes. It tries once, so
	// after ErrUnreachable the write may or may not have happened.
	PutIf(ctx context.Context, key string, r io.Reader, size int64, etag string) error
	// Delete removes an object. A missing object is not an error.
	Delete(ctx context.Context, key string) error
	// List yields the objects whose keys start with prefix, sorted bytewise by key. It ends after
	// the first error.
	List(ctx context.Context, prefix string) iter.Seq2[Info, error]
}

// ReadAll reads an object of at most limit bytes. For a larger one it returns ErrTooLarge.
func ReadAll(ctx context.Context, r Reader, key string, limit int64) ([]byte, error) {
	f, err := r.Open(ctx, key)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", key, err)
	}
	if int64(len(b)) > limit {
		return nil, fmt.Errorf("reading %s: %w: more than %d bytes", key, ErrTooLarge, limit)
	}
	return b, nil
}
