package cache

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// SetLabel stores a small string in the disk tier; Label returns it after a restart. The label is
// replaced only when all earlier drops and purges are on disk. Without a disk tier it is not
// stored.
func (c *Cache) SetLabel(s string) {
	c.onDisk(func(d *disk) { d.setLabel(s) })
}

// Label returns the label that SetLabel stored last, in this run or an earlier one; empty: none.
func (c *Cache) Label() (s string) {
	c.onDisk(func(d *disk) {
		d.writing.Lock()
		defer d.writing.Unlock()
		s = d.label
	})
	return s
}

func (d *disk) labelPath() string { return filepath.Join(d.dir, "label") }

func (d *disk) setLabel(s string) {
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
