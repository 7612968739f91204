package edge

import (
	"os"
	"testing"

	"github.com/iconedge/iconedge/test/parallel"
)

// The tests wait: for deadlines, for a second of a failed fetch, or for the end of an edge.
func TestMain(m *testing.M) { os.Exit(parallel.Main(m)) }
