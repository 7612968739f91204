package extend

import (
	"bytes"
	"compress/zlib"

	"github.com/iconedge/iconedge/edge/coding"
)

// deflate is the coding of RFC 9110, section 8.4.1.2, which some old clients know alone.
type deflate struct{}

func (deflate) Encode(body []byte) []byte {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	w.Write(body) // to memory, which can't fail
	w.Close()
	return b.Bytes()
}

func init() {
	coding.Add(coding.Row{
		Name: "deflate", Help: "zlib (RFC 1950), for clients that know no other coding",
		Preference: -1, // after the codings of the edge itself
		Encoder:    deflate{},
	})
}
