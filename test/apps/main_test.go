// Package apps runs real applications behind an edge with --proxy-all, each with a client of its
// kind. A test runs the client against the application itself and through the edge, and compares
// everything that the client saw. `make test` runs the applications that need no installation
// beyond package-lock.json; `make apps` runs all of them and writes docs/reference/applications.md.
package apps

import (
	"os"
	"testing"

	"github.com/iconedge/iconedge/test/harness"
	"github.com/iconedge/iconedge/test/parallel"
)

// Each application starts processes, then mostly waits for them.
func TestMain(m *testing.M) {
	parallel.AtOnce(4)
	os.Exit(harness.Main(m))
}

// whole reports whether the tests run for `make apps`: all applications, at full length.
func whole() bool { return os.Getenv("ICONEDGE_APPS") != "" }
