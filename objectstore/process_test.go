//go:build unix

package objectstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/iconedge/iconedge/objectstore"
)

// TestMain runs this program as a child process if a test has set OBJECTSTORE_TEST_CHILD.
func TestMain(m *testing.M) {
	if what := os.Getenv("OBJECTSTORE_TEST_CHILD"); what != "" {
		os.Exit(child(what, objectstore.Dir(os.Getenv("OBJECTSTORE_TEST_DIR"))))
	}
	os.Exit(m.Run())
}

func childOf(t *testing.T, what, path string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), "OBJECTSTORE_TEST_CHILD="+what, "OBJECTSTORE_TEST_DIR="+path)
	cmd.Stderr = os.Stderr
	return cmd
}

// TestDirProcesses checks that a condition holds between processes: four of them together count to
// a hundred.
func TestDirProcesses(t *testing.T) {
	path := t.TempDir()
	b := objectstore.Dir(path)
	store(t, b, "n", "0")
	var all []*exec.Cmd
	for range 4 {
		cmd := childOf(t, "count", path)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		all = append(all, cmd)
	}
	for _, cmd := range all {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	if got := content(t, b, "n"); got != "100" {
		t.Errorf("four processes that counted to 25 each reached %s", got)
	}
}

// TestDirCrash checks that a killed writer leaves the old object, no new object and no lock.
func TestDirCrash(t *testing.T) {
	path := t.TempDir()
	b := objectstore.Dir(path)
	store(t, b, "a", "old")
	cmd := childOf(t, "put", path) // stores its standard input
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(in, strings.Repeat("new", 1<<20)); err != nil {
		t.Fatal(err)
	}
	// By then the child has written a part.
	if _, err := io.ReadFull(out, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	if got := content(t, b, "a"); got != "old" {
		t.Errorf("after the crash, the object is %.20q", got)
	}
	for info, err := range b.List(t.Context(), "") {
		if err != nil || info.Key != "a" {
			t.Errorf("List yields %v, %v", info, err)
		}
	}
	store(t, b, "a", "new")
}

// TestDirFull checks that a write to a full disk leaves the old object and no temporary file. The
// child process limits its files to a megabyte.
func TestDirFull(t *testing.T) {
	path := t.TempDir()
	b := objectstore.Dir(path)
	store(t, b, "a", "old")
	cmd := childOf(t, "full", path)
	out, err := cmd.Output()
	if err != nil || !strings.Contains(string(out), "writing a in dir:"+path) {
		t.Fatalf("a write beyond the limit: %q, %v", out, err)
	}
	if got := content(t, b, "a"); got != "old" {
		t.Errorf("the object is now %.20q", got)
	}
	if files, err := os.ReadDir(filepath.Join(path, ".iconedge", "tmp")); err != nil || len(files) != 0 {
		t.Errorf("left behind: %v (%v)", files, err)
	}
}

// child performs one task with the store in the child process and returns its exit status.
func child(what string, b objectstore.Bucket) int {
	if err := map[string]func(context.Context, objectstore.Bucket) error{
		"count": countTo25, "put": putInput, "full": putTooMuch,
	}[what](context.Background(), b); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func countTo25(ctx context.Context, b objectstore.Bucket) error {
	for done := 0; done < 25; {
		info, err := b.Stat(ctx, "n")
		if err != nil {
			return err
		}
		old, err := objectstore.ReadAll(ctx, b, "n", 100)
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(string(old))
		if err != nil {
			return err
		}
		content := strconv.Itoa(n + 1)
		err = b.PutIf(ctx, "n", strings.NewReader(content), int64(len(content)), info.ETag)
		switch {
		case err == nil:
			done++
		case !errors.Is(err, objectstore.ErrChanged):
			return err
		}
	}
	return nil
}

func putInput(ctx context.Context, b objectstore.Bucket) error {
	// It signals to the parent once it has read a megabyte, because the earlier bytes are written
	// by then.
	return b.Put(ctx, "a", &signalReader{r: os.Stdin, left: 1 << 20}, -1)
}

// A signalReader writes a byte to standard output when it has read left bytes.
type signalReader struct {
	r    io.Reader
	left int
}

func (t *signalReader) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	if t.left > 0 && t.left <= n {
		os.Stdout.WriteString("!")
	}
	t.left -= n
	return n, err
}

func putTooMuch(ctx context.Context, b objectstore.Bucket) error {
	signal.Ignore(syscall.SIGXFSZ) // makes write fail, as on a full disk
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 1 << 20, Max: 1 << 20}); err != nil {
		return err
	}
	err := b.Put(ctx, "a", bytes.NewReader(make([]byte, 2<<20)), 2<<20)
	if err == nil {
		return errors.New("two megabytes were written despite a limit of one")
	}
	fmt.Println(err)
	return nil
}
