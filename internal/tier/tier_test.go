package tier

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	first  = "first-secret-0123456789"
	second = "second-secret-0123456789"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestOpen(t *testing.T) {
	for _, row := range []struct {
		name, text, sent string
		takes            []string
		wrong            string
	}{
		{"one", first, first, []string{first}, ""},
		{"one with a line ending", first + "\r\n", first, []string{first}, ""},
		{"new and old", second + "\n" + first + "\n", second, []string{second, first}, ""},
		{"a blank line", "\n" + first + "\n\n", first, []string{first}, ""},
		{"nothing", " \n", "", nil, "there is no secret"},
		{"three", first + "\n" + second + "\n" + first + "3", "", nil, "more than two lines"},
		{"short", "fifteen-bytes-1", "", nil, "at least 16 bytes"},
		{"a short second secret", first + "\nshort", "", nil, "at least 16 bytes"},
		{"a space in it", "two words of a secret", "", nil, "visible ASCII"},
		{"not ASCII", "zwölf Boxkämpfer-jagen", "", nil, "visible ASCII"},
		{"long", strings.Repeat("x", 1025), "", nil, "at most 1024 bytes"},
		{"not a file of secrets", strings.Repeat("x\n", 5000), "", nil, "at most 1024 bytes"},
	} {
		t.Run(row.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "secret")
			write(t, path, row.text)
			s, err := Open(path)
			if row.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), row.wrong) || !strings.Contains(err.Error(), path) {
					t.Fatalf("error %v, want one with %q", err, row.wrong)
				}
				if text := strings.TrimSpace(row.text); len(text) > 4 && strings.Contains(err.Error(), text[:5]) {
					t.Errorf("the error reveals the secret: %v", err)
				}
				return
			}
			if err != nil || s.Sent() != row.sent {
				t.Fatalf("%v; Sent() = %q, want %q", err, s.Sent(), row.sent)
			}
			for _, secret := range row.takes {
				if !s.Prove(secret) {
					t.Errorf("Prove does not accept %q", secret)
				}
			}
		})
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("Open of a missing file returned no error")
	}
}

func TestProve(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret")
	write(t, path, second+"\n"+first)
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, lines := range [][]string{nil, {""}, {"other-secret-0123456789"}, {first, first}, {first + " "},
		{first[:len(first)-1]}, {second + "\n" + first}} {
		if s.Prove(lines...) {
			t.Errorf("Prove accepts %q", lines)
		}
	}
	var none *Secrets
	if none.Prove("") || none.Prove(first) || none.Sent() != "" {
		t.Error("a nil *Secrets accepts or sends a secret")
	}
}

// TestRotation checks that a secret can be replaced without a moment in which neither is accepted,
// and that an invalid file changes nothing.
func TestRotation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret")
	write(t, path, first)
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	look := func() (did bool, err error) { // a change counts once the file has settled
		for range 3 {
			if did, err = s.Check(time.Time{}); did {
				break
			}
		}
		return did, err
	}
	if did, _ := look(); did {
		t.Error("an unchanged file was read again")
	}
	for _, step := range []struct {
		text, sent   string
		first, other bool // whether Prove accepts them
		fails        bool
	}{
		{text: second + "\n" + first, sent: second, first: true, other: true},
		{text: "short", sent: second, first: true, other: true, fails: true},
		{text: second + "\n", sent: second, other: true},
	} {
		write(t, path, step.text)
		if did, err := look(); !did || (err != nil) != step.fails {
			t.Fatalf("%q: Look = %v, %v", step.text, did, err)
		}
		if s.Sent() != step.sent || s.Prove(first) != step.first || s.Prove(second) != step.other {
			t.Errorf("after %q: sent %q, first %v, second %v", step.text, s.Sent(), s.Prove(first), s.Prove(second))
		}
	}
}
