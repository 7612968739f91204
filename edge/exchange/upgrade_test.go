package exchange

import "testing"

func TestUpgrades(t *testing.T) {
	for _, tt := range []struct{ connection, upgrade, want string }{
		{"Upgrade", "websocket", "websocket"},
		{"keep-alive, UPGRADE", "WebSocket", "WebSocket"},
		{"upgrade", "h2c", ""},
		{"upgrade", "h2c, websocket", "websocket"},
		{"upgrade", "HTTP/2.0, TLS/1.2, h2, H2C, http/1.1", ""},
		{"upgrade", "SPDY/3.1, tcp", "SPDY/3.1, tcp"},
		{"upgrade", "a b, c;d, e/, /f, g/h/i, \x00, , \xff", ""},
		{"close", "websocket", ""},
		{"upgrade-insecure", "websocket", ""},
		{"", "websocket", ""},
		{"upgrade", "", ""},
	} {
		if got := Upgrades([][]byte{[]byte(tt.connection)}, [][]byte{[]byte(tt.upgrade)}); got != tt.want {
			t.Errorf("Connection: %s, Upgrade: %s: %q, want %q", tt.connection, tt.upgrade, got, tt.want)
		}
	}
}

func TestSwitches(t *testing.T) {
	for protocol, want := range map[string]bool{"websocket": true, "WebSocket": true, "a/1": true, "a": false,
		"h2c": false, "": false, "websocket, a/1": false} {
		if got := Switches("websocket, a/1", protocol); got != want {
			t.Errorf("%q: %v, want %v", protocol, got, want)
		}
	}
}
