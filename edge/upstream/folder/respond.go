package folder

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/internal/problem"
)

const (
	// shared is the lifetime in the edge: a file that has changed is seen within two seconds.
	shared = "max-age=1, stale-while-revalidate=1"
	// elsewhere is the Cache-Control for all other caches: they may store a response, and ask
	// whether it has changed.
	elsewhere = "public, max-age=0, must-revalidate"

	// maxHeld is the length of the longest file that is read at once, in bytes.
	maxHeld = 256 << 10
	// maxStored and maxText are the lengths of the longest files that are worth the memory of the
	// cache, in bytes. The system has the others in its own cache, from where they go to a
	// connection without a copy. Text may be shorter in a content coding.
	maxStored, maxText = 1 << 20, 16 << 20
)

// codings are the content codings by the ends of names.
var codings = map[string]string{"br": "br", "gz": "gzip", "zst": "zstd"}

// Serve returns the response to a request.
func (f *Folder) Serve(r *upstream.Request) (*upstream.Response, error) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return refusal(r, problem.MethodNotAllowed("GET, HEAD")), nil
	}
	for range maxRaces {
		a, err := f.serve(r)
		if !errors.Is(err, errReplaced) {
			return a, err
		}
	}
	return refusal(r, notFound()), nil
}

// maxRaces is how often a request begins again because a file has been replaced meanwhile.
const maxRaces = 3

var errReplaced = errors.New("the file has been replaced")

func notFound() *problem.Problem { return problem.NotFound("there is nothing at this address") }

func unreadableFile() *problem.Problem {
	return problem.New(http.StatusForbidden, "the edge may not read this address")
}

func (f *Folder) serve(r *upstream.Request) (*upstream.Response, error) {
	root, err := f.open(time.Now())
	if err != nil {
		return nil, err
	}
	raw, query, _ := strings.Cut(r.Target, "?")
	got, err := f.find(root, raw)
	if err != nil {
		return nil, err
	}
	switch got.kind {
	case file:
		return f.serveFile(r, root, got)
	case redirect:
		return toFolder(raw, query), nil
	case listing:
		return f.list(r, root, got.name)
	case forbidden:
		return refusal(r, unreadableFile()), nil
	}
	return refusal(r, notFound()), nil
}

// Streams reports whether the file of a target is sent from the folder each time, because it is
// not worth the memory of the cache.
func (f *Folder) Streams(r *upstream.Request) bool {
	root, err := f.open(time.Now())
	if err != nil {
		return false
	}
	raw, _, _ := strings.Cut(r.Target, "?")
	got, err := f.find(root, raw)
	if err != nil || got.kind != file {
		return false
	}
	chosen, _ := f.choose(root, got, r.Header)
	return chosen.streams(got.name)
}

// streams reports whether no cache should store the file, whose own name is name.
func (of form) streams(name string) bool {
	most := int64(maxStored)
	if of.coding == "" && isText(typeOf(name)) {
		most = maxText
	}
	return of.info.Size() > most
}

// A form is a file in the coding that a client gets; an empty coding is none.
type form struct {
	finding
	coding string
}

// choose chooses among the file and its siblings in content codings, which count if they are not
// older. varies says that there is one.
func (f *Folder) choose(root *os.Root, of finding, header http.Header) (_ form, varies bool) {
	have := map[string]finding{}
	var names []string
	for _, end := range f.Precompressed {
		name := of.name + "." + end
		if info, err := root.Stat(name); err == nil && info.Mode().IsRegular() && !info.ModTime().Before(of.info.ModTime()) {
			have[codings[end]] = finding{file, name, info}
			names = append(names, codings[end])
		}
	}
	coding := cachepolicy.Encoding(strings.Join(header["Accept-Encoding"], ", "), names...)
	if got, ok := have[coding]; ok {
		return form{got, coding}, true
	}
	return form{of, ""}, len(have) > 0
}

// serveFile returns the response with a file, by the conditions and the range of the request.
func (f *Folder) serveFile(r *upstream.Request, root *os.Root, of finding) (*upstream.Response, error) {
	chosen, varies := f.choose(root, of, r.Header)
	if status := precondition(r, chosen); status != http.StatusOK {
		return chosen.bodyless(r, of.name, varies, status), nil
	}
	if r.Method == http.MethodHead {
		a := newResponse(http.StatusOK)
		chosen.describe(a.Header, of.name, varies)
		a.Header.Set("Content-Length", strconv.FormatInt(chosen.info.Size(), 10))
		return a, nil
	}
	in, info, ok, err := openFile(root, chosen.name)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, errReplaced
	}
	chosen.info = info
	a := newResponse(http.StatusOK)
	chosen.describe(a.Header, of.name, varies)
	if err := chosen.attach(r, a, in); err != nil {
		in.Close()
		return nil, err
	}
	return a, nil
}

func precondition(r *upstream.Request, of form) int {
	all := func(name string) string { return strings.Join(r.Header[name], ", ") }
	return cachepolicy.Precondition(r.Method, of.tag(), of.info.ModTime(), cachepolicy.Conditions{
		IfMatch: all("If-Match"), IfNoneMatch: all("If-None-Match"),
		IfModifiedSince: all("If-Modified-Since"), IfUnmodifiedSince: all("If-Unmodified-Since")})
}

// bodyless returns a 304, or a 412.
func (of form) bodyless(r *upstream.Request, name string, varies bool, status int) *upstream.Response {
	if status == http.StatusPreconditionFailed {
		return refusal(r, problem.New(status, "the file does not satisfy If-Match or If-Unmodified-Since"))
	}
	a := newResponse(status)
	of.describe(a.Header, name, varies)
	return a
}

// attach gives a response the body: the file, or the part of it that the request asks for.
func (of form) attach(r *upstream.Request, a *upstream.Response, in *os.File) error {
	size := of.info.Size()
	off, n, what := int64(0), size, cachepolicy.RangeWhole
	if lines := r.Header["Range"]; len(lines) == 1 &&
		cachepolicy.IfRange(strings.Join(r.Header["If-Range"], ", "), of.tag(), of.info.ModTime(), time.Now()) {
		off, n, what = cachepolicy.ParseRange(lines[0], size)
	}
	switch what {
	case cachepolicy.RangePart:
		a.Status = http.StatusPartialContent
		a.Header.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", off, off+n-1, size))
		if _, err := in.Seek(off, io.SeekStart); err != nil {
			return &unreadable{err}
		}
	case cachepolicy.RangeUnsatisfiable:
		in.Close()
		*a = *refusal(r, problem.New(http.StatusRequestedRangeNotSatisfiable, "the range lies outside the file").
			With("Content-Range", "bytes */"+strconv.FormatInt(size, 10)))
		return nil
	}
	a.Header.Set("Content-Length", strconv.FormatInt(n, 10))
	a.Length = n
	if n > maxHeld {
		a.Body = &content{in: in, left: n}
		return nil
	}
	held := make([]byte, n)
	if _, err := io.ReadFull(in, held); err != nil {
		return errReplaced // it has become shorter
	}
	in.Close()
	a.Body = upstream.Received(held)
	return nil
}

// tag returns the entity tag of a file. Copies of a file that keep its time have the same one, so
// that clients may change between edges.
func (of form) tag() string {
	b := append(make([]byte, 0, 48), '"')
	if of.coding != "" {
		b = append(append(b, of.coding...), '-')
	}
	b = strconv.AppendInt(b, of.info.ModTime().UnixNano(), 36)
	b = strconv.AppendInt(append(b, '-'), of.info.Size(), 36)
	return string(append(b, '"'))
}

// describe sets the fields of a response with the file, whose own name is name.
func (of form) describe(h http.Header, name string, varies bool) {
	h.Set("Content-Type", typeOf(name))
	h.Set("Etag", of.tag())
	h.Set("Accept-Ranges", "bytes")
	if at := of.info.ModTime(); at.Unix() > 0 {
		h.Set("Last-Modified", at.UTC().Format(http.TimeFormat))
	}
	if of.coding != "" {
		h.Set("Content-Encoding", of.coding)
	}
	if varies {
		h.Set("Vary", "Accept-Encoding")
	}
	if of.streams(name) {
		h.Set(cachepolicy.OurField, "no-store")
	}
}

// toFolder returns the redirect to a folder whose path lacks the slash. It is relative, because the
// client may see the folder under another path. No cache gives the query of a client to another.
func toFolder(raw, query string) *upstream.Response {
	a := newResponse(http.StatusMovedPermanently)
	to := "./" + path.Base(raw) + "/"
	if query != "" {
		to += "?" + query
		a.Header.Set(cachepolicy.OurField, "no-store")
	}
	a.Header.Set("Location", to)
	a.Header.Set("Content-Length", "0")
	return a
}

// newResponse returns a response without a body.
func newResponse(status int) *upstream.Response {
	return &upstream.Response{Status: status, Body: http.NoBody, Trailer: func() http.Header { return nil }, Header: http.Header{
		cachepolicy.OurField: {shared}, "Cache-Control": {elsewhere}}}
}

// refusal returns the response for a problem.
func refusal(r *upstream.Request, p *problem.Problem) *upstream.Response {
	a := newResponse(p.Status)
	for name, lines := range p.Header {
		a.Header[name] = lines
	}
	if p.Status != http.StatusNotFound && p.Status != http.StatusForbidden {
		a.Header.Set("Cache-Control", "no-store")
		a.Header.Del(cachepolicy.OurField)
	}
	body := p.JSON()
	a.Header.Set("Content-Type", problem.ContentType)
	a.Header.Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method != http.MethodHead {
		a.Body, a.Length = upstream.Received(body), int64(len(body))
	}
	return a
}

// A content is the rest of a file, or of a part of it.
type content struct {
	in   *os.File
	left int64
}

// Read returns io.ErrUnexpectedEOF if the file has become shorter.
func (c *content) Read(p []byte) (int, error) {
	if c.left == 0 {
		return 0, io.EOF
	}
	n, err := c.in.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	return n, short(err, c.left)
}

// WriteTo lets a connection take the file without a copy in this process.
func (c *content) WriteTo(w io.Writer) (int64, error) {
	before := c.left
	rest := &io.LimitedReader{R: c.in, N: c.left}
	var err error
	if to, ok := w.(io.ReaderFrom); ok {
		_, err = to.ReadFrom(rest)
	} else {
		_, err = io.Copy(w, rest)
	}
	c.left = rest.N
	if err == nil && c.left > 0 {
		err = io.ErrUnexpectedEOF
	}
	return before - c.left, err
}

func (c *content) Close() error { return c.in.Close() }

// short makes an end before the last byte an error.
func short(err error, left int64) error {
	if err == io.EOF && left > 0 {
		return io.ErrUnexpectedEOF
	}
	return err
}
