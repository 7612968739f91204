//go:build !race

package edge

// See race_on_test.go.
const (
	raceFactor  = 1
	manyClients = 1000
)
