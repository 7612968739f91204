package apps

import (
	"bytes"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// codedTag is the end of the entity tag of a content coding that an edge has made.
var codedTag = regexp.MustCompile(`-(br|gzip|zstd)-[0-9a-f]{8}"$`)

// uncompressed returns a response of the edge without the content coding that the edge has made,
// and with the Vary, ETag and Accept-Ranges that it had without. direct is the application's own
// response. A body that can't be decoded stays as it is.
func (got wireResponse) uncompressed(direct wireResponse) wireResponse {
	coding := got.field("Content-Encoding")
	coded := coding != "" && direct.field("Content-Encoding") == ""
	negotiates := strings.Contains(strings.ToLower(strings.Join(direct.fields, "\n")), "accept-encoding")
	fields := make([]string, 0, len(got.fields)+1)
	for _, f := range got.fields {
		name, value, _ := strings.Cut(f, ": ")
		switch {
		case name == "Content-Encoding" && coded, name == "Vary" && value == "Accept-Encoding" && !negotiates:
			continue
		case name == "Vary" && !negotiates:
			value = strings.TrimSuffix(value, ", Accept-Encoding")
		case name == "Etag":
			value = codedTag.ReplaceAllString(value, `"`)
		}
		fields = append(fields, name+": "+value)
	}
	if coded {
		if ranges := direct.field("Accept-Ranges"); ranges != "" {
			fields = append(fields, "Accept-Ranges: "+ranges)
			slices.SortStableFunc(fields, func(a, b string) int { return strings.Compare(nameOf(a), nameOf(b)) })
		}
		got.length = -1
		if body, err := decode(coding, got.body); err == nil && len(got.body) > 0 {
			got.body = body
		}
	}
	got.fields = fields
	return got
}

func nameOf(field string) string {
	name, _, _ := strings.Cut(field, ":")
	return name
}

// readDecoded reads the body of a response without its content coding, of which it returns the
// name.
func readDecoded(resp *http.Response) (body []byte, coding string, err error) {
	coding = resp.Header.Get("Content-Encoding")
	if body, err = io.ReadAll(resp.Body); err == nil && coding != "" {
		body, err = decode(coding, body)
	}
	return body, coding, err
}

func decode(coding string, body []byte) ([]byte, error) {
	var r io.Reader = bytes.NewReader(body)
	var err error
	switch coding {
	case "br":
		r = brotli.NewReader(r)
	case "gzip":
		r, err = gzip.NewReader(r)
	case "zstd":
		r, err = zstd.NewReader(r)
	}
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

func TestUncompressed(t *testing.T) {
	var body bytes.Buffer
	w := brotli.NewWriter(&body)
	io.WriteString(w, "text")
	w.Close()
	direct := wireResponse{status: 200, fields: []string{"Accept-Ranges: bytes", `Etag: W/"1"`, "Vary: Origin",
		"X: 1"}, length: 4, body: []byte("text")}
	got := wireResponse{status: 200, fields: []string{"Content-Encoding: br", `Etag: W/"1-br-01234567"`,
		"Vary: Origin, Accept-Encoding", "X: 1"}, length: 8, body: body.Bytes()}
	same := func(s string) string { return s }
	if difference := got.uncompressed(direct).difference(direct, wireRequest{}, same); difference != "" {
		t.Error(difference)
	}
	got.fields[3] = "X: 2"
	if got.uncompressed(direct).difference(direct, wireRequest{}, same) == "" {
		t.Error("another field is no difference")
	}
	got.fields[3], direct.body = "X: 1", []byte("test")
	if got.uncompressed(direct).difference(direct, wireRequest{}, same) == "" {
		t.Error("another body is no difference")
	}
}
