package exchange

import "testing"

func TestProtocols(t *testing.T) {
	for p, want := range [Protocols][2]string{{"h1", "1.1"}, {"h2", "2"}, {"h3", "3"}} {
		if got := [2]string{Protocol(p).String(), Protocol(p).Version()}; got != want {
			t.Errorf("protocol %d: %q, want %q", p, got, want)
		}
	}
}

func TestScheme(t *testing.T) {
	for secure, want := range map[bool]string{true: "https", false: "http"} {
		if got := (&Request{Secure: secure}).Scheme(); got != want {
			t.Errorf("over TLS %v: %q, want %q", secure, got, want)
		}
	}
}
