package main

import (
	"bytes"
	"os"
	"testing"
)

// The chart has the figures of the measured files; go run -C tools ./chart .. draws it again.
func TestChart(t *testing.T) {
	want, err := draw("../..")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file("../.."))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("docs/images/chart.svg is not of the present figures; run go run -C tools ./chart ..")
	}
}
