package edge

import (
	"os"
	"testing"

	"github.com/iconedge/iconedge/edge/listen"
	"github.com/iconedge/iconedge/test/parallel"
)

// testLoop says whether the edges of the tests serve on event loops: as in the environment of a
// process, so that the same tests run on both.
var testLoop = listen.Loop(os.Getenv("ICONEDGE_LOOP"))

// The tests wait: for deadlines, for a second of a failed fetch, or for the end of an edge.
func TestMain(m *testing.M) { os.Exit(parallel.Main(m)) }
