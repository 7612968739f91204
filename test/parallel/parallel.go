// Package parallel runs the tests of a package that mostly wait.
package parallel

import (
	"flag"
	"testing"
)

// Main is for a package's TestMain. It runs more parallel tests at once than there are processors,
// unless -parallel says how many, and returns the exit status.
func Main(m *testing.M) int {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		flag.Set("test.parallel", "16")
	}
	return m.Run()
}
