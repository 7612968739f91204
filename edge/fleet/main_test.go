package fleet

import (
	"flag"
	"os"
	"testing"
)

// TestMain runs more parallel tests at once than there are processors, because they wait:
// for a Redis that has failed, and for the next probe of it.
func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		flag.Set("test.parallel", "16")
	}
	os.Exit(m.Run())
}
