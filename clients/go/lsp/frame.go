package lsp

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/textproto"
	"strconv"
	"strings"
)

const (
	maxMessage = 32 << 20 // bytes of one message
	maxHeader  = 8 << 10  // bytes of its header
)

// errFrame means that the stream has lost its framing, so no later message can be found.
var errFrame = errors.New("the input is not in the form of the Language Server Protocol")

// readMessage reads the header and content of one message (LSP 3.17, base protocol). It returns
// io.EOF at the end of the stream, also within a message: the editor has gone.
func readMessage(r *bufio.Reader) ([]byte, error) {
	length, header := -1, 0
	for {
		line, err := r.ReadSlice('\n')
		header += len(line)
		switch {
		case errors.Is(err, bufio.ErrBufferFull), header > maxHeader:
			return nil, fmt.Errorf("%w: a header is too long", errFrame)
		case err != nil:
			return nil, io.EOF
		}
		text := strings.TrimRight(string(line), "\r\n")
		if text == "" {
			break
		}
		name, value, ok := strings.Cut(text, ":")
		if !ok {
			return nil, fmt.Errorf("%w: a header has no colon", errFrame)
		}
		if textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(name)) != "Content-Length" {
			continue
		}
		n, err := strconv.ParseUint(strings.TrimSpace(value), 10, 31)
		if err != nil || n > maxMessage || length >= 0 {
			return nil, fmt.Errorf("%w: Content-Length must be a number up to %d, once", errFrame, maxMessage)
		}
		length = int(n)
	}
	if length < 0 {
		return nil, fmt.Errorf("%w: there is no Content-Length", errFrame)
	}
	// A hostile length allocates nothing before that many bytes have arrived.
	content, err := io.ReadAll(io.LimitReader(r, int64(length)))
	if err != nil || len(content) < length {
		return nil, io.EOF
	}
	return content, nil
}

// writeMessage writes one message.
func writeMessage(w io.Writer, content []byte) error {
	_, err := w.Write(append(fmt.Appendf(nil, "Content-Length: %d\r\n\r\n", len(content)), content...))
	return err
}
