package routes

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strings"
)

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

// ContentKey returns the cache key of a request whose response depends on its content, as that to a
// QUERY does (RFC 10008, section 2.7). key is that of a GET, described has the fields that describe
// the content, such as its type. It begins with key, so that a purge of a prefix finds it; the
// separator is in no target.
func ContentKey(key, method string, described [][]string, content []byte) string {
	sum := sha256.New()
	length := make([]byte, 8)
	add := func(part string) {
		binary.BigEndian.PutUint64(length, uint64(len(part)))
		sum.Write(length)
		sum.Write([]byte(part))
	}
	for _, lines := range described {
		add(strings.Join(lines, "\n"))
	}
	sum.Write(content)
	return key + "\x01" + method + " " + hex.EncodeToString(sum.Sum(nil))
}
