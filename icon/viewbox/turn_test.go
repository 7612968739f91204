package viewbox

import "testing"

// TestSplitDefs covers cases that Iconify's own splitSVGDefs gets wrong (3.1.7 cuts such icons into
// pieces that no longer nest): several, nested and empty definitions.
func TestSplitDefs(t *testing.T) {
	for _, c := range []struct{ in, defs, rest string }{
		{"<path/>", "", "<path/>"},
		{"<defs><a/></defs><b/>", "<a/>", "<b/>"},
		{`<g><defs id="x"><a/></defs><b/></g><defs><c/></defs>`, "<a/><c/>", "<g><b/></g>"},
		{"<defs/><b/>", "", "<b/>"},
		{`<defs id="x"/><b/><defs><a/></defs>`, "<a/>", "<b/>"},
		{"<defs><a/><defs><c/></defs><defs/><d/></defs><b/>", "<a/><defs><c/></defs><defs/><d/>", "<b/>"},
		{"<title>defs</title><defs><a/></defs>", "<a/>", "<title>defs</title>"},
	} {
		defs, rest := splitDefs([]byte(c.in))
		if string(defs) != c.defs || string(rest) != c.rest {
			t.Errorf("splitDefs(%s) = %s, %s, want %s, %s", c.in, defs, rest, c.defs, c.rest)
		}
	}
}
