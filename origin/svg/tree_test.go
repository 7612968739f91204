package svg

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
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
