package search

import (
	"slices"
	"strings"
	"testing"
)

func TestSuggest(t *testing.T) {
	x := small(t)
	for _, row := range []struct{ why, text, want string }{
		{"two letters swapped", "arrwo", "arrow"},
		{"a letter too many", "trassh", "trash"},
		{"a letter missing, in a longer query", "arow left", "arrow left"},
		{"two edits in a long word", "baselnie-face", "baseline face"},
		{"a word that no name has with the others", "house zebra", "house"},
		{"words that are each known", "trash house", "trash"},
		{"within a pack", "mdi:trahs", "mdi:trash"},
		{"no word alike: the same beginning", "trazzzzz", "trash"},
		{"no word alike, within a pack", "mdi:trazzzzz", "mdi:trash"},
		{"with a number", "battary 1", "battery 1"},
	} {
		got := x.Suggest(row.text)
		if !slices.Contains(got, row.want) {
			t.Errorf("%s: Suggest(%q) = %q, want %q included", row.why, row.text, got, row.want)
		}
		if len(got) > maxSuggestions {
			t.Errorf("%s: Suggest(%q) = %q, more than %d", row.why, row.text, got, maxSuggestions)
		}
	}
	for _, text := range []string{"", "zz", "🏠", "qqqqqqqq", strings.Repeat("q", 10_000), "\x00", "ящик"} {
		if got := x.Suggest(text); len(got) != 0 {
			t.Errorf("Suggest(%.20q) = %q, want none", text, got)
		}
	}
}

// TestCompleteCode completes names in code in the form in which they are typed.
func TestCompleteCode(t *testing.T) {
	x := small(t)
	for text, want := range map[string]string{
		"ph ph-hou": "ph ph-house", "i-mdi-git": "i-mdi-github", "mdiGit": "mdi github", "MdOutlineWi": "md outline wifi",
		"material-icons arrow": "", "ph ph-": "",
	} {
		got := x.Complete(text)
		if want == "" && len(got) > 0 && strings.Contains(got[0], "ph ph") || want != "" && !slices.Contains(got, want) {
			t.Errorf("Complete(%q) = %q, want %q", text, got, want)
		}
	}
}
