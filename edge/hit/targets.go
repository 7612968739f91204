package hit

import (
	"bytes"
	"sync/atomic"

	"github.com/iconedge/iconedge/edge/recent"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/icon"
)

// A parsedTarget is the parsed form of a target in the spelling of a client.
type parsedTarget struct {
	raw   string
	key   string
	color icon.Color
	route routes.Route
}

// parsedTargets hold recent targets with a query that the pipeline has parsed. A new target
// replaces the one with the same hash.
type parsedTargets [1 << 14]atomic.Pointer[parsedTarget]

// parse returns the parsed form of a target; it is not ok if the pipeline has to parse it. A
// path without a query is its own cache key: if it is malformed, no entry is stored under it. So is
// the path of an icon in a colour of hexadecimal digits, which is then in hex.
func (k *parsedTargets) parse(target []byte, hex *[7]byte) (t parsedTarget, ok bool) {
	at := bytes.IndexByte(target, '?')
	if at < 0 {
		key := texts(target) // valid during the request only
		route, ok := routes.FastRoute(key)
		return parsedTarget{key: key, route: route}, ok
	}
	if digits, given := bytes.CutPrefix(target[at:], colourQuery); given {
		if _, ok = icon.AppendHexColor(hex[:0], bytes.TrimPrefix(digits, escapedHash)); ok {
			key := texts(target[:at]) // as above
			if routes.IsPlainIcon(key) {
				return parsedTarget{key: key, route: routes.CDN}, true
			}
		}
		*hex = [7]byte{}
	}
	if known := recent.Slot(k[:], target).Load(); known != nil && known.raw == string(target) {
		return *known, true
	}
	return t, false
}

var (
	colourQuery = []byte("?color=")
	escapedHash = []byte("%23")
)

// remember stores the parsed form of a target with a query.
func (k *parsedTargets) remember(raw []byte, key string, color icon.Color, route routes.Route) {
	if len(raw) == 0 || raw[0] != '/' || bytes.IndexByte(raw, '?') < 0 {
		return
	}
	at := recent.Slot(k[:], raw)
	if known := at.Load(); known == nil || known.raw != string(raw) {
		at.Store(&parsedTarget{raw: string(raw), key: key, color: color, route: route})
	}
}
