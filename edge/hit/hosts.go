package hit

import (
	"strings"
	"sync/atomic"

	"github.com/iconedge/iconedge/edge/recent"
	"github.com/iconedge/iconedge/edge/routes"
)

// hosts hold recent values of Host that the edge serves, in the spelling of the client. The
// pipeline validates a host before it remembers it here.
type hosts [1 << 10]atomic.Pointer[host]

// A host is a Host field, and what the edge knows of it.
type host struct {
	text string // as the client spells it
	// names are the form that cache keys have, without TLS and with it.
	names   [2]string
	bare    string // without the port
	site    *site
	mounted bool // it is a mount of Iconify's API
	port    bool // its port is one that the edge forwards requests for
}

// of returns a host; nil: the pipeline has to validate it.
func (k *hosts) of(text []byte) *host {
	known := recent.Slot(k[:], text).Load()
	if known == nil || known.text != string(text) {
		return nil
	}
	return known
}

// name returns the host in the form that cache keys have.
func (h *host) name(secure bool) string {
	if secure {
		return h.names[1]
	}
	return h.names[0]
}

// forwards reports whether the edge forwards a target of a host with icons.
func (h *host) forwards(target []byte) bool {
	if !h.site.ProxyAll || !h.port {
		return false
	}
	path, query, _ := strings.Cut(texts(target), "?")
	return routes.Forwards(path, query, h.site.Pages)
}

func (k *hosts) add(h host) {
	at := recent.SlotOf(k[:], h.text)
	if known := at.Load(); known == nil || *known != h {
		at.Store(&h)
	}
}
