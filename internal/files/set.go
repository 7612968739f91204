package files

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"
)

// A Set holds the files that flags name. Its zero value is empty.
type Set struct {
	byFlag map[string]*Watched
	errs   []error
}

// Add opens the file at path, if it is not empty, for a flag. Err returns the errors of all calls.
func (s *Set) Add(flag, path string, open func(path string) (*Watched, error)) {
	if path == "" {
		return
	}
	k, err := open(path)
	if err != nil {
		s.errs = append(s.errs, fmt.Errorf("%s: %w", flag, err))
		return
	}
	if s.byFlag == nil {
		s.byFlag = map[string]*Watched{}
	}
	s.byFlag[flag] = k
}

// Err returns an error that names every flag whose file can't be used.
func (s *Set) Err() error { return errors.Join(s.errs...) }

// Run reads each file again when it changes, and all files when a signal arrives, until ctx ends.
// It logs the results.
func (s *Set) Run(ctx context.Context, signals <-chan os.Signal, log *slog.Logger) {
	report := func(flag string, err error) {
		if err != nil {
			log.Error("invalid file; the previous content stays in use", "flag", flag, "err", err)
			return
		}
		log.Info("file read again", "flag", flag)
	}
	for flag, k := range s.byFlag {
		go k.Run(ctx, nil, func(err error) { report(flag, err) })
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-signals:
			for flag, k := range s.byFlag {
				report(flag, k.Reload(time.Now()))
			}
		}
	}
}
