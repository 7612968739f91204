package harness

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// NPM returns the folder of a package that tools/package.json pins; `make test` installs them.
func NPM(t *testing.T, name string) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "..", "tools", "node_modules", name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); err != nil {
		Missing(t, "%s is not installed: run `make test`, which installs it", name)
	}
	return dir
}

// Missing skips a test whose tool is not installed; in CI it fails the test.
func Missing(t *testing.T, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf(format, args...)
	}
	t.Skipf("SKIPPED: "+format, args...)
}

// StartOther starts a server other than iconedge, stops it when the test ends, and returns its
// output.
func StartOther(t *testing.T, cmd *exec.Cmd) *Log {
	t.Helper()
	log, done := NewLog(), make(chan struct{})
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		cmd.Wait()
		close(done)
		log.Close()
	}()
	t.Cleanup(func() { <-done }) // t.Context() has ended before the cleanup
	return log
}
