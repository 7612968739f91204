package files

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestSecrets covers usable and unusable files. An error says what is wrong and where, without the
// secret.
func TestSecrets(t *testing.T) {
	const first, second = "first-secret-0123456789", "second-secret-0123456789"
	path := filepath.Join(t.TempDir(), "secret")
	for _, row := range []struct {
		name, text string
		least      int
		want       []string
		wrong      string
	}{
		{"one", first, 23, []string{first}, ""},
		{"line endings and a blank line", "\r\n" + second + "\r\n\n" + first + "\n", 16, []string{second, first}, ""},
		{"nothing", " \n", 1, nil, "there is no secret in it"},
		{"one byte too few", first, 24, nil, "at least 24 bytes"},
		{"a short second one", second + "\n" + first, 24, nil, "at least 24 bytes"},
		{"three", first + "\n" + second + "\n" + first, 16, nil, "more than two lines"},
		{"long", strings.Repeat("x", 1025), 16, nil, "at most 1024 bytes"},
		{"a space", "two words of a secret", 16, nil, "visible ASCII"},
		{"another file", strings.Repeat("x\n", 5000), 1, nil, "at most 1024 bytes"},
	} {
		if err := os.WriteFile(path, []byte(row.text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := ReadSecrets(path, row.least)
		if row.wrong == "" {
			if err != nil || !slices.Equal(got, row.want) {
				t.Errorf("%s: %q, %v", row.name, got, err)
			}
			continue
		}
		if err == nil || !strings.HasPrefix(err.Error(), path+": ") || !strings.Contains(err.Error(), row.wrong) ||
			strings.Contains(err.Error(), "first-") {
			t.Errorf("%s: %q, %v, want %q", row.name, got, err, row.wrong)
		}
	}
	if _, err := ReadSecrets(path+".none", 1); !os.IsNotExist(err) {
		t.Errorf("a missing file: %v", err)
	}
}

// FuzzSecrets checks that every accepted secret is long enough, can be sent in a field, and occurs
// in the file.
func FuzzSecrets(f *testing.F) {
	for _, seed := range []string{"", "0123456789abcdef", "0123456789abcdef\r\n0123456789abcdeg", "a\x00b", "ä",
		strings.Repeat("z", 5000)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		secrets, err := parseSecrets(text, 16)
		if (err == nil) != (len(secrets) == 1 || len(secrets) == 2) {
			t.Fatalf("%d secrets, %v", len(secrets), err)
		}
		for _, secret := range secrets {
			if checkSecret(secret, 16) != nil || !strings.Contains(string(text), secret) {
				t.Errorf("secret %q", secret)
			}
		}
	})
}
