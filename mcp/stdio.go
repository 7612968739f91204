package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	maxLine = 16 << 20 // bytes of one message
	// time for open calls after the client has closed stdin, or when the server stops
	drainTime = 3 * time.Second
)

// serveLines serves one client, with one JSON-RPC message a line.
func serveLines(ctx context.Context, cfg Config, s *sdk.Server) error {
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx, lines{cfg.In, cfg.Out}) }()
	select {
	case err := <-ended:
		if ctx.Err() != nil || errors.Is(err, io.EOF) {
			return nil
		}
		return err
	case <-ctx.Done():
	}
	select { // Run waits for open calls, and those wait for the API
	case <-ended:
	case <-time.After(drainTime):
	}
	return nil
}

// lines is the transport. The SDK's own transport ends the session at a line that is not JSON, and
// drops open calls when stdin ends. This one answers the line with an error (JSON-RPC 2.0, section
// 5.1), and waits for open calls.
type lines struct {
	in  io.Reader
	out io.Writer
}

// Connect implements the SDK's Transport.
func (l lines) Connect(context.Context) (sdk.Connection, error) {
	c := &lineConn{out: l.out, incoming: make(chan jsonrpc.Message), closed: make(chan struct{}),
		idle: make(chan struct{}, 1), under: map[jsonrpc.ID]int{}}
	go c.read(bufio.NewReaderSize(l.in, 64<<10))
	return c, nil
}

type lineConn struct {
	incoming chan jsonrpc.Message
	closed   chan struct{}
	once     sync.Once
	idle     chan struct{} // signalled when the last open call is answered

	mu    sync.Mutex
	out   io.Writer
	under map[jsonrpc.ID]int // calls without an answer yet
}

// read reads lines until stdin ends; then it gives open calls time to finish.
func (c *lineConn) read(in *bufio.Reader) {
	defer close(c.incoming)
	for {
		line, err := readLine(in)
		if len(line) > 0 {
			c.take(line)
		}
		if errors.Is(err, errLong) {
			c.refuse(jsonrpc.CodeInvalidRequest, "the message is longer than 16 MiB")
		} else if err != nil {
			c.drain(time.After(drainTime))
			return
		}
	}
}

// drain waits until no call is open, or until late fires.
func (c *lineConn) drain(late <-chan time.Time) {
	for c.underway() > 0 {
		select {
		case <-c.idle:
		case <-late:
			return
		case <-c.closed:
			return
		}
	}
}

func (c *lineConn) underway() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.under)
}

var errLong = errors.New("a line is too long")

// readLine returns the next line without its line end. It skips a line that is too long.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for long := false; ; {
		part, err := in.ReadSlice('\n')
		long = long || len(line)+len(part) > maxLine
		if !long {
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if long {
			return nil, errLong
		}
		return trimLine(line), err
	}
}

func trimLine(line []byte) []byte {
	for len(line) > 0 && (line[len(line)-1] == '\n' || line[len(line)-1] == '\r' || line[len(line)-1] == ' ') {
		line = line[:len(line)-1]
	}
	return line
}

// take delivers the message of a line, or the messages of a batch one by one (protocol versions up
// to 2025-03-26 have batches).
func (c *lineConn) take(line []byte) {
	batch := []json.RawMessage{line}
	if line[0] == '[' {
		batch = nil
		if json.Unmarshal(line, &batch) == nil && len(batch) == 0 {
			c.refuse(jsonrpc.CodeInvalidRequest, "the batch is empty")
			return
		}
	}
	if !json.Valid(line) {
		c.refuse(jsonrpc.CodeParseError, "the line is not JSON")
		return
	}
	for _, raw := range batch {
		msg, err := jsonrpc.DecodeMessage(raw)
		if err != nil {
			c.refuse(jsonrpc.CodeInvalidRequest, "the message is not JSON-RPC 2.0")
			continue
		}
		c.hand(msg)
	}
}

func (c *lineConn) hand(msg jsonrpc.Message) {
	if call, ok := msg.(*jsonrpc.Request); ok && call.IsCall() {
		c.mu.Lock()
		c.under[call.ID]++
		c.mu.Unlock()
	}
	select {
	case c.incoming <- msg:
	case <-c.closed:
	}
}

// refuse sends an error for input that contains no call; its id is null.
func (c *lineConn) refuse(code int, words string) {
	c.writeLine([]byte(`{"jsonrpc":"2.0","id":null,"error":` + string(marshal(jsonrpc.Error{Code: int64(code), Message: words})) + `}`))
}

// Read implements the SDK's Connection.
func (c *lineConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-c.closed:
		return nil, io.EOF
	case msg, ok := <-c.incoming:
		if !ok {
			return nil, io.EOF
		}
		return msg, nil
	}
}

// Write implements the SDK's Connection.
func (c *lineConn) Write(_ context.Context, msg jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	err = c.writeLine(data)
	if answer, ok := msg.(*jsonrpc.Response); ok {
		c.answered(answer.ID)
	}
	return err
}

func (c *lineConn) answered(id jsonrpc.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.under[id]--; c.under[id] <= 0 {
		delete(c.under, id)
	}
	if len(c.under) == 0 {
		select {
		case c.idle <- struct{}{}:
		default:
		}
	}
}

func (c *lineConn) writeLine(data []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := c.out.Write(append(data, '\n'))
	return err
}

// Close implements the SDK's Connection.
func (c *lineConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}

// SessionID implements the SDK's Connection. There is only one session, so it has no id.
func (c *lineConn) SessionID() string { return "" }
