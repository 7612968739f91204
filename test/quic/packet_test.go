package quic

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"

	"golang.org/x/crypto/chacha20"
	"golang.org/x/crypto/chacha20poly1305"
)

// appendInt appends a variable-length integer (RFC 9000, section 16).
func appendInt(b []byte, v uint64) []byte {
	switch {
	case v < 1<<6:
		return append(b, byte(v))
	case v < 1<<14:
		return binary.BigEndian.AppendUint16(b, uint16(v)|0x4000)
	case v < 1<<30:
		return binary.BigEndian.AppendUint32(b, uint32(v)|0x80000000)
	}
	return binary.BigEndian.AppendUint64(b, v|0xc0<<56)
}

// ints returns variable-length integers in a row.
func ints(list ...uint64) (b []byte) {
	for _, v := range list {
		b = appendInt(b, v)
	}
	return b
}

// A reader reads the parts of a packet. After an error it returns zeros.
type reader struct {
	rest []byte
	err  error
}

var errShort = errors.New("a packet is shorter than it says")

func (r *reader) bytes(n uint64) (b []byte) {
	if n > uint64(len(r.rest)) {
		r.rest, r.err = nil, errShort
		return nil
	}
	b, r.rest = r.rest[:n], r.rest[n:]
	return b
}

func (r *reader) byte() byte {
	if b := r.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) int() (v uint64) {
	first := r.byte()
	v = uint64(first & 0x3f)
	for _, b := range r.bytes(1<<(first>>6) - 1) {
		v = v<<8 | uint64(b)
	}
	return v
}

// A level is a packet number space, with the keys that belong to it.
type level int

const (
	initial level = iota
	handshake
	application
	levels
)

// The types of long header packets (RFC 9000, section 17.2).
const (
	typeInitial = iota
	typeZeroRTT
	typeHandshake
	typeRetry
)

const version1 = 1

// A suite is a cipher suite of TLS 1.3.
type suite uint16

func (s suite) hash() func() hash.Hash {
	if uint16(s) == tls.TLS_AES_256_GCM_SHA384 {
		return sha512.New384
	}
	return sha256.New
}

func (s suite) keySize() int {
	if uint16(s) == tls.TLS_AES_128_GCM_SHA256 {
		return 16
	}
	return 32
}

// keys protect the packets of one direction of a level.
type keys struct {
	suite  suite
	secret []byte
	aead   cipher.AEAD
	iv     []byte
	mask   func(sample []byte) []byte // header protection; it stays the same when keys are updated
}

// expand is HKDF-Expand-Label (RFC 8446, section 7.1).
func expand(s suite, secret []byte, label string, n int) []byte {
	label = "tls13 " + label
	info := append([]byte{byte(n >> 8), byte(n), byte(len(label))}, label...)
	b, err := hkdf.Expand(s.hash(), secret, string(append(info, 0)), n)
	if err != nil {
		panic(err)
	}
	return b
}

// newKeys derives keys from a secret (RFC 9001, section 5.1).
func newKeys(s suite, secret []byte) *keys {
	k := &keys{suite: s, secret: secret, iv: expand(s, secret, "quic iv", 12)}
	key, hp := expand(s, secret, "quic key", s.keySize()), expand(s, secret, "quic hp", s.keySize())
	if uint16(s) == tls.TLS_CHACHA20_POLY1305_SHA256 {
		k.aead = must(chacha20poly1305.New(key))
		k.mask = func(sample []byte) []byte {
			c := must(chacha20.NewUnauthenticatedCipher(hp, sample[4:16]))
			c.SetCounter(binary.LittleEndian.Uint32(sample))
			mask := make([]byte, 5)
			c.XORKeyStream(mask, mask)
			return mask
		}
		return k
	}
	k.aead = must(cipher.NewGCM(must(aes.NewCipher(key))))
	block := must(aes.NewCipher(hp))
	k.mask = func(sample []byte) []byte {
		mask := make([]byte, 16)
		block.Encrypt(mask, sample)
		return mask
	}
	return k
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// next returns the keys after an update (RFC 9001, section 6.1).
func (k *keys) next() *keys {
	n := newKeys(k.suite, expand(k.suite, k.secret, "quic ku", k.suite.hash()().Size()))
	n.mask = k.mask
	return n
}

// initialKeys derives the keys of Initial packets from the first connection ID (RFC 9001, section
// 5.2).
func initialKeys(id []byte) (client, server *keys) {
	const s = suite(tls.TLS_AES_128_GCM_SHA256)
	salt := []byte{0x38, 0x76, 0x2c, 0xf7, 0xf5, 0x59, 0x34, 0xb3, 0x4d, 0x17, 0x9a, 0xe6, 0xa4, 0xc8, 0x0c, 0xad, 0xcc, 0xbb, 0x7f, 0x0a}
	secret := must(hkdf.Extract(sha256.New, id, salt))
	return newKeys(s, expand(s, secret, "client in", 32)), newKeys(s, expand(s, secret, "server in", 32))
}

func (k *keys) nonce(number uint64) []byte {
	n := append([]byte{}, k.iv...)
	for i := range 8 {
		n[len(n)-1-i] ^= byte(number >> (8 * i))
	}
	return n
}

// numberSize is how many bytes our packet numbers take.
const numberSize = 4

// seal protects a packet (RFC 9001, section 5). header ends with the packet number.
func (k *keys) seal(header []byte, number uint64, payload []byte) []byte {
	if len(payload) < 4 {
		// The sample of the header protection needs them.
		payload = append(payload, make([]byte, 4-len(payload))...)
	}
	packet := k.aead.Seal(header, k.nonce(number), payload, header)
	at := len(header) - numberSize
	mask := k.mask(packet[len(header)+4-numberSize:][:16])
	if packet[0]&0x80 != 0 {
		packet[0] ^= mask[0] & 0x0f
	} else {
		packet[0] ^= mask[0] & 0x1f
	}
	for i := range numberSize {
		packet[at+i] ^= mask[1+i]
	}
	return packet
}

// open removes the protection of a packet whose number starts at a place. It returns the first byte
// too. Packet numbers are small here, so that none is truncated further than 4 bytes.
func (k *keys) open(packet []byte, at int, largest uint64) (first byte, number uint64, payload []byte, err error) {
	if len(packet) < at+20 {
		return 0, 0, nil, errShort
	}
	packet = append([]byte{}, packet...)
	mask := k.mask(packet[at+4:][:16])
	if packet[0]&0x80 != 0 {
		packet[0] ^= mask[0] & 0x0f
	} else {
		packet[0] ^= mask[0] & 0x1f
	}
	size := int(packet[0]&3) + 1
	for i := range size {
		packet[at+i] ^= mask[1+i]
		number = number<<8 | uint64(packet[at+i])
	}
	number = wholeNumber(number, size, largest)
	payload, err = k.aead.Open(nil, k.nonce(number), packet[at+size:], packet[:at+size])
	return packet[0], number, payload, err
}

// wholeNumber decodes a packet number (RFC 9000, appendix A.3).
func wholeNumber(truncated uint64, size int, largest uint64) uint64 {
	window := uint64(1) << (8 * size)
	candidate := (largest+1)&^(window-1) | truncated
	if candidate+window/2 <= largest+1 {
		return candidate + window
	}
	if candidate > largest+1+window/2 && candidate >= window {
		return candidate - window
	}
	return candidate
}

// A longHeader is the part of a long header that does not depend on the version (RFC 8999).
type longHeader struct {
	first        byte
	version      uint32
	to, from     []byte // connection IDs
	rest         []byte
	headerLength int
}

func parseLong(b []byte) (h longHeader, err error) {
	r := reader{rest: b}
	h.first = r.byte()
	if v := r.bytes(4); v != nil {
		h.version = binary.BigEndian.Uint32(v)
	}
	h.to = r.bytes(uint64(r.byte()))
	h.from = r.bytes(uint64(r.byte()))
	h.rest, h.headerLength = r.rest, len(b)-len(r.rest)
	if h.first&0x80 == 0 {
		return h, fmt.Errorf("%x is no long header", b[:min(len(b), 8)])
	}
	return h, r.err
}

// appendLong appends a long header up to the connection IDs.
func appendLong(b []byte, first byte, version uint32, to, from []byte) []byte {
	b = append(b, 0xc0|first)
	b = binary.BigEndian.AppendUint32(b, version)
	b = append(append(b, byte(len(to))), to...)
	return append(append(b, byte(len(from))), from...)
}

// A longPacket is an Initial or Handshake packet.
type longPacket struct {
	kind            byte
	to, from, token []byte
	number          uint64
	payload         []byte
}

func (p longPacket) seal(k *keys) []byte {
	h := appendLong(nil, p.kind<<4|(numberSize-1), version1, p.to, p.from)
	if p.kind == typeInitial {
		h = append(appendInt(h, uint64(len(p.token))), p.token...)
	}
	length := numberSize + max(len(p.payload), 4) + k.aead.Overhead()
	h = append(h, 0x40|byte(length>>8), byte(length))
	return k.seal(binary.BigEndian.AppendUint32(h, uint32(p.number)), p.number, p.payload)
}

// retryTag is the integrity tag of a Retry packet (RFC 9001, section 5.8).
func retryTag(first, packet []byte) []byte {
	key := []byte{0xbe, 0x0c, 0x69, 0x0b, 0x9f, 0x66, 0x57, 0x5a, 0x1d, 0x76, 0x6b, 0x54, 0xe3, 0x68, 0xc8, 0x4e}
	nonce := []byte{0x46, 0x15, 0x99, 0xd3, 0x5d, 0x63, 0x2b, 0xf2, 0x23, 0x98, 0x25, 0xbb}
	aead := must(cipher.NewGCM(must(aes.NewCipher(key))))
	return aead.Seal(nil, nonce, nil, append(append([]byte{byte(len(first))}, first...), packet...))
}
