package routes

import "strings"

// ForwardedKey returns the cache key of a forwarded request: the scheme and Host of the client's
// request, and its target. Keys on the edge's own routes have neither scheme nor Host, so no
// forwarded request can have one of them.
func ForwardedKey(scheme, host, target string) string { return scheme + "://" + host + target }

// AnyHost stands for the host in keys that have none (key: {host: false} in a configuration file).
const AnyHost = "_"

// ForwardedKeys returns the cache keys that a URL may have as the address of forwarded requests:
// with either scheme, because a proxy may end TLS before the edge, and with and without the default
// port.
func ForwardedKeys(scheme, host, target string) []string {
	port := map[string]string{"http": ":80", "https": ":443"}[scheme]
	host = strings.TrimSuffix(strings.ToLower(host), port)
	return []string{ForwardedKey("http", host, target), ForwardedKey("https", host, target),
		ForwardedKey("http", host+port, target), ForwardedKey("https", host+port, target)}
}
