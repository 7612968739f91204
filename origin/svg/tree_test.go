package svg

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/icon"
)

// outline lists an SVG as encoding/xml reads it, one line a node. The tests trust this independent
// parser. It leaves out namespace declarations and white space between elements.
func outline(doc []byte) (string, error) {
	var b strings.Builder
	dec := xml.NewDecoder(bytes.NewReader(doc))
	depth := 0
	for {
		tok, err := dec.Token()
		if err == io.EOF {
			return b.String(), nil
		}
		if err != nil {
			return "", err
		}
		switch t := tok.(type) {
		case xml.StartElement:
			fmt.Fprintf(&b, "%d <%s %s", depth, t.Name.Space, t.Name.Local)
			depth++
			for _, a := range t.Attr {
				if a.Name.Space == "xmlns" || a.Name.Space == "" && a.Name.Local == "xmlns" {
					continue
				}
				fmt.Fprintf(&b, " %s|%s=%q", a.Name.Space, a.Name.Local, a.Value)
			}
			b.WriteByte('\n')
		case xml.EndElement:
			depth--
		case xml.CharData:
			if s := bytes.TrimSpace(t); len(s) > 0 {
				fmt.Fprintf(&b, "%d %q\n", depth, s)
			}
		case xml.Directive, xml.ProcInst:
			fmt.Fprintf(&b, "%d %T\n", depth, t)
		}
	}
}

// The prefix stands once before an id, in each form of a variant.
func TestPrefixOnce(t *testing.T) {
	clean, err := CleanDocument([]byte(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><clipPath id="a"><path d="M0 0h5v5z"/>`+
		`</clipPath><path clip-path="url(#a)" d="M0 0h9v9z"/></svg>`), false)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []icon.Variant{{ID: "p_"}, {ID: "p_", Box: true}, {ID: "p_", WidthText: "1em"}} {
		out, _, _, err := Transform(clean.SVG, v)
		if n := strings.Count(string(out), "p_"); err != nil || n != 2 {
			t.Errorf("%+v: %d prefixes, want 2: %s %v", v, n, out, err)
		}
	}
}
