package wire

import "bytes"

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
		i := splitField(line)
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

// splitField returns the index of a line's field in split; -1: it is another one.
func splitField(line []byte) int {
	var i int
	switch line[0] {
	case 'C':
		i = 0
	case 'E':
		i = 1
	case 'L':
		i = 2
	case 'S':
		i = 3
	case 'D':
		i = 4
	default:
		return -1
	}
	if name := split[i]; len(line) < len(name) || string(line[:len(name)]) != name {
		return -1
	}
	return i
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
