package publish

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// ErrDescribed means that a folder has a pack.json already.
var ErrDescribed = errors.New("there is a pack.json already")

// A Draft is a pack.json that Init has written.
type Draft struct {
	Path    string
	Content string
	Review  []string // points that the operator has to check or to add
	Icons   int      // SVG files in the folder
}

// Init writes a pack.json into a folder of SVG files, from its package.json, its LICENSE file and
// its name, for the operator to review. It never changes one that is there. The error is
// ErrDescribed, or wraps ErrSource.
func Init(ctx context.Context, folder string) (*Draft, error) {
	p := &publication{}
	defer p.closeTrees()
	t, err := p.openTree(ctx, folder)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w: %w: %s", ErrSource, ErrNoSource, folder)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSource, err)
	}
	to := filepath.Join(folder, packFileName)
	if exists(t, packFileName) {
		return nil, fmt.Errorf("%w: %s; it was not changed", ErrDescribed, to)
	}
	w, err := findSVGs(t, ".")
	if err != nil {
		return nil, err
	}
	if len(w.files) == 0 {
		return nil, fmt.Errorf("%w: %s has no SVG files", ErrSource, folder)
	}
	d, err := draftOf(t, ".")
	if err != nil {
		return nil, err
	}
	content := string(d.Content) + "\n"
	file, err := t.root.OpenFile(packFileName, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, fmt.Errorf("writing %s: %w", to, err)
	}
	if _, err := strings.NewReader(content).WriteTo(file); err != nil {
		return nil, errors.Join(fmt.Errorf("writing %s: %w", to, err), file.Close(), t.root.Remove(packFileName))
	}
	return &Draft{Path: to, Content: content, Review: d.Review, Icons: len(w.files)}, file.Close()
}
