package h2

import (
	"encoding/binary"

	"golang.org/x/net/http2"
)

// appendSettings appends our SETTINGS. Settings not sent have their defaults.
func appendSettings(dst []byte, c Config) []byte {
	var payload []byte
	settings := []http2.Setting{
		{ID: http2.SettingMaxConcurrentStreams, Val: MaxStreams},
		{ID: http2.SettingMaxHeaderListSize, Val: uint32(c.MaxList)},
		{ID: http2.SettingNoRFC7540Priorities, Val: 1}, // RFC 9218, section 2.1
	}
	if c.Tunnels {
		// RFC 8441, section 3.
		settings = append(settings, http2.Setting{ID: http2.SettingEnableConnectProtocol, Val: 1})
	}
	for _, s := range settings {
		payload = binary.BigEndian.AppendUint16(payload, uint16(s.ID))
		payload = binary.BigEndian.AppendUint32(payload, s.Val)
	}
	return appendFrame(dst, http2.FrameSettings, 0, 0, payload...)
}

func appendGoAway(dst []byte, last uint32, code http2.ErrCode) []byte {
	payload := binary.BigEndian.AppendUint32(nil, last)
	return appendFrame(dst, http2.FrameGoAway, 0, 0, binary.BigEndian.AppendUint32(payload, uint32(code))...)
}

// settings handles the client's SETTINGS (RFC 9113, section 6.5).
func (c *Conn) settings(f frame) error {
	switch ack := f.flags.Has(http2.FlagSettingsAck); {
	case f.stream != 0:
		return connectionError(http2.ErrCodeProtocol, "SETTINGS on a stream")
	case ack && len(f.payload) > 0, len(f.payload)%6 != 0:
		return connectionError(http2.ErrCodeFrameSize, "SETTINGS of a wrong length")
	case ack:
		return nil
	}
	for b := f.payload; len(b) > 0; b = b[6:] {
		if err := c.setting(http2.SettingID(binary.BigEndian.Uint16(b)), binary.BigEndian.Uint32(b[2:])); err != nil {
			return err
		}
	}
	c.phase.gotSettings = true
	c.out.append(appendFrame(nil, http2.FrameSettings, http2.FlagSettingsAck, 0))
	return c.sendQueued()
}

func (c *Conn) setting(id http2.SettingID, value uint32) error {
	switch id {
	case http2.SettingHeaderTableSize:
		if value < tableSize { // rare
			c.encoder.shrink()
		}
	case http2.SettingEnablePush:
		if value > 1 {
			return connectionError(http2.ErrCodeProtocol, "SETTINGS_ENABLE_PUSH must be 0 or 1")
		}
	case http2.SettingInitialWindowSize:
		return c.resize(value)
	case http2.SettingMaxFrameSize:
		if value < maxFrame || value > 1<<24-1 {
			return connectionError(http2.ErrCodeProtocol, "SETTINGS_MAX_FRAME_SIZE must be 16384 to 16777215")
		}
	}
	return nil
}

// resize sets the initial window of streams.
func (c *Conn) resize(value uint32) error {
	if value > maxWindow {
		return connectionError(http2.ErrCodeFlowControl, "SETTINGS_INITIAL_WINDOW_SIZE must be below 2^31")
	}
	if err := c.sender.resize(c.streams.open, int64(value)); err != nil {
		return err
	}
	return c.flood.spend(len(c.streams.open), c.now)
}

// windowUpdate handles WINDOW_UPDATE (section 6.9).
func (c *Conn) windowUpdate(f frame) error {
	if len(f.payload) != 4 {
		return connectionError(http2.ErrCodeFrameSize, "WINDOW_UPDATE must have 4 bytes")
	}
	by := int64(binary.BigEndian.Uint32(f.payload) & maxWindow)
	if f.stream == 0 {
		if by == 0 {
			return connectionError(http2.ErrCodeProtocol, "WINDOW_UPDATE by 0")
		}
		if err := c.sender.open(by); err != nil {
			return err
		}
		c.streams.wake()
		return c.sendQueued()
	}
	if c.streams.idle(f.stream) {
		return connectionError(http2.ErrCodeProtocol, "WINDOW_UPDATE on an idle stream")
	}
	s := c.streams.open[f.stream]
	if s == nil {
		s = c.streams.resets.unread(f.stream)
	}
	switch {
	case s == nil && by == 0:
		// A closed stream can't be reset, and no sound client sends this.
		return connectionError(http2.ErrCodeProtocol, "WINDOW_UPDATE by 0 on a closed stream")
	case s == nil:
		return nil // the stream has ended meanwhile
	case by == 0:
		return reset(f.stream, http2.ErrCodeProtocol)
	}
	if s.window += by; s.window > maxWindow {
		return reset(f.stream, http2.ErrCodeFlowControl)
	}
	s.wake()
	return c.sendQueued()
}
