package fleet

import (
	"os"
	"testing"

	"github.com/iconedge/iconedge/test/parallel"
)

// The tests wait: for a Redis that has failed, and for the next probe of it.
func TestMain(m *testing.M) { os.Exit(parallel.Main(m)) }
