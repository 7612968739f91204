package h2

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"testing"

	"github.com/iconedge/iconedge/internal/certs/certstest"
)

// A sealer makes the records of a client of TLS 1.3 itself, because crypto/tls has no function that
// sends a KeyUpdate.
type sealer struct {
	t      *testing.T
	secret []byte
	aead   cipher.AEAD
	iv     []byte
	sent   uint64 // records with these keys
	out    []byte
}

// newSealer returns the sealer of a client that has sent nothing since its handshake, of which keys
// is the key log.
func newSealer(t *testing.T, keys []byte) *sealer {
	t.Helper()
	for line := range bytes.Lines(keys) {
		if part := bytes.Fields(line); string(part[0]) == "CLIENT_TRAFFIC_SECRET_0" {
			secret, err := hex.DecodeString(string(part[2]))
			if err != nil {
				t.Fatal(err)
			}
			s := &sealer{t: t}
			s.use(secret)
			return s
		}
	}
	t.Fatal("the key log has no secret")
	return nil
}

// expand derives n bytes from the secret (RFC 8446, section 7.1).
func (s *sealer) expand(label string, n int) []byte {
	label = "tls13 " + label
	key, err := hkdf.Expand(sha256.New, s.secret, "\x00"+string(rune(n))+string(rune(len(label)))+label+"\x00", n)
	if err != nil {
		s.t.Fatal(err)
	}
	return key
}

func (s *sealer) use(secret []byte) {
	s.secret, s.sent = secret, 0
	block, err := aes.NewCipher(s.expand("key", 16))
	if err == nil {
		s.aead, err = cipher.NewGCM(block)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.iv = s.expand("iv", 12)
}

// seal adds a record.
func (s *sealer) seal(content []byte, kind byte) {
	plain := append(bytes.Clone(content), kind)
	head := binary.BigEndian.AppendUint16([]byte{23, 3, 3}, uint16(len(plain)+s.aead.Overhead()))
	nonce := bytes.Clone(s.iv)
	last := nonce[len(nonce)-8:]
	binary.BigEndian.PutUint64(last, binary.BigEndian.Uint64(last)^s.sent)
	s.sent++
	s.out = s.aead.Seal(append(s.out, head...), nonce, plain, head)
}

func (s *sealer) data(b string) { s.seal([]byte(b), 23) }

// update adds a KeyUpdate that requests one in return.
func (s *sealer) update() {
	s.seal([]byte{24, 0, 0, 1, 1}, 22)
	s.use(s.expand("traffic upd", sha256.Size))
}

// updating returns a connection on a loop that does nothing, whose client has sent its preface.
func updating(t *testing.T) (*Conn, *feed, *sealer) {
	t.Helper()
	cert, err := tls.LoadX509KeyPair(certstest.Pair(t, t.TempDir(), "edge", "edge", "cdn.example"))
	if err != nil {
		t.Fatal(err)
	}
	var keys bytes.Buffer
	socket, link, server, client, _ := overTLS(t, cert, tls.VersionTLS13, &keys)
	if suite := client.ConnectionState().CipherSuite; suite != tls.TLS_AES_128_GCM_SHA256 {
		t.Skip("this machine prefers", tls.CipherSuiteName(suite))
	}
	conn := startOnLoop(server, link)
	t.Cleanup(func() { conn.Close() })
	socket.room = 64 << 20
	s := newSealer(t, keys.Bytes())
	s.data(Preface + "\x00\x00\x00\x04\x00\x00\x00\x00\x00")
	s.data("\x00\x40\x00\xff\x00\x00\x00\x00\x00") // the head of a frame of an unknown kind
	return conn, socket, s
}

// However many KeyUpdates a client sends, a turn has an end, after which other connections of the
// loop have theirs; and a client that sends almost nothing else loses its connection.
func TestKeyUpdates(t *testing.T) {
	once(t)
	conn, socket, s := updating(t)
	const each = 16 // crypto/tls itself accepts no more between two records with data
	for range 2000 {
		for range each {
			s.update()
		}
		s.data("x")
	}
	record := len(s.out) / (2000 * (each + 1))
	socket.in = s.out
	for again, left := true, len(socket.in); again; left = len(socket.in) {
		again = conn.Ready(readable, !ending)
		if most := linkBuffer + 2*turnParts*record; left-len(socket.in) > most {
			t.Fatalf("one turn read %d bytes in records of %d", left-len(socket.in), record)
		}
	}
	if conn.phase.dead == nil || len(socket.in) == 0 {
		t.Errorf("the connection goes on after %d of %d bytes: %v", len(s.out)-len(socket.in), len(s.out), conn.phase.dead)
	}
	if n := conn.srv.Stats().Calmed; n != 1 {
		t.Errorf("%d connections ended for flooding", n)
	}
}

// A client that changes its keys now and then, between requests, keeps its connection.
func TestKeyUpdatesBetweenRequests(t *testing.T) {
	once(t)
	conn, socket, s := updating(t)
	s.data(string(bytes.Repeat([]byte("x"), 0x4000)))
	const requests = 500
	for i := range uint32(requests) {
		s.update()
		head := "\x00\x00\x0f\x01\x05" + string(binary.BigEndian.AppendUint32(nil, 2*i+1))
		s.data(head + "\x82\x87\x41\x01a\x04\x08/ready/1")
	}
	socket.in = s.out
	for conn.Ready(readable, !ending) {
	}
	if conn.phase.dead != nil || conn.streams.last != 2*requests-1 {
		t.Errorf("the connection ended at stream %d: %v", conn.streams.last, conn.phase.dead)
	}
}
