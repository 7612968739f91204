package lexicon

import (
	_ "embed"
	"fmt"
	"io"
	"sync"
)

// shipped is the compiled lexicon of the packages that tools/library/lexicon/package.json pins.
// `make lexicon` writes it; NOTICE has the licences of its sources.
//
//go:embed shipped.lex
var shipped []byte

// read decompresses it once, because a program may publish several times.
var read = sync.OnceValues(func() (*Compiled, error) { return ReadCompiled(shipped) })

// Shipped returns the compiled lexicon that is a part of the program. It also writes the content to
// sum, because the same content gives the same meanings.
func Shipped(sum io.Writer) (*Compiled, error) {
	if _, err := sum.Write(shipped); err != nil {
		return nil, err
	}
	c, err := read()
	if err != nil {
		return nil, fmt.Errorf("reading the lexicon of the program: %w", err)
	}
	return c, nil
}
