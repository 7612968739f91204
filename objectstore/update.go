package objectstore

import (
	"bytes"
	"context"
	"errors"
)

// updateTries bounds the tries of Update. Another one is needed only if another process has changed
// the object meanwhile.
const updateTries = 5

// Update replaces an object by the result of change, on the condition that no other process has
// changed it since change began, and tries again otherwise. Change reads the object itself, which
// may be missing. It may run several times. If it returns nil, the object stays as it is. The error
// is that of change or of the store, ErrChanged after the last try.
func Update(ctx context.Context, b Bucket, key string, change func() ([]byte, error)) (err error) {
	for range updateTries {
		if err = update(ctx, b, key, change); !errors.Is(err, ErrChanged) {
			return err
		}
	}
	return err
}

func update(ctx context.Context, b Bucket, key string, change func() ([]byte, error)) error {
	// Stat before reading, so that the content is at least as new as the tag.
	before, err := b.Stat(ctx, key)
	if err != nil && !errors.Is(err, ErrNotExist) {
		return err
	}
	body, err := change()
	if err != nil || body == nil {
		return err
	}
	return b.PutIf(ctx, key, bytes.NewReader(body), int64(len(body)), before.ETag)
}
