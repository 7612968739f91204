package main

import (
	"os"
	"testing"

	"github.com/iconedge/iconedge/test/harness"
)

func TestMain(m *testing.M) {
	status := harness.MainOf(m, main)
	if publishedPacks.home != "" {
		os.RemoveAll(publishedPacks.home)
	}
	os.Exit(status)
}
