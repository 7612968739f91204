package harness

import (
	"os"
	"os/exec"
	"testing"
)

// Browser returns the path of a Chromium: ICONEDGE_BROWSER, or the first that is installed. The
// shell is preferred, because it has Chromium's engine and network stack without its windows, and
// takes half of the processor time.
func Browser(t *testing.T) string {
	t.Helper()
	names := []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"}
	if name := os.Getenv("ICONEDGE_BROWSER"); name != "" {
		names = []string{name}
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	Missing(t, "%v: not installed; as root, `make test` installs one", names)
	return ""
}
