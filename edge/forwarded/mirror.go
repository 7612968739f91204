package forwarded

import (
	"context"
	"io"
	"net/http"

	"github.com/iconedge/iconedge/edge/fetch"
	"github.com/iconedge/iconedge/edge/pipeline"
)

const (
	// mostCopies is how many copies of requests are in flight at a time. More are left out, so that
	// a slow origin of copies takes no more memory.
	mostCopies = 64
	// copyBody bounds the bytes that are read of the response to a copy, so that the connection can
	// be used again after most of them.
	copyBody = 1 << 20
)

// mirror sends a copy of a GET to the origin that the rules name, if they do. It does not wait.
func (h *Answerer) mirror(r *pipeline.Request, q *fetch.Request) {
	if r.Ruled == nil || r.Ruled.Mirror == "" || q.Policy.Method != http.MethodGet || q.HasBody() || r.Upgrade != "" {
		return
	}
	if h.copies.Add(1) > mostCopies {
		h.copies.Add(-1)
		return
	}
	to, sent := r.Site.Origins[r.Ruled.Mirror], q.Upstream(nil)
	sent.Header, sent.Interim, sent.Host = sent.Header.Clone(), nil, ""
	if to.ClientHost {
		sent.Host = r.Public.Host
	}
	patience := *q.Patience
	patience.Whole = patience.FirstByte + patience.Idle // an endless body would keep its place
	sent.Patience = &patience
	go func() {
		defer h.copies.Add(-1)
		a, err := to.Client.Do(context.Background(), sent)
		if err != nil {
			return // the client of the origin counts and logs it
		}
		io.CopyN(io.Discard, a.Body, copyBody)
		a.Body.Close()
	}()
}
