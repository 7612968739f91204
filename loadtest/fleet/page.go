//go:build linux

package fleet

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"text/template"
)

//go:embed fleet.md.tmpl
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// Markdown renders docs/reference/fleet.md.
func (r *Result) Markdown() ([]byte, error) {
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, r); err != nil {
		return nil, fmt.Errorf("writing the page of the fleet: %w", err)
	}
	return b.Bytes(), nil
}

// Write writes the page and its plots, and removes the plots of an earlier run.
func (r *Result) Write(docs string) error {
	page, err := r.Markdown()
	if err != nil {
		return err
	}
	dir := filepath.Join(docs, "fleet")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	old, err := filepath.Glob(filepath.Join(dir, "*.svg"))
	if err != nil {
		return err
	}
	for _, name := range old {
		if err := os.Remove(name); err != nil {
			return err
		}
	}
	for _, p := range r.Plots {
		if err := os.WriteFile(filepath.Join(dir, p.File), p.SVG, 0o666); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(docs, "fleet.md"), page, 0o666)
}
