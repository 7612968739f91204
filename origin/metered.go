package origin

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/iconedge/iconedge/internal/trace"
	"github.com/iconedge/iconedge/objectstore"
)

// A metered store reports how long each object takes to open, and its failures.
type metered struct {
	store  objectstore.Reader
	opened func(operation string, took time.Duration) // after each call, also a failed one
	failed func(operation string)
}

const operationOpen = "open" // the only operation that an origin uses

// Open implements objectstore.Reader.
func (m metered) Open(ctx context.Context, key string) (io.ReadCloser, error) {
	began := time.Now()
	step := trace.From(ctx).Do("store " + operationOpen)
	f, err := m.store.Open(ctx, key)
	m.opened(operationOpen, time.Since(began))
	step.Done(failure(err))
	if err != nil {
		m.count(err)
		return nil, err
	}
	return meteredObject{f, m}, nil
}

// count reports an error if it is a failure of the store.
func (m metered) count(err error) {
	if failure(err) != nil {
		m.failed(operationOpen)
	}
}

// failure returns err if it is a failure of the store, otherwise nil. An absent object is not a
// failure, nor is a call that its caller has cancelled.
func failure(err error) error {
	if errors.Is(err, objectstore.ErrNotExist) || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// A meteredObject reports failures while an object is read.
type meteredObject struct {
	io.ReadCloser
	store metered
}

func (o meteredObject) Read(p []byte) (int, error) {
	n, err := o.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		o.store.count(err)
	}
	return n, err
}
