package edge

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// A message is a request or a response, read strictly as in RFC 9112: it is an error if another
// parser could read it differently.
type message struct {
	line   string
	fields map[string][]string // by name in lower case
	body   string
	// The trailer fields, by name in lower case.
	trailer map[string][]string
}

// status returns the status code of a response.
func (m message) status() int {
	n, err := strconv.Atoi(m.line[9:12])
	if err != nil {
		return 0
	}
	return n
}

// Arguments of readMessage: the message is a request; it is the response to a HEAD.
const aRequest, ofHead = true, true

// readMessage reads one message. If it is the response to a HEAD, bodyless is set.
func readMessage(r *bufio.Reader, request, bodyless bool) (message, error) {
	m := message{fields: map[string][]string{}, trailer: map[string][]string{}}
	line, err := readLine(r)
	if err != nil {
		return m, err
	}
	if m.line = line; !validLine(line, request) {
		return m, fmt.Errorf("malformed first line %.100q", line)
	}
	if err := readFields(r, m.fields); err != nil {
		return m, err
	}
	return m, m.readBody(r, request, bodyless)
}

// readFields reads fields and the empty line after them.
func readFields(r *bufio.Reader, fields map[string][]string) error {
	for {
		line, err := readLine(r)
		if err != nil || line == "" {
			return err
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok || !isName(name) {
			return fmt.Errorf("malformed field %.100q", line)
		}
		name = strings.ToLower(name)
		fields[name] = append(fields[name], strings.Trim(value, " \t"))
	}
}

// readLine reads a line that ends in CR LF. It may contain no other control byte but a tab.
func readLine(r *bufio.Reader) (string, error) {
	var line strings.Builder
	for {
		b, err := r.ReadByte()
		if err != nil {
			if err == io.EOF && line.Len() > 0 {
				err = io.ErrUnexpectedEOF
			}
			return "", err
		}
		if b == '\r' {
			if b, err := r.ReadByte(); err != nil || b != '\n' {
				return "", fmt.Errorf("a bare CR after %.100q", line.String())
			}
			return line.String(), nil
		}
		if b < ' ' && b != '\t' || b == 0x7f {
			return "", fmt.Errorf("byte %#x after %.100q", b, line.String())
		}
		line.WriteByte(b)
	}
}

func validLine(line string, request bool) bool {
	if !request {
		return len(line) >= 13 && line[:9] == "HTTP/1.1 " && line[9] >= '1' && line[9] <= '9' && line[12] == ' '
	}
	words := strings.Split(line, " ")
	return len(words) == 3 && isName(words[0]) && strings.HasPrefix(words[1], "/") && words[2] == "HTTP/1.1"
}

func isName(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; !('a' <= c|0x20 && c|0x20 <= 'z' && c >= 'A' || '0' <= c && c <= '9' ||
			strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0) {
			return false
		}
	}
	return s != ""
}

// readBody reads the body that the fields declare. They must declare it once.
func (m *message) readBody(r *bufio.Reader, request, bodyless bool) error {
	lengths, codings := m.fields["content-length"], m.fields["transfer-encoding"]
	if len(lengths)+len(codings) > 1 {
		return fmt.Errorf("framed by %q and %q", lengths, codings)
	}
	if !request && (bodyless || m.status() < 200 || m.status() == 204 || m.status() == 304) {
		return nil
	}
	switch {
	case len(codings) == 1 && codings[0] == "chunked":
		return m.readChunks(r)
	case len(codings) == 1:
		return fmt.Errorf("Transfer-Encoding: %s", codings[0])
	case len(lengths) == 1:
		n, err := strconv.ParseUint(lengths[0], 10, 32)
		if err != nil {
			return err
		}
		var b strings.Builder // a body that does not come takes no memory
		if _, err := io.CopyN(&b, r, int64(n)); err != nil {
			return err
		}
		m.body = b.String()
		return nil
	case request:
		return nil
	case strings.Join(m.fields["connection"], ",") != "close":
		return errors.New("a response without a length on a connection that stays open")
	}
	b, err := io.ReadAll(r)
	m.body = string(b)
	return err
}

// readChunks reads chunks without extensions, because neither side sends any here, and the trailer
// fields.
func (m *message) readChunks(r *bufio.Reader) error {
	for {
		line, err := readLine(r)
		if err != nil {
			return err
		}
		n, err := strconv.ParseUint(line, 16, 32)
		if err != nil {
			return err
		}
		if n == 0 {
			return readFields(r, m.trailer)
		}
		b := make([]byte, n+2)
		if _, err := io.ReadFull(r, b); err != nil || string(b[n:]) != "\r\n" {
			return fmt.Errorf("after a chunk: %.20q, %w", b[n:], err)
		}
		m.body += string(b[:n])
	}
}
