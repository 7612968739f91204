// Package objectstore keeps objects under keys, in a folder (Dir) or in a bucket of an S3-compatible service. Both behave the
// same, which storetest checks: a reader sees the old object or the new one, whole; PutIf lets one of many writers win; and an
// error says whether the object, the bucket, the permission or the endpoint is what is missing.
//
// A key is one to 1024 bytes of UTF-8, segments of at most 255 bytes joined by single slashes. No segment is "." or "..",
// and there are no control characters (NUL among them) and no backslash. A key names an object or a folder of others, never both, as in a file system;
// keys under ".iconedge/" are the folder store's own.
//
// The package imports minio-go, in s3.go alone, and nothing of ours.
package objectstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"
)

// What can be wrong, apart from what the standard library says. Errors of this package wrap them; their text is one line that
// names the store, and never holds a secret.
var (
	ErrNotExist    = errors.New("no such object")
	ErrChanged     = errors.New("the object is not what it was")        // the condition of PutIf does not hold
	ErrKey         = errors.New("not a usable key")                     // malformed, or it leads out of the store
	ErrNoBucket    = errors.New("no such bucket")                       // or, of a dir: store, not a folder
	ErrDenied      = errors.New("access denied")                        // wrong or missing credentials, or not enough rights
	ErrUnreachable = errors.New("the endpoint can't be reached")        // or does not do its work at the moment
	ErrAddress     = errors.New("not the address of a store")           // see Address
	ErrTooLarge    = errors.New("the object is larger than is allowed") // see ReadAll and MaxPutIf
)

// MaxPutIf is the largest object that PutIf takes, in bytes: one request to an S3 endpoint. The parts of a larger one would
// be uploaded before the condition is looked at.
const MaxPutIf = 16 << 20

// An Info is what a store knows of an object. Size is in bytes. ETag changes when the content does; it is compared and never
// parsed. List may leave it empty, where finding it would mean reading the object; Stat never does.
type Info struct {
	Key      string
	Size     int64
	Modified time.Time
	ETag     string
}

// A Reader opens objects. An absent one is ErrNotExist.
type Reader interface {
	Open(ctx context.Context, key string) (io.ReadCloser, error)
}

// A RangeReader opens parts of objects as well: n bytes from offset off, fewer where the object ends before, all the rest
// where n is negative. An offset at or past the end gives an empty reader.
type RangeReader interface {
	Reader
	OpenRange(ctx context.Context, key string, off, n int64) (io.ReadCloser, error)
}

// A Bucket is a whole store. All its methods may be called at once, also from several processes.
type Bucket interface {
	RangeReader
	Stat(ctx context.Context, key string) (Info, error)
	// Put stores what r yields until its end. Size is how many bytes that is (any other number is an error), or -1 where it
	// is not known. The object shows when all of it is durable; after an error the old one is still there.
	Put(ctx context.Context, key string, r io.Reader, size int64) error
	// PutIf is Put on a condition: that the object's ETag is etag or, where etag is "", that there is no object. Else it is
	// ErrChanged. At most MaxPutIf bytes. It is tried once: after ErrUnreachable it may have happened or not.
	PutIf(ctx context.Context, key string, r io.Reader, size int64, etag string) error
	// Delete removes an object; an absent one is no error.
	Delete(ctx context.Context, key string) error
	// List yields the objects whose keys start with prefix, sorted by key (bytewise). It ends after the first error.
	List(ctx context.Context, prefix string) iter.Seq2[Info, error]
}

// ReadAll reads an object of at most limit bytes; a larger one is ErrTooLarge.
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
