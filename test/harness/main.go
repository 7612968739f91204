// Package harness starts real iconedge processes for tests, and the servers that they are tested
// with: other caches, and programs such as Redis' or npm's. A test gets a process that stops when
// the test ends, its log, its addresses, and requests to it.
//
// The processes run the program that Main builds from ./cmd/iconedge, with the race detector if the
// tests have it. The environment variable ICONEDGE names another program instead.
package harness

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// asProgram is the environment variable that makes the test binary of MainOf act as the program.
const asProgram = "TEST_AS_ICONEDGE"

// built is the program under test. executable builds it when the first test needs it.
var built struct {
	once sync.Once
	path string
	err  error
	dir  string // temporary; empty: nothing was built
}

// Main runs the tests of a package, removes the program that they have built, and returns the exit
// status. A package whose tests start iconedge calls it from its TestMain.
func Main(m *testing.M) (status int) {
	defer func() {
		if built.dir != "" {
			os.RemoveAll(built.dir)
		}
	}()
	return m.Run()
}

// MainOf is Main for the package of the program itself: the test binary acts as the program, so
// that nothing is built twice. It does not return from a process that acts as the program.
func MainOf(m *testing.M, program func()) (status int) {
	if os.Getenv(asProgram) != "" {
		program()
		os.Exit(0)
	}
	built.once.Do(func() { built.path = os.Args[0] })
	return Main(m)
}

// executable returns the path of the program.
func executable(t *testing.T) string {
	t.Helper()
	built.once.Do(func() { built.path, built.err = build() })
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.path
}

// build builds the program into a temporary folder, unless ICONEDGE names one.
func build() (path string, err error) {
	if named := os.Getenv("ICONEDGE"); named != "" {
		if path, err = exec.LookPath(named); err != nil {
			err = fmt.Errorf("ICONEDGE must be the path of the program: %w", err)
		}
		return path, err
	}
	if built.dir, err = os.MkdirTemp("", "iconedge"); err != nil {
		return "", err
	}
	path = filepath.Join(built.dir, "iconedge")
	args := append(append([]string{"build"}, raceFlags...), "-o", path, "github.com/iconedge/iconedge/cmd/iconedge")
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the program: %w\n%s", err, out)
	}
	return path, nil
}
