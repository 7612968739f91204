package lsp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	client "github.com/iconedge/iconedge/clients/go"
	"github.com/iconedge/iconedge/clients/go/reference"
)

const (
	checkDelay = 300 * time.Millisecond // from the last edit to the check of a document
	checkAgain = 20 * time.Second       // until a check that had to wait is tried again
	maxText    = 2 << 20                // bytes of a document that is examined
	atOnce     = 8                      // names that are checked at the same time
)

// A diagnostic is a warning about a name.
type diagnostic struct {
	Range    span   `json:"range"`
	Severity int    `json:"severity"`
	Code     string `json:"code"`
	Source   string `json:"source"`
	Message  string `json:"message"`
}

// schedule checks a document after a delay, instead of an earlier plan; the caller holds the lock.
func (s *server) schedule(uri string, delay time.Duration) {
	if t := s.timers[uri]; t != nil {
		t.Stop()
	}
	s.timers[uri] = time.AfterFunc(delay, func() { s.checkDocument(uri) })
}

// checkDocument publishes the diagnostics of a document, unless it changes meanwhile: then the next
// check does.
func (s *server) checkDocument(uri string) {
	s.mu.Lock()
	d := s.documents[uri]
	if d == nil {
		delete(s.timers, uri)
	}
	s.mu.Unlock()
	if d == nil {
		s.publish(uri, nil, nil)
		return
	}
	found, err := s.references(s.ctx, d)
	if err != nil {
		s.tell(err)
		return
	}
	list, wait := s.diagnose(d, found)
	s.publish(uri, d, list)
	if wait {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.documents[uri] == d {
			s.schedule(uri, checkAgain)
		}
	}
}

// diagnose checks every name of a document once. Wait reports whether some checks have to wait.
func (s *server) diagnose(d *document, found []reference.Reference) (list []diagnostic, wait bool) {
	type result struct {
		state state
		err   *client.Error
	}
	results := map[string]*result{}
	var group sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for _, r := range found {
		word := d.text[r.Start:r.End]
		if results[word] != nil {
			continue
		}
		one := &result{}
		results[word] = one
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			one.state, one.err = s.icons.check(s.ctx, r)
		})
	}
	group.Wait()
	for _, r := range found {
		one := results[d.text[r.Start:r.End]]
		switch one.state {
		case absent, gone:
			list = append(list, diagnosticOf(d, r, one.err))
		case unsure:
			if one.err != nil {
				s.tell(one.err)
			}
		case later:
			wait = true
		}
	}
	return list, wait
}

func diagnosticOf(d *document, r reference.Reference, err *client.Error) diagnostic {
	return diagnostic{Range: d.span(r.Start, r.End), Severity: typeWarning, Code: "unknown-icon", Source: "iconedge", Message: err.Sentence}
}

// publish sends the diagnostics of a document that is still current, if there are or were any.
func (s *server) publish(uri string, d *document, list []diagnostic) {
	s.publishing.Lock() // the last message about a document is the one about its last version
	defer s.publishing.Unlock()
	if !s.toPublish(uri, d, len(list) > 0) {
		return
	}
	params := map[string]any{"uri": uri, "diagnostics": append([]diagnostic{}, list...)}
	if d != nil {
		params["version"] = d.version
	}
	s.conn.notify("textDocument/publishDiagnostics", params)
}

// toPublish reports whether the diagnostics of a document are to be sent, and notes whether it has
// some.
func (s *server) toPublish(uri string, d *document, some bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.documents[uri] != d || !some && !s.published[uri] {
		return false
	}
	delete(s.published, uri)
	if some {
		s.published[uri] = true
	}
	return true
}

// tell shows a failure of the service to the user: one sentence, once until something succeeds or
// fails in another way.
func (s *server) tell(err error) {
	e, ok := errors.AsType[*client.Error](err)
	if !ok || errors.Is(err, context.Canceled) {
		return
	}
	kind := fmt.Sprint("failure ", e.Status)
	s.mu.Lock()
	told := s.shown == kind
	s.shown = kind
	s.mu.Unlock()
	if told && e.Status != http.StatusTooManyRequests {
		return
	}
	method := "window/showMessage"
	if told {
		method = "window/logMessage" // the seconds that are left change
	}
	s.log.Debug("service failed", "status", e.Status, "error", e.Sentence)
	s.conn.notify(method, map[string]any{"type": typeError, "message": e.Sentence})
}

// succeeded lets the next failure be shown again.
func (s *server) succeeded() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shown = ""
}
