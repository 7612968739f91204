package fleet

import (
	"strings"
	"testing"
)

func TestParseURL(t *testing.T) {
	for _, row := range []struct{ url, network, addr, password string }{
		{"redis://10.0.0.7", "tcp", "10.0.0.7:6379", ""},
		{"redis://:p%40ss@cache.test:6380/2", "tcp", "cache.test:6380", "p@ss"},
		{"rediss://user:pass@[2001:db8::1]:6379", "tcp", "[2001:db8::1]:6379", "pass"},
		{"unix:///run/redis/redis.sock?db=1", "unix", "/run/redis/redis.sock", ""},
	} {
		o, err := ParseURL(row.url)
		if err != nil || o.Network != row.network || o.Addr != row.addr || o.Password != row.password {
			t.Errorf("%s: %+v, %v", row.url, o, err)
			continue
		}
		if tls := o.TLSConfig != nil; tls != strings.HasPrefix(row.url, "rediss:") {
			t.Errorf("%s: over TLS: %v", row.url, tls)
		}
		if o.MaxRetries != -1 {
			t.Errorf("%s: a call may be sent again", row.url)
		}
	}
	for _, url := range []string{"", "10.0.0.7:6379", "redis:", "redis://", "redis://:6379", "http://10.0.0.7",
		"redis://a/b", "redis://a/1/2", "redis://a?pool=1", "unix://", "unix://run/redis.sock",
		"redis://:secret@a:b:c", "redis://:sec\x7fret@a", "redis://a:99999"} {
		if _, err := ParseURL(url); err != ErrURL {
			t.Errorf("%q: %v, want ErrURL", url, err)
		}
	}
}

// An accepted URL names a server, and no error repeats the input.
func FuzzParseURL(f *testing.F) {
	for _, s := range []string{"redis://:secret@a:1/2", "rediss://a", "unix:///a?db=1", "redis://:secret@a:b", "x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		o, err := ParseURL(s)
		if err != nil && err != ErrURL {
			t.Fatalf("ParseURL(%q): %v", s, err)
		}
		if err == nil && (o.Addr == "" || strings.HasPrefix(o.Addr, ":") || o.MaxRetries != -1 || o.DialTimeout != dialTimeout) {
			t.Fatalf("ParseURL(%q) = %+v", s, o)
		}
	})
}
