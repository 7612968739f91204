// Package manual makes the pages of the documentation from Markdown, and searches them. It decides
// how Markdown becomes HTML, the addresses of pages and images, and which page answers a query.
// Package site puts the pages into the frame of the site.
package manual

import (
	"bytes"
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Root is the path of the page with the list of all pages.
const Root = "/docs/"

// A Page is one document.
type Page struct {
	Path        string // of its address
	Title       string // its first heading
	Description string // its first paragraph, shortened
	Body        template.HTML
	Contents    []Heading // the headings of its parts
}

// A Heading links to a part of a page.
type Heading struct{ ID, Text string }

// An Image is a picture in pages.
type Image struct {
	MediaType string
	Body      []byte
}

// A Manual is a set of pages.
type Manual struct {
	pages  map[string]*Page
	paths  []string // of pages, sorted
	images map[string]Image
	index  *index
}

// New makes the pages of the Markdown files of a folder, of which README.md has the list of all
// pages. repository is the address below which the files beside that folder are, for links to them.
func New(files fs.FS, folder, repository string) (*Manual, error) {
	m := &Manual{pages: map[string]*Page{}, images: map[string]Image{}, index: newIndex()}
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		if mediaType := mediaTypes[path.Ext(name)]; mediaType != "" {
			m.images[Root+name] = Image{mediaType, content}
			return nil
		}
		page, sections, err := read(files, name, content, folder, repository)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		m.pages[page.Path] = page
		m.paths = append(m.paths, page.Path)
		m.index.add(page, sections)
		return nil
	})
	slices.Sort(m.paths)
	m.index.finish()
	return m, err
}

// Page returns the page of a path; nil if there is none.
func (m *Manual) Page(path string) *Page { return m.pages[path] }

// Paths returns the paths of all pages, sorted.
func (m *Manual) Paths() []string { return m.paths }

// Image returns the image of a path.
func (m *Manual) Image(path string) (i Image, ok bool) {
	i, ok = m.images[path]
	return i, ok
}

// markdown reads and renders documents. Raw HTML in them is left out.
var markdown = goldmark.New(
	goldmark.WithExtensions(extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignNone)), extension.Strikethrough),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()),
	goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(blocks{}, 100))),
)

// read makes the page of a file.
func read(files fs.FS, name string, content []byte, folder, repository string) (*Page, []section, error) {
	doc := markdown.Parser().Parse(text.NewReader(content), parser.WithContext(parser.NewContext(parser.WithIDs(newIDs()))))
	d := document{files: files, name: name, folder: folder, repository: repository, source: content, page: &Page{Path: address(name)}}
	if err := ast.Walk(doc, d.visit); err != nil {
		return nil, nil, err
	}
	d.replaceAbsent()
	if d.page.Title == "" {
		return nil, nil, fmt.Errorf("the document has no heading")
	}
	var b bytes.Buffer
	if err := markdown.Renderer().Render(&b, content, doc); err != nil {
		return nil, nil, err
	}
	d.page.Body = template.HTML(b.String())
	return d.page, d.sections, nil
}

// address returns the path of the page of a Markdown file. A README.md has that of its folder.
func address(name string) string {
	if dir, ok := strings.CutSuffix(name, "README.md"); ok {
		if dir == "" {
			return Root
		}
		return Root + strings.TrimSuffix(dir, "/")
	}
	return Root + strings.TrimSuffix(name, ".md")
}
