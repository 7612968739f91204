//go:build race

package harness

// raceFlags are the flags of `go build` that build the program as the tests are built.
var raceFlags = []string{"-race"}
