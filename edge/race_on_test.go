//go:build race

package edge

// raceFactor is by how much more memory a program may take under the race detector, which keeps
// sync.Pool from reusing every fourth value.
const raceFactor = 2

// manyClients is the number of clients in the largest crowds: each request costs ten times as much
// under the race detector.
const manyClients = 200
