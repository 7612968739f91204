package publish

import (
	"bufio"
	"cmp"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/iconedge/iconedge/origin/search"
)

// saveDocs moves the documents of a pack to a file in the working folder, because those of a large
// library would take more memory than all else.
func (p *publication) saveDocs(k *pack) (err error) {
	f, err := os.Create(p.docsFile(k))
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, f.Close()) }()
	buf := bufio.NewWriterSize(f, 1<<16)
	enc := gob.NewEncoder(buf)
	for i := range k.docs {
		if err := enc.Encode(&k.docs[i]); err != nil {
			return fmt.Errorf("writing the documents of the pack %s: %w", k.about().key, err)
		}
	}
	k.docs = nil
	return buf.Flush()
}

func (p *publication) docsFile(k *pack) string { return filepath.Join(p.work, k.about().key+".docs") }

// savedDocs passes the documents of packs, in the order of their keys. It sets err if a file can't
// be read.
func (p *publication) savedDocs(packs []*pack, err *error) iter.Seq[search.Doc] {
	packs = slices.SortedFunc(slices.Values(packs), func(a, b *pack) int { return strings.Compare(a.about().key, b.about().key) })
	return func(yield func(search.Doc) bool) {
		for _, k := range packs {
			more, failed := readDocs(p.docsFile(k), yield)
			if failed != nil {
				*err = fmt.Errorf("reading the documents of the pack %s: %w", k.about().key, failed)
			}
			if !more {
				return
			}
		}
	}
}

// readDocs passes the documents in a file until yield returns false. It reports whether yield wants
// more.
func readDocs(path string, yield func(search.Doc) bool) (more bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	dec := gob.NewDecoder(bufio.NewReaderSize(f, 1<<16))
	for {
		var d search.Doc
		if err := dec.Decode(&d); errors.Is(err, io.EOF) {
			return true, nil
		} else if err != nil {
			return false, err
		}
		if !yield(d) {
			return false, nil
		}
	}
}
