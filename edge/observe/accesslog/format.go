package accesslog

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Format is the form of lines. A nil one is JSON.
type Format struct {
	logfmt bool
	parts  []part
}

// The formats of other servers, as templates.
const (
	common   = `{client} - - [{time_local}] "{method} {path} {http}" {status} {bytes}`
	combined = common + ` "{referer}" "{user_agent}"`
)

// A part of a template is a literal, or a field.
type part struct {
	literal string
	field   field
	quoted  bool // it stands between quotes
	end     byte // the literal byte that follows, which ends a field without quotes; 0: none
}

// A field is a field of a line: one of our own, which needs no escape, or a text of the client.
type field struct {
	own  func(dst []byte, l *Line) []byte
	text func(l *Line) (value []byte, most int)
}

// fields are the fields of templates.
var fields = map[string]field{
	"time": {own: func(dst []byte, l *Line) []byte { return appendTime(dst, l.Time) }},
	"time_local": {own: func(dst []byte, l *Line) []byte {
		return l.Time.UTC().AppendFormat(dst, "02/Jan/2006:15:04:05 -0700")
	}},
	"client": {own: func(dst []byte, l *Line) []byte {
		if !l.Client.IsValid() {
			return dst
		}
		return l.Client.WithZone("").AppendTo(dst)
	}},
	"method": {text: func(l *Line) ([]byte, int) { return l.Method, maxMethod }},
	"path":   {text: func(l *Line) ([]byte, int) { return Redacted(l.Target), maxTarget }},
	"host":   {text: func(l *Line) ([]byte, int) { return l.Host, maxHost }},
	"status": {own: func(dst []byte, l *Line) []byte { return strconv.AppendInt(dst, int64(l.Status), 10) }},
	"bytes":  {own: func(dst []byte, l *Line) []byte { return strconv.AppendInt(dst, l.Bytes, 10) }},
	"duration": {own: func(dst []byte, l *Line) []byte {
		return strconv.AppendFloat(dst, max(l.Duration, 0).Round(time.Microsecond).Seconds(), 'f', 6, 64)
	}},
	"site":     {own: word(func(l *Line) string { return l.Site })},
	"route":    {own: word(func(l *Line) string { return l.Route })},
	"cache":    {own: word(func(l *Line) string { return l.Cache })},
	"protocol": {own: word(func(l *Line) string { return l.Protocol })},
	"http":     {own: word(func(l *Line) string { return versions[l.Protocol] })},
	"tls":      {own: func(dst []byte, l *Line) []byte { return strconv.AppendBool(dst, l.TLS) }},
	"user_agent": {text: func(l *Line) ([]byte, int) {
		return masked(l.UserAgent), maxAgent
	}},
	"referer": {text: func(l *Line) ([]byte, int) {
		return masked(withoutQuery(l.Referer)), maxReferer
	}},
	"error":      {own: word(func(l *Line) string { return l.Error })},
	"trace_id":   {own: word(func(l *Line) string { return l.Trace })},
	"request_id": {text: func(l *Line) ([]byte, int) { return l.RequestID, maxRequestID }},
}

// versions are the protocols as other servers write them.
var versions = map[string]string{"h1": "HTTP/1.1", "h2": "HTTP/2.0", "h3": "HTTP/3.0"}

func word(of func(l *Line) string) func([]byte, *Line) []byte {
	return func(dst []byte, l *Line) []byte { return append(dst, of(l)...) }
}

// ParseFormat reads a format: json, common, combined or logfmt, or a template with fields such as
// {client}. The error says what would be right.
func ParseFormat(s string) (*Format, error) {
	switch s {
	case "", "json":
		return nil, nil
	case "logfmt":
		return &Format{logfmt: true}, nil
	case "common":
		s = common
	case "combined":
		s = combined
	}
	if !strings.Contains(s, "{") {
		return nil, fmt.Errorf("%q is no format; must be json, combined, common, logfmt, or a template such as {client} {status}", s)
	}
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
		return nil, fmt.Errorf("the template has a control character; must be one line")
	}
	f, quoted := &Format{}, false
	for s != "" {
		literal, rest, more := strings.Cut(s, "{")
		if quoted = quoted != (strings.Count(literal, `"`)%2 == 1); literal != "" {
			if last := len(f.parts) - 1; last >= 0 {
				f.parts[last].end = literal[0]
			}
			f.parts = append(f.parts, part{literal: literal})
		}
		if !more {
			break
		}
		name, after, ok := strings.Cut(rest, "}")
		of, known := fields[name]
		if !ok || !known {
			return nil, fmt.Errorf("{%s is no field of a line; must be one of {%s}", rest[:min(len(rest), 20)],
				strings.Join(slices.Sorted(maps.Keys(fields)), "}, {"))
		}
		f.parts = append(f.parts, part{field: of, quoted: quoted})
		s = after
	}
	return f, nil
}

// append appends a line in the format.
func (f *Format) append(dst []byte, l *Line) []byte {
	switch {
	case f == nil:
		return l.append(dst)
	case f.logfmt:
		return l.appendLogfmt(dst)
	}
	for i := range f.parts {
		p := &f.parts[i]
		switch begun := len(dst); {
		case p.field.own != nil:
			if dst = p.field.own(dst, l); len(dst) == begun {
				dst = append(dst, '-')
			}
		case p.field.text != nil:
			value, most := p.field.text(l)
			if dst = p.appendEscaped(dst, value, most); len(dst) == begun {
				dst = append(dst, '-')
			}
		default:
			dst = append(dst, p.literal...)
		}
	}
	return dst
}

// appendEscaped appends at most the first most bytes of a text of the client, and "..." if it cut
// some off. As nginx does, it writes \xHH for each byte that could end the line or the field, or
// that does not print.
func (p *part) appendEscaped(dst, s []byte, most int) []byte {
	const digits = "0123456789ABCDEF"
	more := len(s) > most
	if more {
		s = s[:most]
	}
	for _, c := range s {
		if c < ' ' || c >= 0x7f || c == '"' || c == '\\' || !p.quoted && (c == ' ' || c == p.end) {
			dst = append(dst, '\\', 'x', digits[c>>4], digits[c&15])
		} else {
			dst = append(dst, c)
		}
	}
	if more {
		dst = append(dst, "..."...)
	}
	return dst
}

// appendLogfmt appends the members of the line in JSON as pairs: KEY=VALUE, with texts of the
// client in quotes.
func (l *Line) appendLogfmt(dst []byte) []byte {
	text := func(name string, value []byte, most int) {
		if len(value) > 0 {
			dst = appendText(append(dst, name...), value, most)
		}
	}
	pair := func(name, value string) {
		if value != "" {
			dst = append(append(dst, name...), value...)
		}
	}
	dst = appendTime(append(dst, "time="...), l.Time)
	if l.Client.IsValid() {
		dst = l.Client.WithZone("").AppendTo(append(dst, " client="...))
	}
	text(" method=", l.Method, maxMethod)
	text(" path=", Redacted(l.Target), maxTarget)
	text(" host=", l.Host, maxHost)
	dst = strconv.AppendInt(append(dst, " status="...), int64(l.Status), 10)
	dst = strconv.AppendInt(append(dst, " bytes="...), l.Bytes, 10)
	dst = appendSeconds(append(dst, " duration_seconds="...), l.Duration)
	pair(" site=", l.Site)
	pair(" route=", l.Route)
	pair(" cache=", l.Cache)
	pair(" protocol=", l.Protocol)
	dst = strconv.AppendBool(append(dst, " tls="...), l.TLS)
	text(" user_agent=", masked(l.UserAgent), maxAgent)
	text(" referer=", masked(withoutQuery(l.Referer)), maxReferer)
	pair(" error=", l.Error)
	pair(" trace_id=", l.Trace)
	text(" request_id=", l.RequestID, maxRequestID)
	return dst
}
