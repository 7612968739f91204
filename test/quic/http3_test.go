package quic

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

// A streamCase has the pieces that a client sends on streams of HTTP/3, and the outcome. Unless it
// says otherwise the client has a control stream with empty SETTINGS.
type streamCase struct {
	name, section string
	bare          bool // the client opens no control stream of itself
	sends         []piece
	want          string
	but           string // the outcome with quic-go instead, if it is harmless
}

// A piece is sent on one stream: control, encoder, decoder, push, other (a unidirectional
// stream of which the piece has the type), or request, with a number if there are several. The same
// name is the same stream.
type piece struct {
	on    string
	bytes []byte
	then  ending
}

// An ending is what happens to a stream behind a piece.
type ending int

const (
	stays  ending = iota
	ends          // FIN
	resets        // RESET_STREAM
	stops         // RESET_STREAM and STOP_SENDING
)

// The outcomes that several cases have.
const (
	unexpected   = "connection H3_FRAME_UNEXPECTED"
	malformed    = "stream H3_MESSAGE_ERROR"
	frameError   = "connection H3_FRAME_ERROR"
	idError      = "connection H3_ID_ERROR"
	badSettings  = "connection H3_SETTINGS_ERROR"
	noCreation   = "connection H3_STREAM_CREATION_ERROR"
	critical     = "connection H3_CLOSED_CRITICAL_STREAM"
	notDecoded   = "connection QPACK_DECOMPRESSION_FAILED"
	badEncoder   = "connection QPACK_ENCODER_STREAM_ERROR"
	badDecoder   = "connection QPACK_DECODER_STREAM_ERROR"
	incomplete   = "stream H3_REQUEST_INCOMPLETE"
	ok           = "status 200"
	tooLarge     = "status 431"
	badRequest   = "status 400"
	orMalformed  = " or " + malformed
	orBadRequest = " or " + badRequest
)

// one sends a request.
func one(bytes ...[]byte) []piece { return []piece{{"request", slices.Concat(bytes...), ends}} }

// control sends frames behind SETTINGS.
func control(bytes ...[]byte) []piece { return []piece{{"control", slices.Concat(bytes...), stays}} }

// fields sends a request with these lines only.
func fields(lines ...string) []piece { return one(headers(lines...)) }

// and sends a GET with these lines besides.
func and(lines ...string) []piece { return one(request("GET", "/hot", lines...)) }

// coded sends a request whose field section is given.
func coded(section ...byte) []piece { return one(frame(frameHeaders, section...)) }

const (
	method    = ":method: GET"
	scheme    = ":scheme: https"
	authority = ":authority: edge.test"
	path      = ":path: /hot"
)

var streamCases = []streamCase{
	{name: "no control stream", section: "RFC 9114, 6.2.1", bare: true, sends: one(get), want: ok},
	{name: "control stream whose first frame is GOAWAY", section: "RFC 9114, 6.2.1", bare: true,
		sends: control(frame(frameGoAway, 0)), want: "connection H3_MISSING_SETTINGS"},
	{name: "control stream whose first frame is unknown", section: "RFC 9114, 6.2.1", bare: true,
		sends: control(frame(frameGrease, 1, 2), settings()), want: "connection H3_MISSING_SETTINGS"},
	{name: "control stream whose first frame is PRIORITY_UPDATE", section: "RFC 9114, 6.2.1", bare: true,
		sends: control(priorityUpdate(0, "u=1")), want: "connection H3_MISSING_SETTINGS"},
	{name: "control stream that ends before SETTINGS", section: "RFC 9114, 6.2.1", bare: true,
		sends: []piece{{"control", nil, ends}}, want: critical},
	{name: "control stream that ends within SETTINGS", section: "RFC 9114, 6.2.1", bare: true,
		sends: []piece{{"control", begun(frameSettings, 10, 1), ends}}, want: critical + " or " + frameError},
	{name: "control stream that ends", section: "RFC 9114, 6.2.1", sends: []piece{{"control", nil, ends}}, want: critical},
	{name: "control stream that is reset", section: "RFC 9114, 6.2.1", sends: []piece{{"control", nil, resets}}, want: critical},
	{name: "second control stream", section: "RFC 9114, 6.2.1", sends: []piece{{"control 2", settings(), stays}}, want: noCreation},
	{name: "SETTINGS twice", section: "RFC 9114, 7.2.4", sends: control(settings()), want: unexpected},
	{name: "SETTINGS with a setting of HTTP/2: 2", section: "RFC 9114, 7.2.4.1", bare: true,
		sends: control(settings(2, 1)), want: badSettings},
	{name: "SETTINGS with a setting of HTTP/2: 3", section: "RFC 9114, 7.2.4.1", bare: true,
		sends: control(settings(3, 100)), want: badSettings},
	{name: "SETTINGS with a setting of HTTP/2: 4", section: "RFC 9114, 7.2.4.1", bare: true,
		sends: control(settings(4, 65535)), want: badSettings},
	{name: "SETTINGS with a setting of HTTP/2: 5", section: "RFC 9114, 7.2.4.1", bare: true,
		sends: control(settings(5, 16384)), want: badSettings},
	{name: "setting twice", section: "RFC 9114, 7.2.4", bare: true, sends: control(settings(6, 1000, 6, 1000)), want: badSettings},
	{name: "unknown setting twice", section: "RFC 9114, 7.2.4", bare: true,
		sends: control(settings(0x21, 1, 0x21, 1)), want: badSettings + " or " + goesOn},
	{name: "SETTINGS_ENABLE_CONNECT_PROTOCOL of 2", section: "RFC 9220, 3", bare: true, sends: control(settings(8, 2)), want: badSettings},
	{name: "SETTINGS_H3_DATAGRAM of 2", section: "RFC 9297, 2.1.1", bare: true, sends: control(settings(0x33, 2)), want: badSettings},
	{name: "SETTINGS_H3_DATAGRAM without datagrams of QUIC", section: "RFC 9297, 2.1.1", bare: true,
		sends: control(settings(0x33, 1)), want: badSettings + " or " + goesOn},
	{name: "setting without a value", section: "RFC 9114, 7.1", bare: true, sends: control(frame(frameSettings, 6)), want: frameError},
	{name: "reserved and unknown settings", section: "RFC 9114, 7.2.4.1", bare: true,
		sends: control(settings(0x1f*9+0x21, 1<<61, 0xfedc, 7, 1, 4096, 7, 100)), want: goesOn},
	{name: "SETTINGS of 1,000 settings", section: "RFC 9114, 7.2.4.1", bare: true, sends: control(manySettings(1000)), want: goesOn},
	{name: "SETTINGS of a megabyte", section: "RFC 9114, 10.5", bare: true,
		sends: control(begun(frameSettings, 1<<20, make([]byte, 10_000)...)), want: "connection H3_EXCESSIVE_LOAD or " + frameError},

	{name: "DATA on the control stream", section: "RFC 9114, 7.2.1", sends: control(data("a")), want: unexpected},
	{name: "HEADERS on the control stream", section: "RFC 9114, 7.2.2", sends: control(get), want: unexpected},
	{name: "PUSH_PROMISE on the control stream", section: "RFC 9114, 7.2.5",
		sends: control(frame(framePushPromise, 0, 0, 0)), want: unexpected},
	{name: "CANCEL_PUSH of nothing", section: "RFC 9114, 7.2.3", sends: control(frame(frameCancelPush, 5)), want: idError},
	{name: "MAX_PUSH_ID", section: "RFC 9114, 7.2.7",
		sends: control(frame(frameMaxPushID, 5), frame(frameMaxPushID, 5), frame(frameMaxPushID, 6)), want: goesOn},
	{name: "MAX_PUSH_ID that shrinks", section: "RFC 9114, 7.2.7",
		sends: control(frame(frameMaxPushID, 5), frame(frameMaxPushID, 4)), want: idError},
	{name: "MAX_PUSH_ID without an ID", section: "RFC 9114, 7.1", sends: control(frame(frameMaxPushID)), want: frameError},
	{name: "MAX_PUSH_ID with more than an ID", section: "RFC 9114, 7.1", sends: control(frame(frameMaxPushID, 5, 5)), want: frameError},
	{name: "GOAWAY", section: "RFC 9114, 5.2", sends: control(frame(frameGoAway, 9), frame(frameGoAway, 8)), want: goesOn},
	{name: "GOAWAY that grows", section: "RFC 9114, 5.2", sends: control(frame(frameGoAway, 5), frame(frameGoAway, 6)), want: idError},
	{name: "GOAWAY without an ID", section: "RFC 9114, 7.1", sends: control(frame(frameGoAway), frame(frameGrease)), want: frameError},
	{name: "GOAWAY with more than an ID", section: "RFC 9114, 7.1", sends: control(frame(frameGoAway, 0, 0)), want: frameError},
	{name: "frame of HTTP/2 on the control stream: 2", section: "RFC 9114, 7.2.8",
		sends: control(frame(2, make([]byte, 5)...)), want: unexpected},
	{name: "frame of HTTP/2 on the control stream: 6", section: "RFC 9114, 7.2.8",
		sends: control(frame(6, make([]byte, 8)...)), want: unexpected},
	{name: "frame of HTTP/2 on the control stream: 8", section: "RFC 9114, 7.2.8", sends: control(frame(8, 0, 0, 0, 1)), want: unexpected},
	{name: "frame of HTTP/2 on the control stream: 9", section: "RFC 9114, 7.2.8", sends: control(frame(9)), want: unexpected},
	{name: "reserved and unknown frames on the control stream", section: "RFC 9114, 9",
		sends: control(frame(frameGrease), frame(0x1f*1000+0x21, make([]byte, 3000)...), frame(0xbeef, 1)), want: goesOn},
	{name: "unknown frame of 4 GB on the control stream", section: "RFC 9114, 9",
		sends: control(begun(frameGrease, 1<<32, make([]byte, 100_000)...)), want: goesOn},
	{name: "PRIORITY_UPDATE of a stream to come", section: "RFC 9218, 7.2",
		sends: control(priorityUpdate(0, "u=1, i"), priorityUpdate(4, "")), want: goesOn},
	{name: "PRIORITY_UPDATE of no request", section: "RFC 9218, 7.2", sends: control(priorityUpdate(2, "u=1")), want: idError},
	{name: "PRIORITY_UPDATE of a stream beyond the limit", section: "RFC 9218, 7.2",
		sends: control(priorityUpdate(4*100_000, "u=1")), want: idError},
	{name: "PRIORITY_UPDATE of a push", section: "RFC 9218, 7.2", sends: control(frame(framePriorityOfPush, 0, 'i')), want: idError},
	{name: "PRIORITY_UPDATE whose value is nonsense", section: "RFC 9218, 7.1",
		sends: control(priorityUpdate(0, "\x00;;=?u")), want: goesOn + " or connection H3_GENERAL_PROTOCOL_ERROR"},
	{name: "PRIORITY_UPDATE without an ID", section: "RFC 9114, 7.1", sends: control(frame(framePriority)), want: frameError},
	{name: "PRIORITY_UPDATE on a request", section: "RFC 9218, 7.2",
		sends: one(post, priorityUpdate(0, "u=1"), data("a")), want: unexpected},

	{name: "push stream from a client", section: "RFC 9114, 6.2.2", sends: []piece{{"push", []byte{0}, stays}}, want: noCreation},
	{name: "stream of a reserved type", section: "RFC 9114, 6.2.3",
		sends: []piece{{"other", append(ints(0x21), make([]byte, 10_000)...), ends}}, want: goesOn},
	{name: "stream of an unknown type that stays", section: "RFC 9114, 6.2",
		sends: []piece{{"other", append(ints(0xbeef), make([]byte, 10_000)...), stays}}, want: goesOn},
	{name: "streams whose type is not whole", section: "RFC 9114, 6.2",
		sends: []piece{{"other", []byte{0x40}, ends}, {"other 2", nil, ends}, {"other 3", []byte{0x40}, resets}}, want: goesOn},

	{name: "second encoder stream", section: "RFC 9204, 4.2",
		sends: []piece{{"encoder", nil, stays}, {"encoder 2", nil, stays}}, want: noCreation},
	{name: "second decoder stream", section: "RFC 9204, 4.2",
		sends: []piece{{"decoder", nil, stays}, {"decoder 2", nil, stays}}, want: noCreation},
	{name: "encoder stream that ends", section: "RFC 9204, 4.2", sends: []piece{{"encoder", nil, ends}}, want: critical},
	{name: "encoder stream that is reset", section: "RFC 9204, 4.2", sends: []piece{{"encoder", []byte{0x20}, resets}}, want: critical},
	{name: "decoder stream that ends", section: "RFC 9204, 4.2", sends: []piece{{"decoder", nil, ends}}, want: critical},
	{name: "capacity of the dynamic table above the setting", section: "RFC 9204, 4.3.1",
		sends: []piece{{"encoder", prefixed(nil, 0x20, 5, 4096), stays}}, want: badEncoder},
	{name: "capacity of 0", section: "RFC 9204, 4.3.1", sends: []piece{{"encoder", []byte{0x20}, stays}}, want: goesOn},
	{name: "insert into the dynamic table", section: "RFC 9204, 3.2.2",
		sends: []piece{{"encoder", []byte("\xc0\x04abcd"), stays}}, want: badEncoder},
	{name: "insert of 4 GB", section: "RFC 9204, 3.2.2",
		sends: []piece{{"encoder", prefixed(nil, 0x40, 5, 1<<32), stays}}, want: badEncoder},
	{name: "inserts without end", section: "RFC 9204, 3.2.2",
		sends: []piece{{"encoder", []byte(strings.Repeat("\xc0\x04abcd", 10_000)), stays}}, want: badEncoder},
	{name: "duplicate of nothing", section: "RFC 9204, 4.3.4", sends: []piece{{"encoder", []byte{0x00}, stays}}, want: badEncoder},
	{name: "acknowledgement of a section that refers to nothing", section: "RFC 9204, 4.4.1",
		sends: []piece{{"request", get, ends}, {"decoder", []byte{0x80}, stays}}, want: badDecoder},
	{name: "cancellation of a stream", section: "RFC 9204, 4.4.2", sends: []piece{{"decoder", []byte{0x40, 0x44}, stays}}, want: goesOn},
	{name: "increment of 0", section: "RFC 9204, 4.4.3", sends: []piece{{"decoder", []byte{0x00}, stays}}, want: badDecoder},
	{name: "increment beyond the inserts", section: "RFC 9204, 4.4.3", sends: []piece{{"decoder", []byte{0x05}, stays}}, want: badDecoder},
	{name: "integer without end on the decoder stream", section: "RFC 9204, 4.1.1",
		sends: []piece{{"decoder", append([]byte{0x7f}, slices.Repeat([]byte{0xff}, 1000)...), stays}}, want: badDecoder},

	{name: "request of nothing", section: "RFC 9114, 4.1", sends: one(), want: incomplete},
	{name: "request of unknown frames", section: "RFC 9114, 4.1", sends: one(frame(frameGrease, 1)), want: incomplete},
	{name: "request with unknown frames before, between and after", section: "RFC 9114, 9",
		sends: one(frame(frameGrease, 1), post, frame(0xbeef), data("a"), frame(frameGrease, make([]byte, 10_000)...)), want: ok},
	{name: "unknown frame of 4 GB on a request, reset", section: "RFC 9114, 9",
		sends: []piece{{"request 2", begun(frameGrease, 1<<32, make([]byte, 50_000)...), stops}}, want: goesOn},
	{name: "DATA before HEADERS", section: "RFC 9114, 4.1", sends: one(data("a"), get), want: unexpected},
	{name: "DATA behind trailers", section: "RFC 9114, 4.1", sends: one(post, data("a"), headers("x: y"), data("b")), want: unexpected},
	{name: "HEADERS behind trailers", section: "RFC 9114, 4.1",
		sends: one(post, data("a"), headers("x: y"), headers("x: z")), want: unexpected},
	{name: "DATA behind trailers of a GET", section: "RFC 9114, 4.1", sends: one(get, headers("x: y"), data("b")), want: unexpected},
	{name: "trailers", section: "RFC 9114, 4.1", sends: one(post, data("a"), headers("x: y")), want: ok},
	{name: "trailers of a GET", section: "RFC 9114, 4.1", sends: one(get, headers("x: y")), want: ok},
	{name: "trailers with a pseudo field", section: "RFC 9114, 4.3", sends: one(post, data("a"), headers(":path: /")), want: malformed},
	{name: "trailers with an upper case name", section: "RFC 9114, 4.2", sends: one(post, data("a"), headers("X: y")), want: malformed},
	{name: "trailers that are too long", section: "RFC 9114, 4.2.2",
		sends: one(post, data("a"), headers("x: "+strings.Repeat("y", 40_000))),
		want:  tooLarge + orMalformed + " or stream H3_EXCESSIVE_LOAD"},
	{name: "SETTINGS on a request", section: "RFC 9114, 7.2.4", sends: one(settings(), get), want: unexpected},
	{name: "SETTINGS behind HEADERS", section: "RFC 9114, 7.2.4", sends: one(post, settings(), data("a")), want: unexpected},
	{name: "GOAWAY on a request", section: "RFC 9114, 7.2.6", sends: one(frame(frameGoAway, 0), get), want: unexpected},
	{name: "MAX_PUSH_ID on a request", section: "RFC 9114, 7.2.7", sends: one(frame(frameMaxPushID, 0), get), want: unexpected},
	{name: "CANCEL_PUSH on a request", section: "RFC 9114, 7.2.3", sends: one(frame(frameCancelPush, 0), get), want: unexpected},
	{name: "PUSH_PROMISE from a client", section: "RFC 9114, 7.2.5", sends: one(frame(framePushPromise, 0, 0, 0), get), want: unexpected},
	{name: "PUSH_PROMISE behind HEADERS", section: "RFC 9114, 7.2.5",
		sends: one(post, frame(framePushPromise, 0, 0, 0), data("a")), want: unexpected},
	{name: "frame of HTTP/2 on a request: 2", section: "RFC 9114, 7.2.8", sends: one(frame(2, make([]byte, 5)...), get), want: unexpected},
	{name: "frame of HTTP/2 on a request: 8", section: "RFC 9114, 7.2.8", sends: one(frame(8, 0, 0, 0, 1), get), want: unexpected},
	{name: "frame of HTTP/2 behind HEADERS: 9", section: "RFC 9114, 7.2.8", sends: one(post, frame(9), data("a")), want: unexpected},
	{name: "HEADERS that are cut off", section: "RFC 9114, 7.1", sends: one(get[:len(get)-1]), want: frameError},
	{name: "frame whose length is cut off", section: "RFC 9114, 7.1", sends: one([]byte{frameHeaders, 0x40}), want: frameError},
	{name: "DATA that are cut off", section: "RFC 9114, 7.1", sends: one(post, begun(frameData, 10, 'a')), want: frameError},
	{name: "DATA of 4 GB that are cut off", section: "RFC 9114, 7.1", sends: one(post, begun(frameData, 1<<32, 'a')), want: frameError},
	{name: "request that is reset within its head", section: "RFC 9114, 4.1.1",
		sends: []piece{{"request 2", get[:5], stops}}, want: goesOn},

	{name: "no :method", section: "RFC 9114, 4.3.1", sends: fields(scheme, authority, path), want: malformed},
	{name: "no :scheme", section: "RFC 9114, 4.3.1", sends: fields(method, authority, path), want: malformed, but: ok},
	{name: "no :path", section: "RFC 9114, 4.3.1", sends: fields(method, scheme, authority), want: malformed},
	{name: "empty :path", section: "RFC 9114, 4.3.1", sends: fields(method, scheme, authority, ":path: "), want: malformed},
	{name: ":path without a slash", section: "RFC 9114, 4.3.1",
		sends: fields(method, scheme, authority, ":path: hot"), want: malformed + orBadRequest},
	{name: "no :authority and no Host", section: "RFC 9114, 4.3.1", sends: fields(method, scheme, path), want: malformed + orBadRequest},
	{name: "empty :authority", section: "RFC 9114, 4.3.1", sends: fields(method, scheme, ":authority: ", path),
		want: malformed + orBadRequest},
	{name: ":authority with a user", section: "RFC 9114, 4.3.1",
		sends: fields(method, scheme, ":authority: me@edge.test", path), want: malformed + orBadRequest},
	{name: "Host instead of :authority", section: "RFC 9114, 4.3.1", sends: fields(method, scheme, path, "host: edge.test"), want: ok},
	{name: "Host unlike :authority", section: "RFC 9114, 4.3.1", sends: and("host: other.test"), want: malformed + orBadRequest},
	{name: ":method twice", section: "RFC 9114, 4.3.1", sends: fields(method, method, scheme, authority, path), want: malformed},
	{name: ":path twice", section: "RFC 9114, 4.3.1", sends: fields(method, scheme, authority, path, path), want: malformed},
	{name: ":authority twice", section: "RFC 9114, 4.3.1", sends: fields(method, scheme, authority, authority, path), want: malformed},
	{name: "pseudo field behind a field", section: "RFC 9114, 4.3",
		sends: fields(method, scheme, authority, "x: y", path), want: malformed},
	{name: "unknown pseudo field", section: "RFC 9114, 4.3", sends: fields(method, scheme, authority, path, ":x: y"), want: malformed},
	{name: ":status of a client", section: "RFC 9114, 4.3",
		sends: fields(method, scheme, authority, path, ":status: 200"), want: malformed},
	{name: ":protocol of a GET", section: "RFC 8441, 4",
		sends: fields(method, scheme, authority, path, ":protocol: websocket"), want: malformed},
	{name: "method that is no token", section: "RFC 9110, 9.1",
		sends: fields(":method: GE T", scheme, authority, path), want: malformed + orBadRequest},
	{name: "upper case name", section: "RFC 9114, 4.2", sends: and("X-Name: y"), want: malformed},
	{name: "name that is no token", section: "RFC 9114, 4.2", sends: and("x y: z"), want: malformed},
	{name: "name with a colon within", section: "RFC 9114, 10.3",
		sends: one(frame(frameHeaders, append(section(method, scheme, authority, path), "\x23a:b\x01c"...)...)), want: malformed},
	{name: "empty name", section: "RFC 9114, 4.2",
		sends: one(frame(frameHeaders, append(section(method, scheme, authority, path), "\x20\x01c"...)...)), want: malformed},
	{name: "value with a line break", section: "RFC 9114, 10.3", sends: and("x: a\r\ny: b"), want: malformed},
	{name: "value with NUL", section: "RFC 9114, 10.3", sends: and("x: a\x00"), want: malformed},
	{name: "Connection", section: "RFC 9114, 4.2", sends: and("connection: close"), want: malformed},
	{name: "Keep-Alive", section: "RFC 9114, 4.2", sends: and("keep-alive: timeout=5"), want: malformed},
	{name: "Proxy-Connection", section: "RFC 9114, 4.2", sends: and("proxy-connection: keep-alive"), want: malformed},
	{name: "Transfer-Encoding", section: "RFC 9114, 4.2", sends: and("transfer-encoding: chunked"), want: malformed},
	{name: "Upgrade", section: "RFC 9114, 4.2", sends: and("upgrade: websocket"), want: malformed},
	{name: "TE with more than trailers", section: "RFC 9114, 4.2", sends: and("te: gzip"), want: malformed},
	{name: "TE: trailers", section: "RFC 9114, 4.2", sends: and("te: trailers"), want: ok},
	{name: "Content-Length above the DATA", section: "RFC 9114, 4.1.2",
		sends: one(request("POST", "/echo", "content-length: 5"), data("abc")), want: malformed + orBadRequest},
	{name: "Content-Length below the DATA", section: "RFC 9114, 4.1.2",
		sends: one(request("POST", "/echo", "content-length: 2"), data("abc")), want: malformed + orBadRequest},
	{name: "Content-Length of a GET without DATA", section: "RFC 9114, 4.1.2", sends: and("content-length: 5"),
		want: malformed + orBadRequest},
	{name: "Content-Length of 0, and DATA", section: "RFC 9114, 4.1.2",
		sends: one(request("POST", "/echo", "content-length: 0"), data("abc")), want: malformed + orBadRequest},
	{name: "two Content-Lengths", section: "RFC 9110, 8.6",
		sends: one(request("POST", "/echo", "content-length: 3", "content-length: 4"), data("abc")), want: malformed + orBadRequest},
	{name: "Content-Length that is no number", section: "RFC 9110, 8.6",
		sends: one(request("POST", "/echo", "content-length: +3"), data("abc")), want: malformed + orBadRequest},
	{name: "long upload, Content-Length above the DATA", section: "RFC 9114, 4.1.2",
		sends: one(request("POST", "/echo", "content-length: 100000000"), data(strings.Repeat("a", 5000))), want: malformed + orBadRequest},

	{name: "CONNECT", section: "RFC 9114, 4.4", sends: fields(":method: CONNECT", ":authority: edge.test:443"),
		want: "status 405 or status 501 or status 400 or status 403"},
	{name: "CONNECT with a path", section: "RFC 9114, 4.4",
		sends: fields(":method: CONNECT", scheme, ":authority: edge.test:443", path), want: malformed},
	{name: "CONNECT without an authority", section: "RFC 9114, 4.4", sends: fields(":method: CONNECT"), want: malformed},
	{name: "Extended CONNECT without a path", section: "RFC 9220, 3",
		sends: fields(":method: CONNECT", ":protocol: websocket", scheme, authority), want: malformed},
	{name: "Extended CONNECT of a protocol that is no token", section: "RFC 9220, 3",
		sends: fields(":method: CONNECT", ":protocol: a b", scheme, authority, path), want: malformed},

	{name: "section of 40 kB", section: "RFC 9114, 4.2.2", sends: and("x: " + strings.Repeat("y", 40_000)), want: tooLarge},
	{name: "section of a gigabyte, announced", section: "RFC 9114, 4.2.2",
		sends: one(begun(frameHeaders, 1<<30, section(method, scheme)...)), want: tooLarge},
	{name: "section of a thousand fields", section: "RFC 9114, 4.2.2",
		sends: and(strings.Split(strings.Repeat("x: y|", 1000)+"x: y", "|")...), want: tooLarge},
	{name: "section of 15,000 references to the static table", section: "RFC 9114, 4.2.2",
		sends: coded(append([]byte{0, 0}, slices.Repeat([]byte{0xd1 + 15}, 15_000)...)...), want: tooLarge + orMalformed},
	{name: "section that refers to the dynamic table", section: "RFC 9204, 2.2", sends: coded(0, 0, 0x80), want: notDecoded},
	{name: "section that waits for an insert", section: "RFC 9204, 2.1.2", sends: coded(2, 0, 0x80), want: notDecoded},
	{name: "section whose insert count is impossible", section: "RFC 9204, 4.5.1.1",
		sends: coded(0xff, 0xff, 0xff, 0x7f, 0, 0x80), want: notDecoded},
	{name: "section that refers behind its base", section: "RFC 9204, 4.5.3", sends: coded(0, 0, 0x10), want: notDecoded},
	{name: "section with a name of the dynamic table", section: "RFC 9204, 4.5.4", sends: coded(0, 0, 0x40, 1, 'a'), want: notDecoded},
	{name: "section that refers beyond the static table", section: "RFC 9204, 3.1", sends: coded(0, 0, 0xff, 36), want: notDecoded},
	{name: "section whose Huffman code is malformed", section: "RFC 9204, 4.1.2",
		sends: coded(0, 0, 0x50, 0x84, 0xff, 0xff, 0xff, 0xff), want: notDecoded},
	{name: "section that is cut off", section: "RFC 9204, 2.2", sends: coded(0, 0, 0x50, 0x20, 'a'), want: notDecoded},
	{name: "section of nothing", section: "RFC 9204, 4.5.1", sends: coded(), want: notDecoded},
	{name: "section with an integer without end", section: "RFC 9204, 4.1.1",
		sends: coded(append([]byte{0, 0, 0xff}, slices.Repeat([]byte{0xff}, 1000)...)...), want: notDecoded},
	{name: "trailers that refer to the dynamic table", section: "RFC 9204, 2.2",
		sends: one(post, data("a"), frame(frameHeaders, 0, 0, 0x80)), want: notDecoded},

	{name: "Priority that is nonsense", section: "RFC 9218, 5", sends: and("priority: u=99, i=\x01?, ;;"), want: malformed + " or " + ok},
	{name: "Priority with unknown values", section: "RFC 9218, 4", sends: and("priority: u=9, i=7, z=?1, u=a"), want: ok},
	{name: "hundred Priority fields", section: "RFC 9218, 5",
		sends: and(strings.Split(strings.Repeat("priority: u=1, i|", 99)+"priority: u=7", "|")...), want: ok},
}

// priorityUpdate makes a PRIORITY_UPDATE frame of a request.
func priorityUpdate(stream uint64, value string) []byte {
	return frame(framePriority, append(ints(stream), value...)...)
}

// manySettings makes SETTINGS of so many unknown settings.
func manySettings(n int) []byte {
	var pairs []uint64
	for i := range n {
		pairs = append(pairs, uint64(0x1f*i+0x21), 1)
	}
	return settings(pairs...)
}

// An attacker sends streams of HTTP/3.
type attacker struct {
	conn   *quic.Conn
	open   map[string]io.Writer
	answer *quic.Stream // the first request
}

var streamTypes = map[string]uint64{"control": streamControl, "push": streamPush, "encoder": streamEncoder, "decoder": streamDecoder}

func newAttacker(ctx context.Context, e *edge, config *quic.Config) (*attacker, error) {
	c, err := dial(ctx, e.address, attackers, config)
	return &attacker{conn: c, open: map[string]io.Writer{}}, err
}

// leave closes the connection.
func (a *attacker) leave() {
	a.conn.CloseWithError(quic.ApplicationErrorCode(http3.ErrCodeNoError), "")
}

// send sends a piece, on a new stream if it is the first of its name.
func (a *attacker) send(p piece) (err error) {
	w := a.open[p.on]
	kind, _, _ := strings.Cut(p.on, " ")
	switch {
	case w != nil:
	case kind == "request":
		var s *quic.Stream
		if s, err = a.conn.OpenStreamSync(a.conn.Context()); err == nil {
			w = s
		}
		if p.on == "request" {
			a.answer = s
		}
	default:
		var s *quic.SendStream
		if s, err = a.conn.OpenUniStreamSync(a.conn.Context()); err == nil {
			w = s
		}
		if t, typed := streamTypes[kind]; err == nil && typed {
			_, err = s.Write(ints(t))
		}
	}
	if err == nil {
		a.open[p.on] = w
		_, err = w.Write(p.bytes)
	}
	if err != nil {
		return err
	}
	const code = quic.StreamErrorCode(http3.ErrCodeRequestCanceled)
	switch s := w.(type) {
	case *quic.Stream:
		switch p.then {
		case ends:
			return s.Close()
		case resets, stops:
			s.CancelWrite(code)
			if p.then == stops {
				s.CancelRead(code)
			}
		}
	case *quic.SendStream:
		switch p.then {
		case ends:
			return s.Close()
		case resets:
			a.request() // the bytes must arrive first, for a reset takes back those that have not
			s.CancelWrite(code)
		}
	}
	return nil
}

// request sends a hit over the same connection, and returns an outcome.
func (a *attacker) request() string {
	s, err := a.conn.OpenStream()
	if err == nil {
		_, err = s.Write(get)
	}
	if err != nil {
		return outcomeOf(err)
	}
	s.Close()
	if got := read(s); got != ok {
		return got
	}
	return goesOn
}

// read reads a response to its end, and returns an outcome.
func read(s *quic.Stream) string {
	s.SetReadDeadline(time.Now().Add(longest))
	b, err := io.ReadAll(s)
	if err != nil {
		return outcomeOf(err)
	}
	list, _, err := statuses(b)
	if err != nil {
		return err.Error()
	}
	return "status " + strings.Join(list, ", ")
}

// outcomeOf names an error of a stream or a connection.
func outcomeOf(err error) string {
	var ofStream *quic.StreamError
	var ofConn *quic.ApplicationError
	switch {
	case errors.As(err, &ofStream):
		return "stream " + http3Error(uint64(ofStream.ErrorCode))
	case errors.As(err, &ofConn):
		return "connection " + http3Error(uint64(ofConn.ErrorCode))
	}
	return err.Error()
}

// outcome waits for one of the wanted outcomes, and returns the actual one.
func (a *attacker) outcome(want []string) string {
	got := ""
	if a.answer != nil {
		got = read(a.answer)
		if strings.HasPrefix(got, "connection") {
			return got
		}
	}
	if onlyConnection := !slices.ContainsFunc(want, func(w string) bool { return !strings.HasPrefix(w, "connection") }); onlyConnection {
		select {
		case <-a.conn.Context().Done():
			return outcomeOf(context.Cause(a.conn.Context()))
		case <-time.After(longest):
			return "the connection stays open, " + got
		}
	}
	if now := a.request(); got == "" || now != goesOn {
		return now
	}
	return got
}

// do carries out a case on a connection of its own.
func (s streamCase) do(ctx context.Context, e *edge) error {
	a, err := newAttacker(ctx, e, nil)
	if err != nil {
		return err
	}
	defer a.leave()
	if !s.bare {
		if err := a.send(piece{"control", settings(), stays}); err != nil {
			return err
		}
	}
	for _, p := range s.sends {
		if err := a.send(p); err != nil && a.conn.Context().Err() == nil && !errors.As(err, new(*quic.StreamError)) {
			return err
		}
	}
	want := strings.Split(cmp.Or(s.but, s.want), " or ")
	if got := a.outcome(want); !slices.Contains(want, got) {
		return fmt.Errorf("%s", got)
	}
	return nil
}

// Frames, field sections and streams that HTTP/3 and QPACK forbid get the error that the RFCs name,
// and those that they allow do no harm.
func TestStreams(t *testing.T) {
	var list []abuse
	for _, s := range streamCases {
		requires := s.want
		if s.but != "" {
			requires += "; the edge: " + s.but
		}
		list = append(list, abuse{s.name, s.section, requires, s.do})
	}
	carryOut(t, startEdge(t), list)
}
