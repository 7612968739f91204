package h2

import (
	"time"

	"golang.org/x/net/http2"
)

const (
	maxCredit         = 1000 // useless frames at once, besides those that responses give credit for
	creditPerSecond   = 100  // more for each second
	creditPerResponse = 4    // more for each response, which may need WINDOW_UPDATE and RST_STREAM
	// bytesPerCredit is the number of bytes of bodies that give one more. Go's client sends two
	// WINDOW_UPDATEs for each 4 KiB that are read.
	bytesPerCredit = 1024
	// maxEarned is the most credit in all. It is far more, because responses are ahead of the
	// frames with which a client answers them by all that the windows and the network hold.
	maxEarned = 1 << 13
	// creditPerPart is more for each DATA frame that no window has cut short. HAProxy answers it
	// with two WINDOW_UPDATEs, and a client of gRPC with a PING too, by which it measures the
	// connection.
	creditPerPart = 8

	// afterUseless is the credit that a client may waste without earning any before its frames are
	// read with pauses. A pause lasts pausePerCredit for each credit wasted, and maxPause at most.
	afterUseless = 64
	// framesPerPause is the number of useless frames between two pauses. With fewer, a client that
	// sends each frame in a record of its own would be slowed down so much that its flood never
	// ends its connection.
	framesPerPause = 64
	pausePerCredit = 80 * time.Microsecond
	maxPause       = 100 * time.Millisecond
	// abandonedCost is what a request that its client resets before the end of the response counts
	// towards the pauses, because the response has earned as much.
	abandonedCost = creditPerResponse
)

// A flood limits frames without content: PING, SETTINGS, RST_STREAM, PRIORITY, WINDOW_UPDATE, empty
// DATA, and DATA and HEADERS that are mostly padding. An honest client needs few of them for each
// response; many are an attack because of their cost (RFC 9113, section 10.5).
type flood struct {
	left    int
	since   time.Time
	useless int // credit wasted in excess of the credit earned, for pause
	frames  int // useless frames since the last pause
	sent    int // bytes of bodies that have not given credit yet
}

func (f *flood) begin() { f.left = maxCredit }

// spend takes n from the credit. Its error ends the connection.
func (f *flood) spend(n int, now time.Time) error {
	if f.left -= n; f.left >= 0 {
		return nil
	}
	if seconds := now.Sub(f.since) / time.Second; seconds > 0 {
		f.left = min(f.left+int(min(seconds, maxCredit))*creditPerSecond, maxCredit)
		f.since = now
	}
	if f.left < 0 {
		return connectionError(http2.ErrCodeEnhanceYourCalm, "too many frames without content")
	}
	return nil
}

// earn adds n to the credit.
func (f *flood) earn(n int) {
	f.left = min(f.left+n, maxEarned)
	f.useless = max(f.useless-n, 0)
}

// earnBytes adds the credit for n bytes of bodies.
func (f *flood) earnBytes(n int) {
	f.sent += n
	f.earn(f.sent / bytesPerCredit)
	f.sent %= bytesPerCredit
}

// waste counts n towards the pauses. WINDOW_UPDATE does not count, because some clients send two
// for each 4 KiB of a long response.
func (f *flood) waste(n int) {
	f.useless = min(f.useless+n, int(maxPause/pausePerCredit))
	if n > 0 {
		f.frames++
	}
}

// pause returns the time to wait after a batch of frames, before more are read. Go's scheduler
// looks for connections with something to read only when no goroutine is ready to run, so a
// connection that always has another frame would delay all other clients. After a pause many frames
// are read in one go.
func (f *flood) pause() time.Duration {
	if f.frames < framesPerPause || f.useless <= afterUseless {
		return 0
	}
	f.frames = 0
	return time.Duration(f.useless) * pausePerCredit
}

// cost returns the cost of a frame by its kind. For HEADERS and DATA it depends on the content.
func cost(f frame) int {
	switch f.kind {
	case http2.FrameSettings, http2.FramePing:
		return 5 // each needs a reply
	case http2.FrameRSTStream:
		return 2
	case http2.FrameData:
		if padding := f.padding(); len(f.payload) > padding && padding <= len(f.payload)/2 {
			return 0
		}
	case http2.FrameHeaders:
		if f.padding() <= len(f.payload)/2 {
			return 0
		}
	}
	return 1
}
