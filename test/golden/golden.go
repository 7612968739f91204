// Package golden compares the output of tests with golden files, which are in the repository.
package golden

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

// Update is the flag with which tests write the golden files; a person reads the difference in git
// diff.
var Update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// Check compares got with the file at path, or writes the file with -update.
func Check(t *testing.T, path string, got []byte) {
	t.Helper()
	if *Update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v: run make golden and read the new file\n%s", err, got)
	}
	if string(got) != string(want) {
		t.Errorf("%s is not up to date: run make golden and read the difference\n%s", path, difference(string(got), string(want)))
	}
}

// difference describes the first line in which two texts differ.
func difference(got, want string) string {
	same := 0
	for same < min(len(got), len(want)) && got[same] == want[same] {
		same++
	}
	begin := strings.LastIndexByte(got[:same], '\n') + 1
	line := func(text string) string { return strings.SplitAfterN(text[begin:], "\n", 2)[0] }
	return fmt.Sprintf("line %d\ngot  %q\nwant %q", 1+strings.Count(got[:same], "\n"), line(got), line(want))
}
