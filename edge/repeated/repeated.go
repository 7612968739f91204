// Package repeated has values of flags that may be given more than once.
package repeated

import (
	"fmt"
	"strings"
)

// A flag is the value of a flag that may be given more than once. Each use of the flag adds an
// item.
type flag[T any] struct {
	all  *[]T
	read func(string) (T, error)
}

// Flag returns a flag value that parses its text with read and appends to all.
func Flag[T any](all *[]T, read func(string) (T, error)) flag[T] { return flag[T]{all, read} }

// String returns the items as help shows them. It works on a zero value too, because the flag
// package calls it on one.
func (r flag[T]) String() string {
	if r.all == nil {
		return ""
	}
	var b strings.Builder
	for _, v := range *r.all {
		fmt.Fprintf(&b, " %v", v)
	}
	return strings.TrimPrefix(b.String(), " ")
}

// Set parses and adds an item.
func (r flag[T]) Set(s string) error {
	v, err := r.read(s)
	if err == nil {
		*r.all = append(*r.all, v)
	}
	return err
}

// Repeatable reports true: an environment variable may hold several values, separated by spaces.
func (r flag[T]) Repeatable() bool { return true }

// AsWritten returns a value unchanged, such as the path of a file.
func AsWritten(s string) (string, error) { return s, nil }

// InLowerCase returns a host name in lower case.
func InLowerCase(s string) (string, error) { return strings.ToLower(s), nil }
