package harness

import (
	"encoding/json"
	"os"
	"testing"
)

// ReadJSON reads figures that a test has measured before.
func ReadJSON(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatalf("reading the figures: %v", err)
	}
}

// WritePage writes figures as JSON, and the page that is made from them.
func WritePage(t *testing.T, figuresPath string, figures any, pagePath string, page []byte) {
	t.Helper()
	text, err := json.MarshalIndent(figures, "", "\t")
	if err == nil {
		err = os.WriteFile(figuresPath, append(text, '\n'), 0o644)
	}
	if err == nil {
		err = os.WriteFile(pagePath, page, 0o644)
	}
	if err != nil {
		t.Fatalf("writing the figures: %v", err)
	}
}
