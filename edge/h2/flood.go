package h2

import (
	"time"

	"golang.org/x/net/http2"
)

const (
	credit      = 1000 // frames that bring nothing, at once
	creditEach  = 100  // and for each second
	forAnswer   = 4    // and for each answer: its windows are opened again, its stream may be reset
	bytesForOne = 4096 // and for as many bytes of bodies
)

// A flood counts frames that bring nothing against what a client that is well asks for: PING, SETTINGS, RST_STREAM, PRIORITY,
// WINDOW_UPDATE, empty DATA, and DATA and HEADERS that are padding for the greater part. It is what many of them cost that makes
// them an attack (RFC 9113, section 10.5).
type flood struct {
	left  int
	since time.Time
}

func (f *flood) begin() { f.left = credit }

// spend counts n such frames.
func (f *flood) spend(n int, now time.Time) error {
	if f.left -= n; f.left >= 0 {
		return nil
	}
	if seconds := now.Sub(f.since) / time.Second; seconds > 0 {
		f.left = min(f.left+int(min(seconds, credit))*creditEach, credit)
		f.since = now
	}
	if f.left < 0 {
		return broken(http2.ErrCodeEnhanceYourCalm, "too many frames that bring nothing")
	}
	return nil
}

// earn gives something back.
func (f *flood) earn(n int) { f.left = min(f.left+n, credit) }

// cost of a frame, by its kind. HEADERS and DATA are judged by what is in them.
func cost(f frame) int {
	switch f.kind {
	case http2.FrameSettings, http2.FramePing:
		return 5 // each is answered
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
