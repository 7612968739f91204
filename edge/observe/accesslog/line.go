package accesslog

import (
	"bytes"
	"net/netip"
	"strconv"
	"time"
)

// A Line describes one response. Empty fields are left out of the output.
type Line struct {
	Time      time.Time // when the request had arrived
	Client    netip.Addr
	Method    []byte
	Target    []byte // path and query as the client sent them
	Host      []byte
	Status    int
	Bytes     int64 // of the body
	Duration  time.Duration
	Route     string // Route, Cache, Protocol and Error are constants of our own, no client's text
	Cache     string
	Site      string // of a configuration file
	Protocol  string
	TLS       bool
	UserAgent []byte
	Referer   []byte
	Error     string // why the edge has made an error, by RFC 9209; empty: it has not
	Trace     string // ID of the trace, if it was sampled
	RequestID []byte // made by the edge, or checked by it
}

// Clone returns a copy that stays valid after the request's buffers are reused.
func (l Line) Clone() *Line {
	for _, text := range []*[]byte{&l.Method, &l.Target, &l.Host, &l.UserAgent, &l.Referer, &l.RequestID} {
		*text = bytes.Clone(*text)
	}
	return &l
}

// LogAttrs returns the request as keys and values for another log. It cuts and redacts the texts as
// a line does; the other log does the escaping.
func (l *Line) LogAttrs() []any {
	return []any{"method", printable(l.Method, maxMethod), "path", printable(Redacted(l.Target), maxTarget),
		"client", l.Client.WithZone("").String(), "protocol", l.Protocol, "route", l.Route}
}

// Bounds of the texts that a client sends, in bytes, so that a client cannot make its lines large.
const (
	maxMethod  = 32
	maxTarget  = 1024
	maxHost    = 255
	maxAgent   = 256
	maxReferer = 256

	maxRequestID = 128
)

// append appends the line. Texts of the client go through appendText.
func (l *Line) append(dst []byte) []byte {
	dst = append(appendTime(append(dst, `{"time":"`...), l.Time), '"')
	if l.Client.IsValid() {
		dst = append(l.Client.WithZone("").AppendTo(append(dst, `,"client":"`...)), '"')
	}
	dst = appendMember(dst, `,"method":`, l.Method, maxMethod)
	dst = appendMember(dst, `,"path":`, Redacted(l.Target), maxTarget)
	dst = appendMember(dst, `,"host":`, l.Host, maxHost)
	dst = strconv.AppendInt(append(dst, `,"status":`...), int64(l.Status), 10)
	dst = strconv.AppendInt(append(dst, `,"bytes":`...), l.Bytes, 10)
	dst = appendSeconds(append(dst, `,"duration_seconds":`...), l.Duration)
	dst = appendWord(dst, `,"site":"`, l.Site)
	dst = appendWord(dst, `,"route":"`, l.Route)
	dst = appendWord(dst, `,"cache":"`, l.Cache)
	dst = appendWord(dst, `,"protocol":"`, l.Protocol)
	dst = strconv.AppendBool(append(dst, `,"tls":`...), l.TLS)
	dst = appendMember(dst, `,"user_agent":`, masked(l.UserAgent), maxAgent)
	dst = appendMember(dst, `,"referer":`, masked(withoutQuery(l.Referer)), maxReferer)
	dst = appendWord(dst, `,"error":"`, l.Error)
	dst = appendWord(dst, `,"trace_id":"`, l.Trace)
	dst = appendMember(dst, `,"request_id":`, l.RequestID, maxRequestID)
	return append(dst, '}')
}

// appendWord appends one of our own constants, which contains no character that JSON escapes.
func appendWord(dst []byte, name, value string) []byte {
	if value == "" {
		return dst
	}
	return append(append(append(dst, name...), value...), '"')
}

// appendMember appends a text of the client.
func appendMember(dst []byte, name string, value []byte, most int) []byte {
	if len(value) == 0 {
		return dst
	}
	return appendText(append(dst, name...), value, most)
}

// appendTime appends a time in UTC with six decimal places, so that lines sort as text (RFC 3339).
func appendTime(dst []byte, t time.Time) []byte {
	t = t.UTC()
	dst = t.AppendFormat(dst, time.RFC3339)
	dst = append(dst[:len(dst)-1], '.')
	return append(appendDigits(dst, t.Nanosecond()/1000, 6), 'Z')
}

// appendSeconds appends a duration in seconds with nine decimal places.
func appendSeconds(dst []byte, d time.Duration) []byte {
	d = max(d, 0)
	dst = strconv.AppendInt(dst, int64(d/time.Second), 10)
	return appendDigits(append(dst, '.'), int(d%time.Second), 9)
}

// appendDigits appends n with leading zeros to the given number of digits.
func appendDigits(dst []byte, n, digits int) []byte {
	for range digits {
		dst = append(dst, '0')
	}
	for i := len(dst) - 1; n > 0; i-- {
		dst[i] += byte(n % 10)
		n /= 10
	}
	return dst
}
