package quic

import (
	"strings"

	"github.com/quic-go/quic-go/http3"
)

// http3Error names an error of HTTP/3 (RFC 9114, section 8.1), QPACK (RFC 9204, section 6) or
// datagrams.
func http3Error(code uint64) string {
	switch code {
	case 0x10d:
		return "H3_REQUEST_INCOMPLETE"
	case 0x201:
		return "QPACK_ENCODER_STREAM_ERROR"
	case 0x202:
		return "QPACK_DECODER_STREAM_ERROR"
	}
	return http3.ErrCode(code).String()
}

// wanted returns the errors that an outcome names.
func wanted(outcome string) []string {
	_, names, _ := strings.Cut(outcome, ": ")
	return strings.Split(names, " or ")
}
