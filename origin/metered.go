package origin

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/iconedge/iconedge/objectstore"
	"github.com/iconedge/iconedge/trace"
)

// A metered store tells how long its answers take to begin, and what goes wrong with them.
type metered struct {
	store objectstore.Reader
	tell  func(operation string, took time.Duration)
	fault func(operation string)
}

const operationOpen = "open" // all that an origin does with a store

// Open is objectstore.Reader's.
func (m metered) Open(ctx context.Context, key string) (io.ReadCloser, error) {
	began := time.Now()
	step := trace.From(ctx).Do("store " + operationOpen)
	f, err := m.store.Open(ctx, key)
	m.tell(operationOpen, time.Since(began))
	step.Done(fault(err))
	if err != nil {
		m.judge(err)
		return nil, err
	}
	return meteredObject{f, m}, nil
}

// judge counts an error, if it is the store's.
func (m metered) judge(err error) {
	if fault(err) != nil {
		m.fault(operationOpen)
	}
}

// fault is an error that is the store's: not one that tells that there is no such object, or that nobody waits any more.
func fault(err error) error {
	if errors.Is(err, objectstore.ErrNotExist) || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// A meteredObject is an object that is being read.
type meteredObject struct {
	io.ReadCloser
	of metered
}

func (o meteredObject) Read(p []byte) (int, error) {
	n, err := o.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		o.of.judge(err)
	}
	return n, err
}
