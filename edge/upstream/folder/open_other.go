//go:build !unix

package folder

const openFlags = 0
