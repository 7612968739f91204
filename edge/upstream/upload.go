package upstream

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

// An Upload is the body of a request that is sent while it arrives from the client. An origin gets
// it once: after its first Read the request is not sent again.
type Upload struct {
	From    io.Reader // returns io.EOF only at the end of the whole body
	Length  int64     // as announced; -1: unknown
	Expects bool      // the origin decides whether the client sends it (RFC 9110, section 10.1.1)
	trailer Trailer   // of the Request

	mu      sync.Mutex
	try     int  // the current one; a body of an earlier try reads nothing
	begun   bool // Read was called
	err     error
	timer   *time.Timer // of the response's head; nil: it has arrived, or no request is under way
	timeout time.Duration
}

// errUploadOver means that the body was read for a try that is over.
var errUploadOver = errors.New("the request has ended")

// uploadContinueTimeout is how long an origin may take to answer an Expect. Some origins ignore it,
// and would wait for the body without end.
const uploadContinueTimeout = time.Second

// watch makes the timer run only while the origin keeps the edge waiting: not while the client
// sends. nil ends that.
func (u *Upload) watch(timer *time.Timer, timeout time.Duration) {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.timer, u.timeout = timer, timeout
}

// retry reports whether the request may be sent again, because nothing of its body was read.
func (u *Upload) retry() bool {
	if u == nil {
		return true
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.try++
	return !u.begun
}

// Err returns the error that ended the upload on the client's side; nil: none.
func (u *Upload) Err() error {
	if u == nil {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.err
}

// body returns the upload as the body of one try.
func (u *Upload) body(t *attempt) *uploadBody {
	u.mu.Lock()
	defer u.mu.Unlock()
	return &uploadBody{u, u.try, t, u.trailer.announced()}
}

// An uploadBody is the body of one try.
type uploadBody struct {
	*Upload
	nth     int
	attempt *attempt
	trailer http.Header // of the try's request; Read fills it
}

// hasBegun reports whether the origin wants the body. A response that comes later is no refusal,
// because the origin may read on after it has begun to respond.
func (b *uploadBody) hasBegun() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.begun
}

// begin starts a Read, unless the try is over.
func (b *uploadBody) begin() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.nth != b.try {
		return errUploadOver
	}
	if b.err != nil {
		return b.err
	}
	if b.begun = true; b.timer != nil {
		b.timer.Stop()
	}
	return nil
}

func (b *uploadBody) Read(p []byte) (int, error) {
	if b.Expects && !b.hasBegun() && b.attempt.refused() {
		return 0, errUploadOver
	}
	if err := b.begin(); err != nil {
		return 0, err
	}
	n, err := b.From.Read(p)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.timer != nil {
		b.timer.Reset(b.timeout)
	}
	switch {
	case err == io.EOF && b.Upload.trailer.Fields != nil:
		b.Upload.trailer.fill(b.trailer)
	case err != nil && err != io.EOF:
		b.err = err
	}
	return n, err
}

// Close ends the try.
func (b *uploadBody) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.nth == b.try && b.begun {
		b.try++
	}
	return nil
}

// attach makes u the body of a request, and forwards its expectation.
func (u *Upload) attach(req *http.Request, t *attempt) {
	body := u.body(t)
	req.Body, req.GetBody, req.ContentLength = body, nil, u.Length
	if u.trailer.Fields != nil {
		req.Trailer = body.trailer
	}
	if u.Expects {
		req.Header = req.Header.Clone()
		req.Header.Set("Expect", "100-continue")
	}
}
