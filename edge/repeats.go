package edge

import (
	"fmt"
	"strings"
)

// A repeats is a flag that may be given more than once: each time adds what is read of its value.
type repeats[T any] struct {
	all  *[]T
	read func(string) (T, error)
}

// repeat is the flag of all.
func repeat[T any](all *[]T, read func(string) (T, error)) repeats[T] { return repeats[T]{all, read} }

// String is what help shows; the flag package asks it of a zero value too.
func (r repeats[T]) String() string {
	if r.all == nil {
		return ""
	}
	var b strings.Builder
	for _, v := range *r.all {
		fmt.Fprintf(&b, " %v", v)
	}
	return strings.TrimPrefix(b.String(), " ")
}

// Set adds a value.
func (r repeats[T]) Set(s string) error {
	v, err := r.read(s)
	if err == nil {
		*r.all = append(*r.all, v)
	}
	return err
}

// Repeatable says that in the environment several values are separated by spaces.
func (r repeats[T]) Repeatable() bool { return true }

// asWritten takes a value as it is, such as the path of a file.
func asWritten(s string) (string, error) { return s, nil }

// inLowerCase takes the name of a host.
func inLowerCase(s string) (string, error) { return strings.ToLower(s), nil }

func asItIs(s string) (string, error) { return s, nil }
