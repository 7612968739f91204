package harness

import (
	"encoding/json"
	"flag"
	"os"
	"slices"
	"testing"
)

var Update = flag.Bool("update", false, "write the golden files instead of comparing with them")

func Golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *Update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%s is not up to date (%v): run make golden and read the difference", path, err)
	}
}

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
