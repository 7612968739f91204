package lsp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"sync"
	"time"
)

// Codes of errors (JSON-RPC 2.0, section 5.1, and LSP 3.17, ErrorCodes).
const (
	codeParse          = -32700
	codeInvalidRequest = -32600
	codeNoMethod       = -32601
	codeInvalidParams  = -32602
	codeNotInitialized = -32002
	codeCancelled      = -32800
	codeFailed         = -32803
)

// maxOpen is the number of requests that are served at a time; more are refused.
const maxOpen = 256

var errExit = errors.New("exit")

// A message is a request, a notification or a response.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *rpcError) Error() string { return e.Message }

// A run serves one request, after the state of the documents has been read.
type run func(context.Context) (any, error)

// A handler takes a message in the order of arrival. For a request it returns its run, which may
// take time; for a notification nil.
type handler func(method string, params json.RawMessage, isRequest bool) (run, error)

// A conn is the connection to the editor.
type conn struct {
	outMu sync.Mutex
	out   io.Writer

	mu      sync.Mutex
	open    map[string]context.CancelFunc // requests of the editor, by id
	asked   map[string]chan message       // requests to the editor, by id
	lastAsk int
	serving sync.WaitGroup
}

func newConn(out io.Writer) *conn {
	return &conn{out: out, open: map[string]context.CancelFunc{}, asked: map[string]chan message{}}
}

// read takes messages until the stream ends or the editor sends exit.
func (c *conn) read(ctx context.Context, in io.Reader, handle handler) error {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		content, err := readMessage(r)
		if err != nil {
			return err
		}
		var m message
		if json.Unmarshal(content, &m) != nil {
			code := codeParse
			if json.Valid(content) {
				code = codeInvalidRequest
			}
			c.respond(json.RawMessage("null"), nil, &rpcError{code, "the message is not JSON-RPC 2.0"})
			continue
		}
		if m.Method == "exit" {
			return errExit
		}
		c.take(ctx, m, handle)
	}
}

func (c *conn) take(ctx context.Context, m message, handle handler) {
	isRequest := len(m.ID) > 0 && !bytes.Equal(m.ID, []byte("null"))
	switch {
	case m.Method == "" && isRequest:
		c.answered(m)
		return
	case m.Method == "":
		c.respond(json.RawMessage("null"), nil, &rpcError{codeInvalidRequest, "the message has no method"})
		return
	case m.Method == "$/cancelRequest":
		c.cancel(m.Params)
		return
	}
	run, err := handle(m.Method, m.Params, isRequest)
	if !isRequest {
		return
	}
	if err != nil || run == nil {
		c.respond(m.ID, nil, err)
		return
	}
	ctx, err = c.begin(ctx, string(m.ID))
	if err != nil {
		c.respond(m.ID, nil, err)
		return
	}
	c.serving.Go(func() {
		result, err := run(ctx)
		if ctx.Err() != nil {
			err = &rpcError{codeCancelled, "the request was cancelled"}
		}
		c.end(string(m.ID))
		c.respond(m.ID, result, err)
	})
}

func (c *conn) begin(ctx context.Context, id string) (context.Context, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open[id] != nil || len(c.open) >= maxOpen {
		return nil, &rpcError{codeInvalidRequest, "too many requests are open, or two have the same id"}
	}
	ctx, cancel := context.WithCancel(ctx)
	c.open[id] = cancel
	return ctx, nil
}

func (c *conn) end(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[id]()
	delete(c.open, id)
}

func (c *conn) cancel(params json.RawMessage) {
	var p struct{ ID json.RawMessage }
	if json.Unmarshal(params, &p) != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if cancel := c.open[string(p.ID)]; cancel != nil {
		cancel()
	}
}

// drain waits until every open request is answered, but not longer than within.
func (c *conn) drain(within time.Duration) {
	done := make(chan struct{})
	go func() {
		c.serving.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(within):
	}
}

// respond sends the response to a request.
func (c *conn) respond(id json.RawMessage, result any, err error) {
	m := message{Version: "2.0", ID: id}
	if err != nil {
		e, ok := errors.AsType[*rpcError](err)
		if !ok {
			e = &rpcError{codeFailed, err.Error()}
		}
		m.Error = e
	} else {
		m.Result = encode(result)
	}
	c.send(m)
}

// notify sends a notification.
func (c *conn) notify(method string, params any) {
	c.send(message{Version: "2.0", Method: method, Params: encode(params)})
}

// ask sends a request to the editor and waits for its response.
func (c *conn) ask(ctx context.Context, method string, params, result any) error {
	answer := make(chan message, 1)
	c.mu.Lock()
	c.lastAsk++
	id := strconv.Itoa(c.lastAsk)
	c.asked[id] = answer
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.asked, id)
	}()
	c.send(message{Version: "2.0", ID: json.RawMessage(id), Method: method, Params: encode(params)})
	select {
	case m := <-answer:
		if m.Error != nil {
			return m.Error
		}
		if len(m.Result) == 0 {
			return nil
		}
		return json.Unmarshal(m.Result, result)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *conn) answered(m message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if answer := c.asked[string(m.ID)]; answer != nil {
		select {
		case answer <- m:
		default: // a second response to the same request
		}
	}
}

// send writes a message. The error of a write is ignored: the end of stdin follows it.
func (c *conn) send(m message) {
	content := encode(m)
	c.outMu.Lock()
	defer c.outMu.Unlock()
	writeMessage(c.out, content)
}

// encode encodes values of this package; nil is null.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // cannot happen with such values
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}
