package publish

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// A Failure is a pack, or a source, that can't be published.
type Failure struct {
	Name string // key of the pack, or the source
	Err  error
}

// Failures are the packs that can't be published, as an error. The release has the other packs, if
// Summary.Release is not empty and Refused is not set.
type Failures []Failure

func (f Failures) Error() string {
	texts := make([]string, len(f))
	for i, one := range f {
		texts[i] = strings.TrimSpace(one.Err.Error())
	}
	return strings.Join(texts, "; ")
}

// Unwrap returns the errors of the packs.
func (f Failures) Unwrap() []error {
	errs := make([]error, len(f))
	for i, one := range f {
		errs[i] = one.Err
	}
	return errs
}

// fail records that a pack can't be published, and returns nil: the publication goes on without it.
// It returns the error if the publication has to end: by Options.FailFast, or because the error is
// that of the call, the context, the disk or the store.
func (p *publication) fail(name string, err error) error {
	if p.FailFast || !ofPack(err) {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sum.Failed = append(p.sum.Failed, Failure{name, err})
	return nil
}

// ofPack reports whether an error is that of a pack.
func ofPack(err error) bool {
	for _, not := range []error{ErrNoSource, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, not) {
			return false
		}
	}
	for _, is := range []error{ErrSource, ErrNoLicense, ErrEmptyPack, ErrTwice, ErrClash} {
		if errors.Is(err, is) {
			return true
		}
	}
	return false
}

// failed returns the error for the packs that can't be published; nil if there are none.
func (p *publication) failed() error {
	switch n := len(p.sum.Failed); {
	case n == 0:
		return nil
	case p.sum.Release == "":
		return fmt.Errorf("nothing was published: %w", p.sum.Failed)
	default:
		return fmt.Errorf("%s not published: %w", counted(n, "pack"), p.sum.Failed)
	}
}
