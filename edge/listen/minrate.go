package listen

import (
	"io"
	"net/http"
	"time"
)

// A minRate holds the client to a minimum rate where the server has no deadlines: each MiB of the
// request, or of the response, adds the same time. Only time spent on waiting for the client
// counts.
type minRate struct {
	http.ResponseWriter
	control *http.ResponseController
	each    time.Duration
	moved   int64 // bytes
	waited  time.Duration
}

const (
	pacedFirst = 4 << 10 // bytes of the first part of a body
	pacedPart  = 1 << 20
)

func newMinRate(w http.ResponseWriter, each time.Duration) *minRate {
	return &minRate{ResponseWriter: w, control: http.NewResponseController(w), each: each}
}

// due returns the deadline for the next part.
func (p *minRate) due(now time.Time) time.Time {
	return now.Add(p.each*time.Duration(1+p.moved/pacedPart) - p.waited)
}

// read reads up to most bytes of a body. It calls take with the length so far before it reads each
// part, so that take can refuse the memory.
func (p *minRate) read(from io.Reader, most int, take func(length int64) error) ([]byte, error) {
	var all []byte
	for now := time.Now(); ; now = time.Now() {
		if err := p.control.SetReadDeadline(p.due(now)); err != nil {
			return nil, err
		}
		room := min(max(len(all), pacedFirst), pacedPart, most-len(all)) // not the declared length
		if err := take(int64(len(all) + room)); err != nil {
			return nil, err
		}
		part, err := io.ReadAll(io.LimitReader(from, int64(room)))
		all = append(all, part...)
		p.moved, p.waited = int64(len(all)), p.waited+time.Since(now)
		if err != nil || len(part) < room || len(all) >= most {
			return all, err
		}
	}
}

// Write writes b in parts, each with its own deadline.
func (p *minRate) Write(b []byte) (n int, err error) {
	for len(b) > 0 && err == nil {
		now, m := time.Now(), 0
		if err = p.control.SetWriteDeadline(p.due(now)); err != nil {
			break
		}
		m, err = p.ResponseWriter.Write(b[:min(len(b), pacedPart)])
		n, b = n+m, b[m:]
		p.moved, p.waited = p.moved+int64(m), p.waited+time.Since(now)
	}
	return n, err
}
