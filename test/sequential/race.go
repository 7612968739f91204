//go:build race

package sequential

const raced = true
