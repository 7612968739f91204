package h2

import (
	"encoding/binary"
	"errors"

	"golang.org/x/net/http2"
)

// frames takes the whole frames that are there; more: there may be others, when what their answers wait with is written.
func (c *Conn) frames() (more bool, err error) {
	for c.in != nil {
		if c.unsent() > 2*outAtOnce {
			return true, nil
		}
		f, size, whole, err := cutFrame((*c.in)[c.r:])
		if err != nil || !whole {
			return false, err
		}
		c.r += size
		err = c.frame(f)
		if se, ok := errors.AsType[*streamError](err); ok {
			err = c.resetStream(se.stream, se.code)
		}
		if err != nil {
			return false, err
		}
	}
	return false, nil
}

// frame takes one. The order of what is looked at is that of what goes wrong first.
func (c *Conn) frame(f frame) error {
	if !c.settled && f.kind != http2.FrameSettings {
		return broken(http2.ErrCodeProtocol, "a connection begins with SETTINGS")
	}
	if c.block.open() && (f.kind != http2.FrameContinuation || f.stream != c.block.stream) {
		return broken(http2.ErrCodeProtocol, "a header block is not interrupted")
	}
	if err := c.calm.spend(cost(f), c.now); err != nil {
		return err
	}
	switch f.kind {
	case http2.FrameHeaders:
		return c.headers(f)
	case http2.FrameContinuation:
		return c.continuation(f)
	case http2.FrameData:
		return c.data(f)
	case http2.FrameSettings:
		return c.settings(f)
	case http2.FrameWindowUpdate:
		return c.windowUpdate(f)
	case http2.FrameRSTStream:
		return c.rstStream(f)
	case http2.FramePriority:
		return c.priority(f)
	case http2.FramePing:
		return c.ping(f)
	case http2.FrameGoAway:
		if f.stream != 0 {
			return broken(http2.ErrCodeProtocol, "GOAWAY on a stream")
		}
		return nil // it asks for no more, and closes when it has its answers
	case http2.FramePushPromise:
		return broken(http2.ErrCodeProtocol, "a client promises nothing")
	}
	return nil // of a kind that is not known: ignored (RFC 9113, section 5.5)
}

func (c *Conn) ping(f frame) error {
	switch {
	case f.stream != 0:
		return broken(http2.ErrCodeProtocol, "PING on a stream")
	case len(f.payload) != 8:
		return broken(http2.ErrCodeFrameSize, "PING of an odd length")
	case f.flags.Has(http2.FlagPingAck):
		return nil
	}
	c.append(appendFrame(nil, http2.FramePing, http2.FlagPingAck, 0, f.payload...))
	return nil
}

// priority is no longer of use (RFC 9113, section 5.3), but has a form.
func (c *Conn) priority(f frame) error {
	switch {
	case f.stream == 0:
		return broken(http2.ErrCodeProtocol, "PRIORITY of no stream")
	case len(f.payload) != 5:
		return reset(f.stream, http2.ErrCodeFrameSize)
	case binary.BigEndian.Uint32(f.payload)&maxWindow == f.stream:
		return reset(f.stream, http2.ErrCodeProtocol)
	}
	return nil
}

func (c *Conn) rstStream(f frame) error {
	switch {
	case f.stream == 0 || f.stream > c.last || f.stream%2 == 0:
		return broken(http2.ErrCodeProtocol, "RST_STREAM of an idle stream")
	case len(f.payload) != 4:
		return broken(http2.ErrCodeFrameSize, "RST_STREAM of an odd length")
	}
	if s := c.streams[f.stream]; s != nil {
		c.remove(s)
	}
	return nil
}

// resetStream ends a stream with an error of the client's.
func (c *Conn) resetStream(stream uint32, code http2.ErrCode) error {
	if s := c.streams[stream]; s != nil {
		c.remove(s)
	}
	c.sendReset(stream, code)
	return c.calm.spend(resetCosts, c.now)
}

// resetCosts is what a stream that went wrong counts: whoever is well makes none.
const resetCosts = 10
