package h3

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/quic-go/quic-go/http3"
	"github.com/quic-go/quic-go/quicvarint"
)

// frameOf makes a frame.
func frameOf(kind uint64, payload string) string {
	return string(quicvarint.Append(quicvarint.Append(nil, kind), uint64(len(payload)))) + payload
}

// The control stream closes the connection as the RFCs say. Package test/quic has the rest of the
// cases, with an edge.
func TestControl(t *testing.T) {
	settings := frameOf(frameSettings, "")
	for name, test := range map[string]struct {
		stream string
		want   http3.ErrCode // 0: only the end of the stream
	}{
		"nothing":                  {"", 0},
		"SETTINGS":                 {settings, 0},
		"no SETTINGS":              {frameOf(frameGoAway, "\x00"), http3.ErrCodeMissingSettings},
		"a reserved frame first":   {frameOf(0x21, "") + settings, http3.ErrCodeMissingSettings},
		"SETTINGS twice":           {settings + settings, http3.ErrCodeFrameUnexpected},
		"a frame that is reserved": {settings + frameOf(0x21, "abc") + frameOf(0xbeef, ""), 0},
		"a frame of HTTP/2":        {settings + frameOf(framePingOfH2, "abc"), http3.ErrCodeFrameUnexpected},
		"PUSH_PROMISE":             {settings + frameOf(framePushPromise, "abc"), http3.ErrCodeFrameUnexpected},
		"GOAWAY that shrinks":      {settings + frameOf(frameGoAway, "\x08") + frameOf(frameGoAway, "\x04"), 0},
		"GOAWAY that grows":        {settings + frameOf(frameGoAway, "\x04") + frameOf(frameGoAway, "\x08"), http3.ErrCodeIDError},
		"MAX_PUSH_ID that shrinks": {settings + frameOf(frameMaxPushID, "\x04") +
			frameOf(frameMaxPushID, "\x03"), http3.ErrCodeIDError},
		"MAX_PUSH_ID with more":         {settings + frameOf(frameMaxPushID, "\x04\x04"), http3.ErrCodeFrameError},
		"CANCEL_PUSH":                   {settings + frameOf(frameCancelPush, "\x00"), http3.ErrCodeIDError},
		"PRIORITY_UPDATE":               {settings + frameOf(framePriority, "\x04u=1"), 0},
		"PRIORITY_UPDATE of no request": {settings + frameOf(framePriority, "\x05u=1"), http3.ErrCodeIDError},
		"PRIORITY_UPDATE far away":      {settings + frameOf(framePriority, "\x80\x10\x00\x00u=1"), http3.ErrCodeIDError},
		"PRIORITY_UPDATE of a push":     {settings + frameOf(framePriorityOfPush, "\x00u=1"), http3.ErrCodeIDError},
		"PRIORITY_UPDATE of a megabyte": {settings +
			string(quicvarint.Append(quicvarint.Append(nil, framePriority), 1<<20)), http3.ErrCodeExcessiveLoad},
		"a frame that is cut off":        {settings + "\x21\x05abc", 0},
		"a setting twice":                {frameOf(frameSettings, "\x21\x01\x21\x01"), http3.ErrCodeSettingsError},
		"a setting of HTTP/2":            {frameOf(frameSettings, "\x03\x01"), http3.ErrCodeSettingsError},
		"a setting that is half":         {frameOf(frameSettings, "\x21"), http3.ErrCodeFrameError},
		"extended CONNECT, neither 0, 1": {frameOf(frameSettings, "\x08\x02"), http3.ErrCodeSettingsError},
		"SETTINGS of a megabyte": {string(quicvarint.Append(quicvarint.Append(nil, frameSettings), 1<<20)),
			http3.ErrCodeExcessiveLoad},
	} {
		code, err := (&Conn{}).control(&frameReader{stream: strings.NewReader(test.stream)})
		if code != test.want || (err == nil) != (code != 0) {
			t.Errorf("%s: %v, %v, want %v", name, code, err, test.want)
		}
	}
}

// Only instructions that need no dynamic table may come on the streams of QPACK.
func TestQPACKStreams(t *testing.T) {
	for stream, want := range map[string]http3.ErrCode{"": 0, "\x20\x20": 0, "\x21": errEncoderStream,
		"\x3f\x01": errEncoderStream, "\xc0\x01a": errEncoderStream, "\x00": errEncoderStream} {
		if code, err := encoder(&frameReader{stream: strings.NewReader(stream)}); code != want || (err == nil) != (code != 0) {
			t.Errorf("encoder stream %x: %v, %v", stream, code, err)
		}
	}
	for stream, want := range map[string]http3.ErrCode{"": 0, "\x44\x40": 0, "\x7f\x81\x01\x44": 0, "\x7f": 0,
		"\x00": errDecoderStream, "\x05": errDecoderStream, "\x80": errDecoderStream,
		"\x7f" + strings.Repeat("\xff", 20): errDecoderStream} {
		if code, err := decoderStream(&frameReader{stream: strings.NewReader(stream)}); code != want || (err == nil) != (code != 0) {
			t.Errorf("decoder stream %x: %v, %v", stream, code, err)
		}
	}
}

// Whatever a client sends on its unidirectional streams, the edge reads it to the end of the stream
// or to an error, and has the same result however the bytes arrive.
func FuzzControl(f *testing.F) {
	f.Add([]byte(frameOf(frameSettings, "\x06\x01") + frameOf(frameGoAway, "\x04") + frameOf(framePriority, "\x04u=1")))
	f.Add([]byte("\x20\x20\x44\x7f\x80\x01"))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, read := range []func(*frameReader) (http3.ErrCode, error){(&Conn{}).control, encoder, decoderStream} {
			code, err := read(&frameReader{stream: bytes.NewReader(b)})
			if (err == nil) != (code != 0) || err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Fatalf("%x: %v, %v", b, code, err)
			}
			if again, _ := read(&frameReader{stream: &oneByOne{b}}); again != code {
				t.Fatalf("%x: %v, and %v byte by byte", b, code, again)
			}
		}
	})
}

// oneByOne reads a byte at a time.
type oneByOne struct{ b []byte }

func (r *oneByOne) Read(p []byte) (int, error) {
	if len(r.b) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(1, len(p))], r.b)
	r.b = r.b[n:]
	return n, nil
}
