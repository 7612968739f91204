package fastpath

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A response is the response to one request. It is written when it is whole.
type response struct {
	header http.Header
	status int // 0: not known yet
	head   []byte
	body   []byte
	names  []string
	out    []byte
	last   bool // no other response follows on the connection
}

// maxKept is the largest response, in bytes, whose memory is used again.
const maxKept = 64 << 10

// reset begins another response.
func (w *response) reset() {
	if w.header == nil {
		w.header = make(http.Header, 24)
	}
	if cap(w.out) > maxKept {
		w.out, w.body = nil, nil
	}
	clear(w.header)
	w.status, w.body, w.last = 0, w.body[:0], false
}

// Header implements http.ResponseWriter.
func (w *response) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter. Fields that change afterwards are not those of the
// response.
func (w *response) WriteHeader(status int) {
	if w.status != 0 || status < 200 {
		return
	}
	w.status = status
	w.last = w.header.Get("Connection") == "close"
	if status == http.StatusNotModified {
		delete(w.header, "Content-Type")
		delete(w.header, "Content-Length") // as net/http does
	}
	w.head = w.appendFields(w.head[:0])
}

// Write implements http.ResponseWriter.
func (w *response) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	w.body = append(w.body, p...)
	return len(p), nil
}

var newlines = strings.NewReplacer("\r", " ", "\n", " ") // as net/http does

// appendFields appends the field lines in the order of net/http.
func (w *response) appendFields(b []byte) []byte {
	w.names = w.names[:0]
	for name := range w.header {
		w.names = append(w.names, name)
	}
	slices.Sort(w.names)
	for _, name := range w.names {
		for _, value := range w.header[name] {
			if strings.ContainsAny(value, "\r\n") {
				value = newlines.Replace(value)
			}
			b = append(append(append(append(b, name...), ": "...), strings.Trim(value, " \t")...), lineEnd...)
		}
	}
	return b
}

// bytes returns the whole response.
func (w *response) bytes(now time.Time) []byte {
	w.WriteHeader(http.StatusOK)
	b := append(w.out[:0], "HTTP/1.1 "...)
	b = append(append(append(strconv.AppendInt(b, int64(w.status), 10), ' '), http.StatusText(w.status)...), lineEnd...)
	b = append(b, w.head...)
	if w.header["Date"] == nil {
		b = append(append(append(b, "Date: "...), now.UTC().AppendFormat(nil, http.TimeFormat)...), lineEnd...)
	}
	hasBody := w.status != http.StatusNoContent && w.status != http.StatusNotModified
	if hasBody && w.header["Content-Length"] == nil {
		b = append(strconv.AppendInt(append(b, "Content-Length: "...), int64(len(w.body)), 10), lineEnd...)
	}
	b = append(b, lineEnd...)
	if hasBody {
		b = append(b, w.body...)
	}
	w.out = b
	return b
}
