package hostport

import "testing"

func TestValid(t *testing.T) {
	for s, want := range map[string]bool{
		"127.0.0.1:8080": true, ":8080": true, ":0": true, "[::1]:443": true, "localhost:http": true, "host:65535": true,
		"": false, "8080": false, "host": false, "host:65536": false, "host:-1": false, "host:nothing": false, "::1:80": false, "a:b:1": false,
	} {
		if got := Valid(s); got != want {
			t.Errorf("%q: %v", s, got)
		}
	}
}

func TestParseURL(t *testing.T) {
	for s, want := range map[string]bool{
		"http://127.0.0.1:8080": true, "https://cdn.example": true, "https://cdn.example/icons/": true, "http://[::1]:1": true, "HTTP://a": true,
		"": false, "cdn.example": false, "ftp://a": false, "http://": false, "http://:80": true, "http://a:65536": false, "http://a:b": false,
		"http://a?b": false, "http://a?": false, "http://a#b": false, "http://a@b": false, "http://a b": false,
	} {
		if u, err := ParseURL(s); (err == nil) != want || want && u.Host == "" {
			t.Errorf("%q: %v, %v", s, u, err)
		}
	}
}
