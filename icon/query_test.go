package icon

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCanonicalQuery(t *testing.T) {
	for in, want := range map[string]string{
		"home": "home", "Home": "home", "  trash \t CAN ": "trash can", "arrowLeft": "arrow left",
		"ArrowLeft": "arrow left", "HTMLFile": "html file",
		"UvIndex9Fill": "uv index9 fill", "mdi:Home": "mdi:home", "arrow-left": "arrow-left", "GitHub": "git hub",
		"GITHUB": "github", "iPhone": "i phone",
		"ÉcoleÄpfel": "école äpfel", "ящик": "ящик", "": "", " ": "", "a\u00a0b": "a b", "x\xff": "x\uFFFD", "' OR 1=1 --": "' or 1=1 --",
		strings.Repeat("aB", 150): "a" + strings.Repeat(" ba", 66),
	} {
		if got := CanonicalQuery(in); got != want {
			t.Errorf("CanonicalQuery(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzCanonicalQuery(f *testing.F) {
	for _, s := range []string{"arrowLeft", " A  b ", "HTMLFile", "\xff", "ǅabc", "İstanbul", strings.Repeat("aB", 150), "\u0130\u0307"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		q := CanonicalQuery(s)
		if again := CanonicalQuery(q); again != q {
			t.Fatalf("CanonicalQuery(%q) = %q, whose canonical form is %q", s, q, again)
		}
		if n := utf8.RuneCountInString(q); n > MaxText || !utf8.ValidString(q) || strings.TrimSpace(q) != q {
			t.Fatalf("CanonicalQuery(%q) = %q, with %d characters", s, q, n)
		}
		if same := CanonicalQuery("  " + strings.ReplaceAll(s, " ", "\t ") + "\n"); same != q {
			t.Fatalf("with other white space, CanonicalQuery(%q) = %q, want %q", s, same, q)
		}
	})
}
