package wire

import (
	"bytes"
	"strings"
)

// Values are the values of the fields that differ between responses of the same kind; empty: the
// field is absent.
type Values struct {
	ETag, LastModified, SurrogateKey, Date string
	Length                                 int64 // of the body, in bytes
}

// split lists the names of these fields, in the spelling of net/http.
var split = [...]string{"Content-Length: ", "Etag: ", "Last-Modified: ", "Surrogate-Key: ", "Date: "}

const statusOK = "HTTP/1.1 200 OK\r\n"

// Split divides the head of a 200, with which p begins, into these values and the other lines,
// which it appends to shared. n is the length of the head in bytes. It is not ok if the head is
// incomplete, or another one than origins of our own send. If Parse takes one head with these
// shared lines for a plain one, it does so with all of them.
func Split(shared, p []byte) (lines []byte, v Values, n int, ok bool) {
	if !bytes.HasPrefix(p, []byte(statusOK)) {
		return shared, v, 0, false
	}
	var values [len(split)][]byte
	lines = shared
	for n = len(statusOK); ; {
		end := bytes.IndexByte(p[n:], '\n') + 1
		if end < len(lineEnd) || p[n+end-2] != '\r' || n+end > maxPlain {
			return lines, v, 0, false
		}
		line := p[n : n+end]
		if n += end; len(line) == len(lineEnd) {
			break
		}
		i, alike := splitField(line)
		if alike { // such as the ETag of an edge: its value is no value that responses share
			return lines, v, 0, false
		}
		if i < 0 {
			lines = append(lines, line...)
			continue
		}
		value := line[len(split[i]) : len(line)-len(lineEnd)]
		if values[i] != nil || !visible(value) {
			return lines, v, 0, false
		}
		values[i] = value
	}
	length, ok := number(string(values[0]), maxLength)
	return lines, Values{string(values[1]), string(values[2]), string(values[3]), string(values[4]), int64(length)}, n, ok
}

// splitField returns the index of a line's field in split; -1: it is another one, or one of them in
// another spelling (alike).
func splitField(line []byte) (i int, alike bool) {
	switch line[0] | 0x20 {
	case 'c':
		i = 0
	case 'e':
		i = 1
	case 'l':
		i = 2
	case 's':
		i = 3
	case 'd':
		i = 4
	default:
		return -1, false
	}
	name := split[i]
	if len(line) >= len(name) && string(line[:len(name)]) == name {
		return i, false
	}
	colon := len(name) - len(": ")
	return -1, len(line) > colon && line[colon] == ':' && strings.EqualFold(string(line[:colon]), name[:colon])
}

// visible reports whether a value begins and ends with a visible byte, and has only those and
// spaces.
func visible(value []byte) bool {
	if len(value) == 0 || value[0] == ' ' || value[len(value)-1] == ' ' {
		return false
	}
	for _, c := range value {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}
