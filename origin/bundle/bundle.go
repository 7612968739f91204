// Package bundle keeps files that are too large for the memory of the origin and take a while to
// make: it makes each of them once, on disk, few at a time, and keeps those used last. A file is
// opened by a key, which names its content: other content has another key. Its readers can follow
// it while it is being made.
//
// The files are unlinked as soon as they are created, so that nothing stays after a crash. They are
// bounded by their number and their size together.
package bundle

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"
)

// Bounds of the files that a Store keeps. Files in use count, and stay until they are closed.
const (
	maxFiles = 24
	maxBytes = 512 << 20
)

// patience is how long a file waits for others to be made. It is shorter than an edge waits.
const patience = 8 * time.Second

// bufferBytes is how much readers get at a time of a file that is being made.
const bufferBytes = 64 << 10

// ErrBusy means that other files are being made for longer than that.
var ErrBusy = errors.New("other archives are being made at the moment")

// A Store keeps files.
type Store struct {
	create func() (*os.File, error)
	making chan struct{} // a slot for each file being made; requests keep processors

	mu    sync.Mutex
	files map[string]*entry
	turn  int64 // counts uses
}

// An entry is a file of a store.
type entry struct {
	more  chan struct{} // closed when there are more bytes, or the file is whole, or has failed
	file  *os.File      // nil: its turn has not come
	size  int64         // bytes that are there
	whole bool
	err   error // why it will never be whole

	users int   // readers, and the goroutine that makes it
	used  int64 // the turn of its last use
	gone  bool  // the store has it no more, so its last user closes it
}

// New returns a store. create creates an empty file, to read and to write, which nobody else opens.
func New(create func() (*os.File, error)) *Store {
	slots := max(1, runtime.GOMAXPROCS(0)/2)
	return &Store{create: create, making: make(chan struct{}, slots), files: map[string]*entry{}}
}

// A Source writes the content of a file. Its Done is called when nobody will call Write any more.
type Source struct {
	Write func(io.Writer) error
	Done  func()
}

// Open opens the file of a key. If there is none, source makes it, to the end, whatever becomes of
// the caller. Open calls the Done of every source.
func (s *Store) Open(key string, source Source) *File {
	s.mu.Lock()
	e := s.files[key]
	first := e == nil
	if first {
		e = &entry{more: make(chan struct{}), users: 1}
		s.files[key] = e
	}
	s.turn++
	e.users, e.used = e.users+1, s.turn
	s.mu.Unlock()
	if first {
		go s.make(key, e, source)
	} else {
		source.Done()
	}
	return &File{store: s, entry: e}
}

// make makes the file of an entry.
func (s *Store) make(key string, e *entry, source Source) {
	err := errors.New("a panic has ended the making of an archive")
	defer func() {
		source.Done()
		s.mu.Lock()
		e.whole, e.err = err == nil, err
		if err != nil {
			e.gone = true
			if s.files[key] == e {
				delete(s.files, key)
			}
		}
		close(e.more)
		s.shrink()
		s.mu.Unlock()
		s.release(e)
	}()
	wait := time.NewTimer(patience)
	defer wait.Stop()
	select {
	case s.making <- struct{}{}:
		defer func() { <-s.making }()
	case <-wait.C:
		err = ErrBusy
		return
	}
	var file *os.File
	if file, err = s.create(); err != nil {
		return
	}
	os.Remove(file.Name()) // where an open file can't be removed, the sweep of the folder does
	s.mu.Lock()
	e.file = file
	s.mu.Unlock()
	out := bufio.NewWriterSize(&growing{s, e, file}, bufferBytes)
	if err = source.Write(out); err == nil {
		err = out.Flush()
	}
}

// A growing file tells its readers of each write.
type growing struct {
	store *Store
	entry *entry
	file  *os.File
}

func (g *growing) Write(p []byte) (int, error) {
	n, err := g.file.Write(p)
	g.store.mu.Lock()
	defer g.store.mu.Unlock()
	e := g.entry
	e.size += int64(n)
	close(e.more)
	e.more = make(chan struct{})
	return n, err
}

// release ends the use of an entry.
func (s *Store) release(e *entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e.users--
	s.closeUnused(e)
}

func (s *Store) closeUnused(e *entry) {
	if e.users == 0 && e.gone && e.file != nil {
		e.file.Close()
		e.file = nil
	}
}

// shrink removes the files that were used longest ago, until the rest is within the bounds.
func (s *Store) shrink() {
	var keys []string
	bytes := int64(0)
	for key, e := range s.files {
		keys, bytes = append(keys, key), bytes+e.size
	}
	slices.SortFunc(keys, func(a, b string) int { return int(s.files[a].used - s.files[b].used) })
	for n, key := range keys {
		if len(keys)-n <= maxFiles && bytes <= maxBytes || n == len(keys)-1 {
			return
		}
		e := s.files[key]
		bytes -= e.size
		delete(s.files, key)
		e.gone = true
		s.closeUnused(e)
	}
}

// A File is a reader of a file of a store. It is for one goroutine, which closes it.
type File struct {
	store *Store
	entry *entry
	at    int64
}

// state returns the present state of the file, and a channel that is closed when it changes.
func (f *File) state() (entry, <-chan struct{}) {
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	return *f.entry, f.entry.more
}

// Begun waits until the file has begun, and for a moment until it is whole. The error is ErrBusy,
// that of the source, or that of ctx.
func (f *File) Begun(ctx context.Context, moment time.Duration) error {
	wait := time.NewTimer(moment)
	defer wait.Stop()
	over := wait.C
	for {
		now, more := f.state()
		switch {
		case now.err != nil, now.whole, over == nil && now.size > 0:
			return now.err
		}
		select {
		case <-more:
		case <-over:
			over = nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Whole returns the whole file; nil: it is still being made.
func (f *File) Whole() *io.SectionReader {
	now, _ := f.state()
	if !now.whole {
		return nil
	}
	return io.NewSectionReader(now.file, 0, now.size)
}

// Read implements io.Reader. It waits for bytes that are still to come.
func (f *File) Read(p []byte) (int, error) {
	for {
		now, more := f.state()
		switch {
		case f.at < now.size:
			n, err := now.file.ReadAt(p[:min(int64(len(p)), now.size-f.at)], f.at)
			f.at += int64(n)
			return n, err
		case now.err != nil:
			return 0, now.err
		case now.whole:
			return 0, io.EOF
		}
		<-more
	}
}

// Close lets the store remove the file.
func (f *File) Close() error {
	f.store.release(f.entry)
	return nil
}
