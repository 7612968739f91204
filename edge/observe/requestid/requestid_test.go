package requestid

import (
	"strings"
	"testing"
)

// An id of a client is kept where the mode and the client permit it, and the id is harmless.
func TestAppend(t *testing.T) {
	for _, row := range []struct {
		mode, sent, from string
		lines            int
		keeps            bool
	}{
		{"make", "a", "a stranger", 1, false},
		{"make", "a", "a trusted proxy", 1, true},
		{"make", "a", "a trusted proxy", 2, false},
		{"keep", "a", "a stranger", 1, true},
		{"keep", "aZ09-_.~", "a stranger", 1, true},
		{"keep", "", "a stranger", 1, false},
		{"keep", "", "a stranger", 0, false},
		{"keep", "a\r\nX: y", "a stranger", 1, false},
		{"keep", "$(x)", "a stranger", 1, false},
		{"keep", strings.Repeat("a", 128), "a stranger", 1, true},
		{"keep", strings.Repeat("a", 129), "a trusted proxy", 1, false},
	} {
		var m Mode
		if err := m.Set(row.mode); err != nil || m.String() != row.mode || !m.On() {
			t.Fatal(err)
		}
		got := string(m.Append(nil, []byte(row.sent), row.lines, row.from == "a trusted proxy"))
		if (got == row.sent) != row.keeps || !row.keeps && len(got) != 32 {
			t.Errorf("%+v: %q", row, got)
		}
	}
	if m := new(Mode); m.Set("x") == nil || m.On() || m.String() != "off" {
		t.Error(m)
	}
}
