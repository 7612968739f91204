package edge

import (
	"bytes"
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/edge/plain"
)

// A framed is what the lines of a message's fields say about the message as a whole. The server's parser keeps one framing field of
// two and the last Connection only, mends lines that others read in another way, and does not tell.
type framed struct {
	coded, measured bool // Transfer-Encoding, Content-Length
	closing         bool // close is among the options of Connection
	upgrading       bool // Upgrade: what follows may be of another protocol
	sound           bool // every line is one by the letter
}

// framing reads the lines of a message's fields. They end in CR LF, none goes on in the next, a name is a token with its colon
// at once behind it, and no byte is a control byte (RFC 9112, sections 2.2, 5.1 and 5.2).
func framing(fields []byte) framed {
	m := framed{sound: true}
	for len(fields) > 0 {
		line, rest, ended := bytes.Cut(fields, []byte("\r\n"))
		name, value, ok := bytes.Cut(line, []byte(":"))
		if last := len(line) == 0 && len(rest) == 0; !ended || !last && (!ok || !plain.IsToken(name) || plain.Controls(value)) {
			m.sound = false
			return m
		}
		m.field(name, value)
		fields = rest
	}
	return m
}

func (m *framed) field(name, value []byte) {
	switch len(name) {
	case len(fasthttp.HeaderTransferEncoding):
		m.coded = m.coded || is(name, fasthttp.HeaderTransferEncoding)
	case len(fasthttp.HeaderContentLength):
		m.measured = m.measured || is(name, fasthttp.HeaderContentLength)
	case len(fasthttp.HeaderConnection):
		m.closing = m.closing || is(name, fasthttp.HeaderConnection) && asksToClose(string(value))
	case len(fasthttp.HeaderUpgrade):
		m.upgrading = m.upgrading || is(name, fasthttp.HeaderUpgrade)
	}
}

func is(name []byte, field string) bool { return strings.EqualFold(string(name), field) }

// asksToClose reports whether close is one of these options.
func asksToClose(options string) bool {
	for option := range strings.SplitSeq(options, ",") {
		if strings.EqualFold(strings.Trim(option, " \t"), "close") {
			return true
		}
	}
	return false
}
