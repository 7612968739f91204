package manual

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"image"
	_ "image/png" // for the sizes of images
	"io/fs"
	"path"
	"strconv"
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"
	tables "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
	_ "golang.org/x/image/webp"
)

// mediaTypes are those of images, by the ends of their names.
var mediaTypes = map[string]string{".svg": "image/svg+xml", ".webp": "image/webp", ".png": "image/png"}

// A document is a file that is being made into a page.
type document struct {
	files      fs.FS
	name       string
	folder     string
	repository string
	source     []byte
	page       *Page
	sections   []section
	absent     []*ast.Image // images that are not among the files
}

// replaceAbsent puts a link in the place of each image that is not among the files.
func (d *document) replaceAbsent() {
	for _, image := range d.absent {
		link := ast.NewLink()
		link.Destination = []byte(d.link(string(image.Destination)))
		image.Parent().ReplaceChild(image.Parent(), image, link)
		for child := image.FirstChild(); child != nil; child = image.FirstChild() {
			link.AppendChild(link, child)
		}
	}
}

// visit changes the addresses in a node, and notes what the page needs to know of it.
func (d *document) visit(node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	switch n := node.(type) {
	case *ast.Heading:
		d.heading(n)
	case *ast.Paragraph:
		if d.page.Description == "" && d.page.Title != "" {
			d.page.Description = shorten(strings.TrimPrefix(plain(n, d.source), "In short: "), 200)
		}
		d.write(plain(n, d.source))
	case *ast.TextBlock, *tables.TableCell:
		d.write(plain(node, d.source))
	case *ast.FencedCodeBlock:
		d.write(string(n.Lines().Value(d.source)))
	case *ast.Link:
		n.Destination = []byte(d.link(string(n.Destination)))
	case *ast.Image:
		return ast.WalkContinue, d.image(n)
	}
	return ast.WalkContinue, nil
}

// heading begins a section of the page.
func (d *document) heading(n *ast.Heading) {
	words := plain(n, d.source)
	id, _ := n.AttributeString("id")
	name, _ := id.([]byte)
	s := section{heading: words, id: string(name)}
	switch {
	case d.page.Title == "":
		d.page.Title = words
		s = section{}
	case n.Level == 2:
		d.page.Contents = append(d.page.Contents, Heading{s.id, words})
	}
	d.sections = append(d.sections, s)
}

// write adds text to the current section.
func (d *document) write(words string) {
	if n := len(d.sections); n > 0 {
		d.sections[n-1].text += words + " "
	}
}

// link returns the address of a link: of a page, an image, or a file that only the repository has.
func (d *document) link(to string) string {
	file, fragment, marked := strings.Cut(to, "#")
	if file == "" || strings.Contains(file, ":") {
		return to
	}
	if marked {
		fragment = "#" + fragment
	}
	name := path.Join(path.Dir(d.name), file)
	if _, err := fs.Stat(d.files, name); err == nil && name != "." {
		if strings.HasSuffix(name, ".md") {
			return address(name) + fragment
		}
		if mediaTypes[path.Ext(name)] != "" {
			return Root + name
		}
	}
	return d.repository + path.Join(d.folder, name) + fragment
}

// image sets the address and size of an image.
func (d *document) image(n *ast.Image) error {
	name := path.Join(path.Dir(d.name), string(n.Destination))
	content, err := fs.ReadFile(d.files, name)
	if err != nil { // it is in the repository only
		d.absent = append(d.absent, n)
		return nil
	}
	width, height, err := size(name, content)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	n.Destination = []byte(Root + name)
	n.SetAttributeString("width", []byte(strconv.Itoa(width)))
	n.SetAttributeString("height", []byte(strconv.Itoa(height)))
	n.SetAttributeString("loading", []byte("lazy"))
	return nil
}

// size returns the size of an image in pixels.
func size(name string, content []byte) (width, height int, err error) {
	if path.Ext(name) != ".svg" {
		c, _, err := image.DecodeConfig(bytes.NewReader(content))
		return c.Width, c.Height, err
	}
	var svg struct {
		ViewBox string `xml:"viewBox,attr"`
	}
	if err := xml.Unmarshal(content, &svg); err != nil {
		return 0, 0, err
	}
	var left, top, w, h float64
	if _, err := fmt.Sscan(svg.ViewBox, &left, &top, &w, &h); err != nil {
		return 0, 0, fmt.Errorf("viewBox: %w", err)
	}
	return int(w + .5), int(h + .5), nil
}

// plain returns the text of a node without markup.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	// The visitor returns no error.
	ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			b.Write(util.UnescapePunctuations(n.Value(source)))
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.String:
			b.Write(n.Value)
		case *ast.AutoLink:
			b.Write(n.Label(source))
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// shorten cuts a text after the last word that ends within n bytes.
func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	if cut := strings.LastIndexByte(s[:n], ' '); cut > 0 {
		return s[:cut] + " …"
	}
	return s
}

// ids makes the ids of headings as GitHub does, so that links with fragments work in both places.
type ids map[string]bool

// newIDs returns ids that the frame of the site does not use.
func newIDs() ids {
	return ids{"main": true, "q": true, "status": true, "theme": true, "bag-count": true, "words": true}
}

// Generate returns the id of a heading.
func (used ids) Generate(heading []byte, _ ast.NodeKind) []byte {
	var b strings.Builder
	for _, r := range strings.ToLower(string(heading)) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			b.WriteRune(r)
		}
	}
	id := b.String()
	for i := 1; used[id] || id == ""; i++ {
		id = b.String() + "-" + strconv.Itoa(i)
	}
	used[id] = true
	return []byte(id)
}

// Put notes an id that a document sets itself.
func (used ids) Put(id []byte) { used[string(id)] = true }

// blocks renders the blocks that can be wider than a page: each scrolls by itself, also from a
// keyboard; a table has a name for screen readers, its columns. Styles are classes, because the
// policy of the site allows no inline style.
type blocks struct{}

// RegisterFuncs names the kinds of nodes that blocks renders.
func (b blocks) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindFencedCodeBlock, b.code)
	r.Register(ast.KindHTMLBlock, nothing)
	r.Register(tables.KindTable, b.table)
	r.Register(tables.KindTableCell, b.cell)
}

func nothing(util.BufWriter, []byte, ast.Node, bool) (ast.WalkStatus, error) {
	return ast.WalkSkipChildren, nil
}

func (blocks) code(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		w.WriteString(`<pre tabindex="0"><code>`)
		w.Write(util.EscapeHTML(node.Lines().Value(source)))
		w.WriteString("</code></pre>\n")
	}
	return ast.WalkSkipChildren, nil
}

func (blocks) table(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		var columns []string
		for cell := node.FirstChild().FirstChild(); cell != nil; cell = cell.NextSibling() {
			if name := plain(cell, source); name != "" {
				columns = append(columns, name)
			}
		}
		fmt.Fprintf(w, `<div class="wide" role="group" aria-label="Table: %s" tabindex="0"><table>`+"\n",
			util.EscapeHTML([]byte(shorten(strings.Join(columns, ", "), 60))))
	} else {
		w.WriteString("</table></div>\n")
	}
	return ast.WalkContinue, nil
}

// cell renders a cell. A heading without text is no heading.
func (blocks) cell(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	tag := "td"
	if node.Parent().Kind() == tables.KindTableHeader && node.HasChildren() {
		tag = "th"
	}
	if !entering {
		fmt.Fprintf(w, "</%s>\n", tag)
		return ast.WalkContinue, nil
	}
	w.WriteString("<" + tag)
	if tag == "th" {
		w.WriteString(` scope="col"`)
	}
	if cell := node.(*tables.TableCell); cell.Alignment == tables.AlignRight {
		w.WriteString(` class="number"`)
	}
	w.WriteByte('>')
	return ast.WalkContinue, nil
}
