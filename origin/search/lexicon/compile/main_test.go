package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestLibraryLexicon checks that the lexicon in the program is what `make lexicon` writes. It takes
// a minute, and is skipped if ICONEDGE_LIBRARY is not set to a folder of @iconify/json.
func TestLibraryLexicon(t *testing.T) {
	library := os.Getenv("ICONEDGE_LIBRARY")
	if library == "" {
		t.Skip("ICONEDGE_LIBRARY is not set to a folder of @iconify/json")
	}
	want, err := os.ReadFile(filepath.Join("..", "shipped.lex"))
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	modules := filepath.Join("..", "..", "..", "..", "tools", "library", "lexicon", "node_modules")
	if err := compile(t.Context(), modules, library, &got); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Error("shipped.lex is not what its sources give: run make lexicon")
	}
}
