package disk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

func (d *Tier) labelPath() string { return filepath.Join(d.Dir, "label") }

// SetLabel replaces the label when all earlier drops and purges are on disk.
func (d *Tier) SetLabel(s string) {
	d.writing.Lock()
	defer d.writing.Unlock()
	if s == d.label || d.failed {
		return
	}
	if err := errors.Join(d.sync(), replaceFile(d.labelPath(), s)); err != nil {
		d.fail(err)
		return
	}
	d.label = s
}

// Label returns the label that was set last, in this run or an earlier one; empty: none.
func (d *Tier) Label() string {
	d.writing.Lock()
	defer d.writing.Unlock()
	return d.label
}

// replaceFile replaces a file atomically: a reader gets the old or the new content.
func replaceFile(path, content string) error {
	f, err := os.Create(path + ".new")
	if err != nil {
		return fmt.Errorf("writing the label of the cache: %w", err)
	}
	_, err = f.WriteString(content)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err == nil {
		err = syncDir(filepath.Dir(path))
	}
	if err != nil {
		return fmt.Errorf("writing the label of the cache: %w", err)
	}
	return nil
}
