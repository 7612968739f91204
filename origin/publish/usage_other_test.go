//go:build !unix

package publish

import "testing"

func logUsage(*testing.T) {}
