package exchange

import (
	"crypto/sha1" // of the handshake of WebSocket, where it protects nothing
	"encoding/base64"
	"strings"
)

// Upgrades returns the protocols in the lines of Upgrade that a proxy may ask its origin for, as
// one value; empty: none. It leaves out versions of HTTP and TLS, because they concern one
// connection alone: with h2c an origin would answer further requests that the edge has not seen.
func Upgrades(connection, upgrade [][]byte) string {
	if !hasToken(connection, "upgrade") {
		return ""
	}
	var protocols []string
	for _, line := range upgrade {
		for protocol := range strings.SplitSeq(string(line), ",") {
			if protocol = strings.Trim(protocol, " \t"); isProtocol(protocol) {
				protocols = append(protocols, protocol)
			}
		}
	}
	return strings.Join(protocols, ", ")
}

// Switches reports whether a protocol, from an origin's Upgrade, is one of those in upgrades.
func Switches(upgrades, protocol string) bool {
	for one := range strings.SplitSeq(upgrades, ", ") {
		if isProtocol(protocol) && strings.EqualFold(one, protocol) {
			return true
		}
	}
	return false
}

// WebSocketAccept returns the Sec-WebSocket-Accept for a Sec-WebSocket-Key (RFC 6455, section
// 4.2.2).
func WebSocketAccept(key string) string {
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// hasToken reports whether a list has a member, in upper or lower case.
func hasToken(lines [][]byte, token string) bool {
	for _, line := range lines {
		for member := range strings.SplitSeq(string(line), ",") {
			if strings.EqualFold(strings.Trim(member, " \t"), token) {
				return true
			}
		}
	}
	return false
}

// isProtocol reports whether s is the name of a protocol with or without a version, and no version
// of HTTP or TLS.
func isProtocol(s string) bool {
	name, version, has := strings.Cut(s, "/")
	switch strings.ToLower(name) {
	case "http", "h2", "h2c", "h3", "tls":
		return false
	}
	return isToken(name) && (!has || isToken(version))
}

func isToken(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7f || strings.IndexByte("\"(),/:;<=>?@[\\]{}", c) >= 0 {
			return false
		}
	}
	return s != ""
}
