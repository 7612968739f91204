package accesslog

import (
	"bytes"
	"net/netip"
	"strconv"
	"time"
)

// A Line is what is told of one answer. What is empty is left out.
type Line struct {
	Time      time.Time // when the request was here
	Client    netip.Addr
	Method    []byte
	Target    []byte // path and query, as they came
	Host      []byte
	Status    int
	Bytes     int64 // of the body
	Duration  time.Duration
	Route     string // this, and the next two, are words of our own
	Cache     string
	Protocol  string
	TLS       bool
	UserAgent []byte
	Referer   []byte
	Trace     string // id of the trace, where it is one that was sampled
}

// Clone is l for when what it was made from is there no more.
func (l Line) Clone() *Line {
	for _, text := range []*[]byte{&l.Method, &l.Target, &l.Host, &l.UserAgent, &l.Referer} {
		*text = bytes.Clone(*text)
	}
	return &l
}

// Told is who asked for what, as keys and values for a log of another kind: of the same length as in a line, and without tokens as there. Who writes
// that log escapes it.
func (l *Line) Told() []any {
	return []any{"method", printed(l.Method, maxMethod), "path", printed(Redacted(l.Target), maxTarget), "client", l.Client.WithZone("").String(), "protocol", l.Protocol, "route", l.Route}
}

// How much of what a client says is told, in bytes: what a line costs is not his to say.
const (
	maxMethod  = 32
	maxTarget  = 1024
	maxHost    = 255
	maxAgent   = 256
	maxReferer = 256
)

// append writes the line. Numbers are written as JSON has them; the only text that is not ours goes through appendText.
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
	dst = appendWord(dst, `,"route":"`, l.Route)
	dst = appendWord(dst, `,"cache":"`, l.Cache)
	dst = appendWord(dst, `,"protocol":"`, l.Protocol)
	dst = strconv.AppendBool(append(dst, `,"tls":`...), l.TLS)
	dst = appendMember(dst, `,"user_agent":`, masked(l.UserAgent), maxAgent)
	dst = appendMember(dst, `,"referer":`, masked(page(l.Referer)), maxReferer)
	dst = appendWord(dst, `,"trace_id":"`, l.Trace)
	return append(dst, '}')
}

// appendWord writes a word of our own, which is nothing that JSON escapes.
func appendWord(dst []byte, name, value string) []byte {
	if value == "" {
		return dst
	}
	return append(append(append(dst, name...), value...), '"')
}

// appendMember writes what a client says.
func appendMember(dst []byte, name string, value []byte, most int) []byte {
	if len(value) == 0 {
		return dst
	}
	return appendText(append(dst, name...), value, most)
}

// appendTime writes a time in UTC with six digits behind the point, so that lines sort as text (RFC 3339).
func appendTime(dst []byte, t time.Time) []byte {
	t = t.UTC()
	dst = t.AppendFormat(dst, time.RFC3339)
	dst = append(dst[:len(dst)-1], '.')
	return append(appendDigits(dst, t.Nanosecond()/1000, 6), 'Z')
}

// appendSeconds writes a duration in seconds, to the nanosecond.
func appendSeconds(dst []byte, d time.Duration) []byte {
	d = max(d, 0)
	dst = strconv.AppendInt(dst, int64(d/time.Second), 10)
	return appendDigits(append(dst, '.'), int(d%time.Second), 9)
}

// appendDigits writes n with that many digits.
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
