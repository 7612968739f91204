package convert

import "testing"

// A status has three digits and nothing else.
func TestParseStatus(t *testing.T) {
	for text, want := range map[string]int{"301": 301, "599": 599, "30x": 0, "3 1": 0, "+30": 0, "-20": 0, "099": 0, "2000": 0, "": 0} {
		if got, err := parseStatus(text); got != want || (err == nil) != (want != 0) {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
}
