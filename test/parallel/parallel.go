// Package parallel runs the tests of a package that mostly wait.
package parallel

import (
	"flag"
	"strconv"
	"testing"
)

// Main is for a package's TestMain. It runs 16 parallel tests at once, unless -parallel says how
// many, and returns the exit status.
func Main(m *testing.M) int {
	AtOnce(16)
	return m.Run()
}

// AtOnce makes n parallel tests run at once, unless -parallel says how many. Without it there are
// as many as processors. A TestMain calls it before it runs the tests.
func AtOnce(n int) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		flag.Set("test.parallel", strconv.Itoa(n))
	}
}
