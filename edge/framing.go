package edge

import (
	"bytes"
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/edge/eligible"
)

// A framed summarises the field lines of a message. fasthttp's parser keeps one framing field of
// two and only the last Connection, and accepts malformed lines that others read in another way,
// without reporting any of it.
type framed struct {
	coded, measured bool // the message has Transfer-Encoding, Content-Length
	closing         bool // close is among the options of Connection
	upgrading       bool // the message has Upgrade: another protocol may follow
	strict          bool // every line is well-formed, strictly by RFC 9112
}

// framing parses the field lines of a message. Each ends in CR LF, none is folded, a name is a
// token directly followed by its colon, and no byte is a control character (RFC 9112, sections 2.2,
// 5.1 and 5.2).
func framing(fields []byte) framed {
	m := framed{strict: true}
	for len(fields) > 0 {
		line, rest, ended := bytes.Cut(fields, []byte("\r\n"))
		name, value, ok := bytes.Cut(line, []byte(":"))
		if last := len(line) == 0 && len(rest) == 0; !ended || !last && (!ok || !eligible.IsToken(name) || eligible.Controls(value)) {
			m.strict = false
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

// asksToClose reports whether close is one of the options.
func asksToClose(options string) bool {
	for option := range strings.SplitSeq(options, ",") {
		if strings.EqualFold(strings.Trim(option, " \t"), "close") {
			return true
		}
	}
	return false
}
