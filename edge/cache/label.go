package cache

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// SetLabel keeps a small string with the disk tier: Label gives it back after a restart. It is in place only when all drops and
// purges before it are on disk too. Without a tier nothing is kept.
func (c *Cache) SetLabel(s string) {
	c.onDisk(func(d *disk) { d.setLabel(s) })
}

// Label is what SetLabel kept last, in this life or an earlier one; empty, if nothing.
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

// replaceFile puts a new file in the place of an old one: whoever reads it finds the one or the other, whole.
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
