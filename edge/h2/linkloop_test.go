package h2

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/iconedge/iconedge/internal/certs/certstest"
)

// Flags of an event: the socket has bytes to read; the connection is ending.
const readable, ending = true, true

// A feed is a socket whose client's bytes arrive when the test says so, with room for some bytes.
type feed struct {
	net.Conn
	in, out []byte
	room    int
}

func (f *feed) TryRead(p []byte) (int, error) {
	n := copy(p, f.in)
	if f.in = f.in[n:]; n == 0 {
		return 0, syscall.EAGAIN
	}
	return n, nil
}

func (f *feed) TryWrite(p []byte) (int, error) {
	n := min(f.room, len(p))
	f.room -= n
	if f.out = append(f.out, p[:n]...); n < len(p) {
		return n, syscall.EAGAIN
	}
	return n, nil
}

// A recorder keeps what a client sends.
type recorder struct {
	net.Conn
	sent []byte
	on   bool
}

func (r *recorder) Write(p []byte) (int, error) {
	if r.on {
		r.sent = append(r.sent, p...)
		return len(p), nil
	}
	return r.Conn.Write(p)
}

// crypto/tls goes on where it was when a read would have had to wait, wherever the client's bytes
// are split; and what it writes arrives whole, wherever the client stops taking it.
func TestLinkOnLoop(t *testing.T) {
	once(t)
	cert, err := tls.LoadX509KeyPair(certstest.Pair(t, t.TempDir(), "edge", "edge", "cdn.example"))
	if err != nil {
		t.Fatal(err)
	}
	for version, name := range map[uint16]string{tls.VersionTLS12: "TLS 1.2", tls.VersionTLS13: "TLS 1.3"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for split, length := 0, 1; split <= length; split++ {
				length = testSplit(t, cert, version, split)
			}
		})
	}
}

// overTLS returns both ends of a connection after the handshake. Afterwards the client's bytes are
// recorded, if the recorder is on. keys gets the client's key log; nil: there is none.
func overTLS(t *testing.T, cert tls.Certificate, version uint16, keys io.Writer) (socket *feed, link *Link, server,
	client *tls.Conn, recorded *recorder) {
	ours, theirs := net.Pipe()
	t.Cleanup(func() {
		ours.Close()
		theirs.Close()
	})
	recorded = &recorder{Conn: theirs}
	client = tls.Client(recorded, &tls.Config{InsecureSkipVerify: true, MinVersion: version, MaxVersion: version, KeyLogWriter: keys})
	socket = &feed{Conn: ours}
	link = NewLink(socket, true, nil)
	link.OnLoop(socket)
	server = tls.Server(link, &tls.Config{Certificates: []tls.Certificate{cert}, SessionTicketsDisabled: true})
	shaken := make(chan error, 1)
	go func() { shaken <- server.Handshake() }()
	if err := client.Handshake(); err != nil {
		t.Fatal(err)
	}
	if err := <-shaken; err != nil {
		t.Fatal(err)
	}
	return socket, link, server, client, recorded
}

// testSplit sends three records, split after so many bytes, and a response. It returns the number
// of bytes of the records.
func testSplit(t *testing.T, cert tls.Certificate, version uint16, split int) int {
	socket, link, server, client, recorded := overTLS(t, cert, version, nil)
	recorded.on = true
	words := []string{"one", strings.Repeat("two ", 20), "three"}
	for _, word := range words {
		io.WriteString(client, word)
	}
	client.CloseWrite()
	link.TryOnly(true)
	var got strings.Builder
	ended := false
	read := func() {
		link.Event(readable, !ending)
		for p := make([]byte, 500); !link.Dry(); {
			n, err := server.Read(p)
			got.Write(p[:n])
			if ended = err == io.EOF; ended {
				return
			}
			if err != nil && err != ErrWait {
				t.Fatalf("split at %d: %v", split, err)
			}
		}
	}
	socket.in = append(socket.in, recorded.sent[:split]...)
	read()
	socket.in = append(socket.in, recorded.sent[split:]...)
	if read(); got.String() != strings.Join(words, "") || !ended {
		t.Fatalf("split at %d: %q, ended %v", split, got.String(), ended)
	}

	socket.room = split
	response := strings.Repeat("response ", 50)
	if _, err := io.WriteString(server, response); err != nil {
		t.Fatal(err)
	}
	if unsent, whole := link.Unsent(), len(socket.out) >= len(response); unsent == whole {
		t.Fatalf("room for %d: unsent %v after %d bytes", split, unsent, len(socket.out))
	}
	socket.room = 1 << 20
	if err := link.Flush(); err != nil || link.Unsent() {
		t.Fatalf("%v, unsent %v", err, link.Unsent())
	}
	go func() { socket.Conn.Write(socket.out) }()
	b := make([]byte, len(response))
	if _, err := io.ReadFull(client, b); err != nil || string(b) != response {
		t.Fatalf("room for %d: %q, %v", split, b, err)
	}
	return len(recorded.sent)
}

// idleControl is a loop that calls nothing.
type idleControl struct{ timer time.Time }

func (l *idleControl) SetTimer(at time.Time) { l.timer = at }
func (*idleControl) Wake()                   {}
func (*idleControl) Attach()                 {}
func (*idleControl) Detach()                 {}

// startOnLoop starts a connection on an idle loop. rw is over link, which is on the loop.
func startOnLoop(rw net.Conn, link *Link) *Conn {
	conn := New(app{}, app{}, Config{}).NewConn(rw, link, netip.Addr{})
	link.TryOnly(true)
	conn.OnLoop(&idleControl{}, func() {})
	conn.Start()
	return conn
}

// A client that sends without a pause, in records of a byte each, does not keep other connections
// of its loop waiting.
func TestTurnEnds(t *testing.T) {
	cert, err := tls.LoadX509KeyPair(certstest.Pair(t, t.TempDir(), "edge", "edge", "cdn.example"))
	if err != nil {
		t.Fatal(err)
	}
	socket, link, server, client, recorded := overTLS(t, cert, tls.VersionTLS13, nil)
	recorded.on = true
	io.WriteString(client, Preface+"\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x40\x00\xff\x00\x00\x00\x00\x00")
	for range 10_000 {
		io.WriteString(client, "x") // of a frame of an unknown kind
	}
	socket.in, socket.room = recorded.sent, 1<<20
	conn := startOnLoop(server, link)
	turns := 1
	for again := conn.Ready(readable, !ending); again; again = conn.Ready(!readable, !ending) {
		turns++
	}
	if len(socket.in) > 0 || turns < 10 {
		t.Errorf("%d turns read all but %d of %d bytes", turns, len(socket.in), len(recorded.sent))
	}
	conn.Close()
}

// A turn handles a bounded number of frames, because each may wake all streams.
func TestTurnEndsAfterFrames(t *testing.T) {
	const windows = 5000
	sent := []byte(Preface + "\x00\x00\x00\x04\x00\x00\x00\x00\x00")
	for range windows {
		sent = append(sent, appendCode(nil, http2.FrameWindowUpdate, 0, 1)...)
	}
	socket := &feed{Conn: &script{}, in: sent, room: 1 << 20}
	link := NewLink(socket, false, nil)
	link.OnLoop(socket)
	conn := startOnLoop(link, link)
	conn.flood.earn(windows)
	for again, before := true, conn.sender.window; again; before = conn.sender.window {
		again = conn.Ready(readable, !ending)
		if n := conn.sender.window - before; n > turnFrames {
			t.Fatalf("%d frames in a turn", n)
		}
	}
	if conn.phase.dead != nil || conn.sender.window != ourWindow+windows {
		t.Errorf("the window is %d, %v", conn.sender.window, conn.phase.dead)
	}
	conn.Close()
}

// A client has the same time for each batch that waits for it, also if the next one has waited
// behind the last.
func TestTimeOfEachBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent bytes.Buffer
		sent.WriteString(Preface)
		p := &peer{t: t, Framer: http2.NewFramer(&sent, nil), next: 1}
		p.enc = hpack.NewEncoder(&p.block)
		p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: maxWindow})
		p.WriteWindowUpdate(0, maxWindow-ourWindow)
		p.openStream("GET", "/bytes/1000000", true)
		socket := &feed{Conn: &script{}, in: sent.Bytes(), room: 100}
		link := NewLink(socket, false, nil)
		link.OnLoop(socket)
		conn := startOnLoop(link, link)
		for range 3 { // a batch waits; then another one behind it; then that one
			conn.Ready(readable, !ending)
			synctest.Wait()
			if due := time.Now().Add(conn.srv.config.Send + renewInterval); !conn.loop.sendBy.Equal(due) {
				t.Errorf("the client has %v less", due.Sub(conn.loop.sendBy))
			}
			time.Sleep(5 * time.Second)
			socket.room = len(*link.pending)
		}
		conn.Close()
	})
}
