package golden

import (
	"os"
	"path/filepath"
	"testing"
)

func TestDifference(t *testing.T) {
	for _, row := range []struct{ got, want, difference string }{
		{"a\nb\nc\n", "a\nx\nc\n", "line 2\ngot  \"b\\n\"\nwant \"x\\n\""},
		{"same start", "same end", "line 1\ngot  \"same start\"\nwant \"same end\""},
		{"a", "a\n", "line 1\ngot  \"a\"\nwant \"a\\n\""},
		{"a\nb", "a\n", "line 2\ngot  \"b\"\nwant \"\""},
	} {
		if d := difference(row.got, row.want); d != row.difference {
			t.Errorf("of %q and %q: %s, want %s", row.got, row.want, d, row.difference)
		}
	}
}

// TestUpdate: with -update Check writes the file, which then is the same.
func TestUpdate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	before := *Update
	defer func() { *Update = before }()
	for _, *Update = range []bool{true, false} {
		Check(t, path, []byte("text\n"))
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "text\n" {
		t.Errorf("the file has %q (%v)", text, err)
	}
}
