package represent

import "strings"

// A Cause has the fields of a request by which a browser says which page has caused it: the lines
// of each; empty: none.
type Cause struct {
	FetchSite, Origin, Referer string
}

// IsForeign reports whether a page of another site has caused a request for this host, in the
// canonical form of package hostport. Such a page may choose a part of the response, and its
// author, who sees the length of a response in a content coding, may guess a secret in it (BREACH).
// shared means that the response is the same for all clients. Then a host of the same site is not
// foreign, so that pages get the files of a host beside theirs in their codings.
func (c *Cause) IsForeign(host string, shared bool) bool {
	switch c.FetchSite {
	case "":
	case "cross-site":
		return true
	case "same-site": // a page of another host, which may hide its address
		return !shared
	default:
		if shared {
			return false
		}
	}
	return c.Origin != "" && !strings.EqualFold(hostOf(c.Origin), host) ||
		c.Referer != "" && !strings.EqualFold(hostOf(c.Referer), host)
}

// hostOf returns the host of a URL, with its port unless that is the default of its scheme; empty:
// it has none.
func hostOf(url string) string {
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok {
		return ""
	}
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		rest = rest[:end]
	}
	port := ":80"
	if strings.EqualFold(scheme, "https") {
		port = ":443"
	}
	return strings.TrimSuffix(rest, port)
}
