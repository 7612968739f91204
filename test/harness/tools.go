package harness

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// npm is the folder of a package that tools/package.json pins; `make test` installs them.
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

// missing skips a test whose tool can't be had here, loudly; in CI that is a failure.
func Missing(t *testing.T, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf(format, args...)
	}
	t.Skipf("SKIPPED: "+format, args...)
}

// startOther starts a server that is not ours, to be told to stop when the test ends, and returns what it prints.
func StartOther(t *testing.T, cmd *exec.Cmd) *logBuffer {
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
	t.Cleanup(func() { <-done }) // t.Context() has ended by then
	return log
}
