package edge

import (
	"flag"
	"os"
	"testing"
)

// TestMain runs more parallel tests at once than there are processors, because most of them wait:
// for deadlines, for a second of a failed fetch, or for the end of an edge.
func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		flag.Set("test.parallel", "16")
	}
	os.Exit(m.Run())
}
