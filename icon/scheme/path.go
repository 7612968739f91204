package scheme

import (
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/iconedge/iconedge/icon"
)

// OfPath returns the likeliest query of a person who opens a path without content:
// fontawesome:house for /fontawesome/house.svg, and fa house for /fa/FaHouse. It is in canonical
// form.
func OfPath(path string) string {
	if decoded, err := url.PathUnescape(path); err == nil && utf8.ValidString(decoded) {
		path = decoded
	}
	path = strings.Trim(path, "/")
	folder, name := "", path
	if at := strings.LastIndexByte(path, '/'); at >= 0 {
		folder, name = path[:at], path[at+1:]
	}
	if at := strings.LastIndexByte(name, '.'); at > 0 {
		if end := name[at:]; folder != "" && strings.Count(folder, "/") == 0 && isPicture(end) {
			return icon.CanonicalQuery(folder + ":" + name[:at])
		}
		name = name[:at]
	}
	return icon.CanonicalQuery(strings.NewReplacer("_", " ", "+", " ").Replace(name))
}

func isPicture(end string) bool { return end == ".svg" || end == ".png" || end == ".ico" }
