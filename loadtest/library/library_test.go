//go:build linux

package library

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
)

// TestChange checks that an icon of the pack in the middle gets another SVG, and stays JSON.
func TestChange(t *testing.T) {
	m := &measurement{Config: Config{Library: t.TempDir(), Log: io.Discard}}
	if err := m.change(); err == nil {
		t.Error("a library without packs is no error")
	}
	dir := filepath.Join(m.Library, "json")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	const pack = `{"icons": {"a": {"body": "<path d=\"M1 1h2z\"/>"}}}`
	for _, name := range []string{"a", "b", "c"} {
		if err := os.WriteFile(filepath.Join(dir, name+".json"), []byte(pack), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.change(); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a": "M1 1h2z", "b": "M0 0h.5zM1 1h2z", "c": "M1 1h2z"} {
		data, err := os.ReadFile(filepath.Join(dir, name+".json"))
		var got struct {
			Icons map[string]struct{ Body string }
		}
		if err != nil || json.Unmarshal(data, &got) != nil || got.Icons["a"].Body != `<path d="`+want+`"/>` {
			t.Errorf("%s: %s, %v; want the path %s", name, data, err, want)
		}
	}
}

// TestFound checks that a response without a number of results is an error.
func TestFound(t *testing.T) {
	answer := `{"total": 7}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, answer) }))
	defer server.Close()
	if n, err := found(t.Context(), server.URL); err != nil || n != 7 {
		t.Errorf("%d, %v", n, err)
	}
	answer = `{"title": "Too Many Requests"}`
	if n, err := found(t.Context(), server.URL); err == nil {
		t.Errorf("%d results of an error", n)
	}
}
