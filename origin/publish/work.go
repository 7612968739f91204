package publish

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

const workPattern = "iconedge-publish-*"

// workFolder makes a folder for temporary files. It removes the folders of publications that
// crashed more than a day ago.
func workFolder(parent string, now time.Time) (string, error) {
	if parent == "" {
		parent = os.TempDir()
	} else if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", fmt.Errorf("making a folder for temporary files: %w", err)
	}
	left, _ := filepath.Glob(filepath.Join(globQuote(parent), workPattern)) // the pattern is valid
	for _, path := range left {
		if fi, err := os.Stat(path); err == nil && now.Sub(fi.ModTime()) > 24*time.Hour {
			os.RemoveAll(path) // after an error, the next publication tries again
		}
	}
	work, err := os.MkdirTemp(parent, workPattern)
	if err != nil {
		return "", fmt.Errorf("making a folder for temporary files: %w", err)
	}
	return work, nil
}
