package lsp

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"time"

	client "github.com/iconedge/iconedge/clients/go"
	"github.com/iconedge/iconedge/clients/go/reference"
)

// Kinds of messages (LSP 3.17, MessageType).
const (
	typeError   = 1
	typeWarning = 2
)

// A server serves one editor.
type server struct {
	ctx   context.Context
	conn  *conn
	icons *icons
	log   *slog.Logger
	info  map[string]string // serverInfo

	mu          sync.Mutex
	initialized bool
	shutdown    bool
	editor      editor
	settings    settings
	documents   map[string]*document
	timers      map[string]*time.Timer // of the next check of a document
	published   map[string]bool        // the documents with diagnostics
	shown       string                 // the kind of the last failure in the editor
	confirmed   bool                   // the user has accepted a non-commercial licence

	publishing sync.Mutex
}

// An editor is the part of the client's capabilities that the server depends on.
type editor struct {
	utf8      bool // positions
	markdown  bool // in hovers
	versioned bool // edits name the version of the document
}

func newServer(ctx context.Context, cfg Config) *server {
	log := cfg.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &server{ctx: ctx, conn: newConn(cfg.Out), icons: newIcons(client.New(cfg.Client)), log: log,
		info: map[string]string{"name": "iconedge", "version": cfg.Version}, settings: defaults(),
		documents: map[string]*document{}, timers: map[string]*time.Timer{}, published: map[string]bool{}}
}

func (s *server) isShutdown() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shutdown
}

// handle takes a message. It holds the lock while it reads the state that a run needs.
func (s *server) handle(method string, params json.RawMessage, isRequest bool) (run, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case method == "initialize" && isRequest:
		return s.initialize(params)
	case !s.initialized && isRequest:
		return nil, &rpcError{codeNotInitialized, "the server is not initialized"}
	case s.shutdown && isRequest:
		return nil, &rpcError{codeInvalidRequest, "the server is shut down"}
	case !s.initialized:
		return nil, nil
	}
	if !isRequest {
		s.notified(method, params)
		return nil, nil
	}
	switch method {
	case "shutdown":
		s.shutdown = true
		return func(context.Context) (any, error) { return nil, nil }, nil
	case "textDocument/completion":
		return s.completion(params)
	case "completionItem/resolve":
		return s.resolve(params)
	case "textDocument/hover":
		return s.hover(params)
	case "textDocument/documentLink":
		return s.links(params)
	case "textDocument/codeAction":
		return s.codeActions(params)
	case "workspace/executeCommand":
		return s.execute(params)
	}
	return nil, &rpcError{codeNoMethod, "the server has no such method"}
}

func (s *server) initialize(params json.RawMessage) (run, error) {
	var p struct {
		InitializationOptions json.RawMessage
		Capabilities          struct {
			General   struct{ PositionEncodings []string }
			Workspace struct {
				WorkspaceEdit struct{ DocumentChanges bool }
			}
			TextDocument struct {
				Hover *struct{ ContentFormat []string }
			}
		}
	}
	if s.initialized {
		return nil, &rpcError{codeInvalidRequest, "the server is already initialized"}
	}
	if json.Unmarshal(params, &p) != nil {
		return nil, invalid()
	}
	s.initialized = true
	encodings := p.Capabilities.General.PositionEncodings
	s.editor.utf8 = len(encodings) > 0 && encodings[0] == "utf-8"
	s.editor.versioned = p.Capabilities.Workspace.WorkspaceEdit.DocumentChanges
	formats := []string{"markdown"}
	if hover := p.Capabilities.TextDocument.Hover; hover != nil && len(hover.ContentFormat) > 0 {
		formats = hover.ContentFormat
	}
	s.editor.markdown = slices.Contains(formats, "markdown")
	var complaints []string
	s.settings, complaints = readSettings(p.InitializationOptions)
	encoding := "utf-16"
	if s.editor.utf8 {
		encoding = "utf-8"
	}
	return func(context.Context) (any, error) {
		defer s.complain(complaints)
		return map[string]any{"serverInfo": s.info, "capabilities": map[string]any{
			"positionEncoding":       encoding,
			"textDocumentSync":       map[string]any{"openClose": true, "change": 2},
			"completionProvider":     map[string]any{"triggerCharacters": []string{":", "/", "-"}, "resolveProvider": true},
			"hoverProvider":          true,
			"documentLinkProvider":   map[string]any{"resolveProvider": false},
			"codeActionProvider":     map[string]any{"codeActionKinds": []string{"quickfix", "refactor.rewrite"}},
			"executeCommandProvider": map[string]any{"commands": []string{insertCommand}},
		}}, nil
	}, nil
}

func invalid() error {
	return &rpcError{codeInvalidParams, "the parameters are not those of the method"}
}

// complain logs sentences about settings in the editor.
func (s *server) complain(sentences []string) {
	for _, sentence := range sentences {
		s.conn.notify("window/logMessage", map[string]any{"type": typeWarning, "message": sentence})
	}
}

// notified takes a notification; the caller holds the lock. Unknown and malformed ones are ignored
// (LSP 3.17, base protocol).
func (s *server) notified(method string, params json.RawMessage) {
	var p struct {
		TextDocument struct {
			URI, LanguageID, Text string
			Version               int
		}
		ContentChanges []change
		Settings       json.RawMessage
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	uri := p.TextDocument.URI
	switch method {
	case "textDocument/didOpen":
		language := languageOf(uri, p.TextDocument.LanguageID)
		s.documents[uri] = newDocument(uri, language, p.TextDocument.Version, p.TextDocument.Text, s.editor.utf8)
		s.schedule(uri, 0)
	case "textDocument/didChange":
		if d := s.documents[uri]; d != nil {
			s.documents[uri] = d.apply(p.TextDocument.Version, p.ContentChanges)
			s.schedule(uri, checkDelay)
		}
	case "textDocument/didClose":
		delete(s.documents, uri)
		s.schedule(uri, 0)
	case "workspace/didChangeConfiguration":
		var complaints []string
		s.settings, complaints = readSettings(p.Settings)
		s.complain(complaints)
	}
}

// at reads the parameters of a request about a position; the caller holds the lock. The document is
// nil if it is not open.
func (s *server) at(params json.RawMessage) (d *document, offset int, err error) {
	var p struct {
		TextDocument struct{ URI string }
		Position     position
	}
	if json.Unmarshal(params, &p) != nil {
		return nil, 0, invalid()
	}
	if d = s.documents[p.TextDocument.URI]; d != nil {
		offset = d.offset(p.Position)
	}
	return d, offset, nil
}

// references returns the references of a document. It requests the packs only if the text has a
// word that may be one.
func (s *server) references(ctx context.Context, d *document) ([]reference.Reference, error) {
	if len(d.text) > maxText || len(reference.Find(d.text, reference.Any)) == 0 {
		return nil, nil
	}
	packs, err := s.icons.packs(ctx)
	if err != nil {
		return nil, err
	}
	return reference.Find(d.text, packs.has), nil
}

// referenceAt returns the reference at an offset; ok is false if there is none.
func (s *server) referenceAt(ctx context.Context, d *document, offset int) (r reference.Reference, ok bool, err error) {
	position := d.position(offset)
	start, line := d.line(position.Line)
	one := &document{text: line}
	found, err := s.references(ctx, one)
	for _, r := range found {
		if r.Start <= offset-start && offset-start <= r.End {
			r.Start, r.End = r.Start+start, r.End+start
			return r, true, nil
		}
	}
	return r, false, err
}
