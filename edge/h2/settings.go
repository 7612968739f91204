package h2

import (
	"encoding/binary"

	"golang.org/x/net/http2"
)

// appendSettings appends ours. What is not in it has its default.
func appendSettings(dst []byte, maxList int) []byte {
	var payload []byte
	for _, s := range [...]http2.Setting{
		{ID: http2.SettingMaxConcurrentStreams, Val: MaxStreams},
		{ID: http2.SettingMaxHeaderListSize, Val: uint32(maxList)},
		{ID: http2.SettingNoRFC7540Priorities, Val: 1}, // RFC 9218, section 2.1
	} {
		payload = binary.BigEndian.AppendUint16(payload, uint16(s.ID))
		payload = binary.BigEndian.AppendUint32(payload, s.Val)
	}
	return appendFrame(dst, http2.FrameSettings, 0, 0, payload...)
}

func appendGoAway(dst []byte, last uint32, code http2.ErrCode) []byte {
	payload := binary.BigEndian.AppendUint32(nil, last)
	return appendFrame(dst, http2.FrameGoAway, 0, 0, binary.BigEndian.AppendUint32(payload, uint32(code))...)
}

// settings takes the peer's (RFC 9113, section 6.5).
func (c *Conn) settings(f frame) error {
	switch ack := f.flags.Has(http2.FlagSettingsAck); {
	case f.stream != 0:
		return broken(http2.ErrCodeProtocol, "SETTINGS on a stream")
	case ack && len(f.payload) > 0, len(f.payload)%6 != 0:
		return broken(http2.ErrCodeFrameSize, "SETTINGS of an odd length")
	case ack:
		return nil
	}
	for b := f.payload; len(b) > 0; b = b[6:] {
		if err := c.setting(http2.SettingID(binary.BigEndian.Uint16(b)), binary.BigEndian.Uint32(b[2:])); err != nil {
			return err
		}
	}
	c.settled = true
	c.append(appendFrame(nil, http2.FrameSettings, http2.FlagSettingsAck, 0))
	return c.pump()
}

func (c *Conn) setting(id http2.SettingID, value uint32) error {
	switch id {
	case http2.SettingHeaderTableSize:
		if value < tableSize { // few do so: they get blocks that use no table, and are told
			c.shrunk = true
			c.memory.close()
		}
	case http2.SettingEnablePush:
		if value > 1 {
			return broken(http2.ErrCodeProtocol, "SETTINGS_ENABLE_PUSH is 0 or 1")
		}
	case http2.SettingInitialWindowSize:
		return c.resize(value)
	case http2.SettingMaxFrameSize:
		if value < maxFrame || value > 1<<24-1 {
			return broken(http2.ErrCodeProtocol, "SETTINGS_MAX_FRAME_SIZE is out of its range")
		}
	}
	return nil
}

// resize changes the windows of all streams by as much as that of a new one changes (section 6.9.2). They may become negative.
func (c *Conn) resize(value uint32) error {
	if value > maxWindow {
		return broken(http2.ErrCodeFlowControl, "SETTINGS_INITIAL_WINDOW_SIZE is out of its range")
	}
	by := int64(value) - c.initial
	c.initial = int64(value)
	for _, s := range c.streams {
		if s.window += by; s.window > maxWindow {
			return broken(http2.ErrCodeFlowControl, "a window is too large")
		}
		s.wake()
	}
	return c.calm.spend(len(c.streams), c.now)
}

// windowUpdate opens a window (section 6.9).
func (c *Conn) windowUpdate(f frame) error {
	if len(f.payload) != 4 {
		return broken(http2.ErrCodeFrameSize, "WINDOW_UPDATE of an odd length")
	}
	by := int64(binary.BigEndian.Uint32(f.payload) & maxWindow)
	if f.stream == 0 {
		if by == 0 {
			return broken(http2.ErrCodeProtocol, "a window opened by nothing")
		}
		if c.window += by; c.window > maxWindow {
			return broken(http2.ErrCodeFlowControl, "the window is too large")
		}
		for _, s := range c.streams {
			s.wake()
		}
		return c.pump()
	}
	if f.stream > c.last || f.stream%2 == 0 {
		return broken(http2.ErrCodeProtocol, "WINDOW_UPDATE on an idle stream")
	}
	s := c.streams[f.stream]
	if s == nil {
		return nil // it has ended; this was on its way
	}
	if by == 0 {
		return reset(f.stream, http2.ErrCodeProtocol)
	}
	if s.window += by; s.window > maxWindow {
		return reset(f.stream, http2.ErrCodeFlowControl)
	}
	s.wake()
	return c.pump()
}
