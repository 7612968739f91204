package forwarded

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/fetch"
	"github.com/iconedge/iconedge/edge/objects"
	"github.com/iconedge/iconedge/edge/pipeline"
	"github.com/iconedge/iconedge/edge/slicing"
	"github.com/iconedge/iconedge/internal/problem"
)

// serveObject answers a request with a stored object: with all of it or the part that the client
// asked for. It fetches the slices that are missing.
func (h *Answerer) serveObject(r *pipeline.Request, q *fetch.Request, f pipeline.Response) (exchange.Outcome, error) {
	e := f.Entry
	length := e.Object.Length
	if r.Ctx.IsHead() || pipeline.Conditional(r, e.Identity().ETag, e) != http.StatusOK {
		h.Writer.Finish(r, f) // without the body
		return f.Outcome, nil
	}
	off, n, part, err := pipeline.RequestedPart(r, e, length, e.Identity().ETag)
	if err != nil {
		return f.Outcome, err
	}
	span := slicing.Span{From: off, To: off + n}
	if state := h.Finder.Objects.State(e.Object.ID, length, span); f.Outcome == exchange.Hit && state != objects.Stored {
		if q.Policy.Directives.OnlyIfCached {
			return exchange.Refused, pipeline.NotStored()
		}
		r.Status = cachepolicy.CacheStatus{Forward: cachepolicy.ForwardPartial, Stored: true}
		if f.Outcome = exchange.Miss; state == objects.Arriving {
			f.Outcome, r.Status.Stored, r.Status.Collapsed = exchange.Collapsed, false, true
		}
	}
	// A cache may answer a request with Authorization from a stored response, whose other parts it
	// may not store with these credentials (RFC 9111, section 3.5).
	mayStore := cachepolicy.Storable(q.Policy, e.Status, pipeline.Header(e), r.Now)
	reader := h.Finder.Objects.Open(e.Object.ID, length, span, h.Finder.FetchSlices(q, e, mayStore), mayStore)
	if err := reader.Prepare(); err != nil {
		reader.Close()
		if errors.Is(err, objects.ErrMissing) {
			h.Finder.DropObject(q, e, err)
			err = fetch.ErrChanged
		}
		return exchange.Failed, upstreamProblem(err)
	}
	f.Stream, f.Length, f.Part = reader, span.Len(), part
	h.Writer.Finish(r, f)
	return f.Outcome, nil
}

// upstreamProblem returns an error of a transfer as a problem. fetch.ErrChanged stays as it is,
// because the caller then starts again.
func upstreamProblem(err error) error {
	if p := (*problem.Problem)(nil); errors.Is(err, fetch.ErrChanged) || errors.As(err, &p) {
		return err
	}
	return problem.New(http.StatusBadGateway, "the origin's response was incomplete; trying again in a moment may help").
		With("Retry-After", "1").Because(err).OfType(problem.HTTPResponseIncomplete)
}

// cutStream makes a 206 of a 200 whose body is still arriving and whose range the client asked for.
func cutStream(r *pipeline.Request, f *pipeline.Response) error {
	if f.Stream == nil || f.Length <= 0 || f.Entry.Status != http.StatusOK || f.Relayed {
		return nil
	}
	if r.MayHaveCoded(f.Entry, string(r.Ctx.Request.Header.Peek(fasthttp.HeaderIfRange))) {
		return nil
	}
	off, n, part, err := pipeline.RequestedPart(r, f.Entry, f.Length, f.Entry.Identity().ETag)
	if err != nil || part == "" {
		return err
	}
	f.Stream, f.Length, f.Part = &cutBody{f.Stream, off, n}, n, part
	return nil
}

// A cutBody is a part of a body: left bytes after the first skip bytes.
type cutBody struct {
	io.ReadCloser
	skip, left int64
}

func (b *cutBody) Read(p []byte) (int, error) {
	if b.skip > 0 {
		n, err := io.CopyN(io.Discard, b.ReadCloser, b.skip)
		if b.skip -= n; err != nil {
			return 0, fmt.Errorf("skipping to the range: %w", cmp.Or(err, io.ErrUnexpectedEOF))
		}
	}
	if b.left == 0 {
		return 0, io.EOF
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}
