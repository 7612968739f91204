package files

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"
)

// A Set is the files that an operator named, each for one purpose. Its zero value is empty.
type Set struct {
	kept map[string]*Kept
	errs []error
}

// Add opens the file at path, where one is named, for the purpose of a flag. What goes wrong is for Err.
func (s *Set) Add(flag, path string, open func(path string) (*Kept, error)) {
	if path == "" {
		return
	}
	k, err := open(path)
	if err != nil {
		s.errs = append(s.errs, fmt.Errorf("%s: %w", flag, err))
		return
	}
	if s.kept == nil {
		s.kept = map[string]*Kept{}
	}
	s.kept[flag] = k
}

// Err names every file that could not be used.
func (s *Set) Err() error { return errors.Join(s.errs...) }

// Run reads each file again when it changes, and all when somebody says so, until ctx ends. It logs what came of it.
func (s *Set) Run(ctx context.Context, said <-chan os.Signal, log *slog.Logger) {
	told := func(flag string, err error) {
		if err != nil {
			log.Error("a file can't be used; what it said before stays", "flag", flag, "err", err)
			return
		}
		log.Info("a file was read again", "flag", flag)
	}
	for flag, k := range s.kept {
		go k.Run(ctx, nil, func(err error) { told(flag, err) })
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-said:
			for flag, k := range s.kept {
				told(flag, k.Reload(time.Now()))
			}
		}
	}
}
