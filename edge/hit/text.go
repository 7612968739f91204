package hit

import (
	"unsafe"

	"github.com/iconedge/iconedge/edge/request"
)

// texts returns bytes as a string that is valid as long as they are.
func texts(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// linesOf appends the lines of a field.
func linesOf(q *request.Request, name string, lines []string) []string {
	for i := 0; ; i++ {
		line := q.Fields.Line(name, i)
		if line == nil {
			return lines
		}
		lines = append(lines, texts(line))
	}
}
