package hostport

import (
	"strings"
	"testing"
)

func TestValid(t *testing.T) {
	for s, want := range map[string]bool{
		"127.0.0.1:8080": true, ":8080": true, ":0": true, "[::1]:443": true, "localhost:http": true, "host:65535": true,
		"": false, "8080": false, "host": false, "host:65536": false, "host:-1": false, "host:nothing": false,
		"::1:80": false, "a:b:1": false,
	} {
		if got := Valid(s); got != want {
			t.Errorf("%q: %v", s, got)
		}
	}
}

func TestParseURL(t *testing.T) {
	for s, want := range map[string]bool{
		"http://127.0.0.1:8080": true, "https://cdn.example": true, "https://cdn.example/icons/": true,
		"http://[::1]:1": true, "HTTP://a": true,
		"": false, "cdn.example": false, "ftp://a": false, "http://": false, "http://:80": true,
		"http://a:65536": false, "http://a:b": false,
		"http://a?b": false, "http://a?": false, "http://a#b": false, "http://a@b": false, "http://a b": false,
	} {
		if u, err := ParseURL(s); (err == nil) != want || want && u.Host == "" {
			t.Errorf("%q: %v, %v", s, u, err)
		}
	}
}

func TestValidHost(t *testing.T) {
	for host, want := range map[string]bool{
		"a": true, "a.b:80": true, "A-b_c.d": true, "127.0.0.1:1": true, "[::1]": true, "[::1]:8080": true, "a:": true,
		"": false, ":80": false, "a:b": false, "a:123456": false, "[::1": false, "[x]": false, "a b": false,
		"a/b": false, "a@b": false, "::1": false,
		"ä": false, strings.Repeat("a", 256): false,
	} {
		if got := ValidHost(host); got != want {
			t.Errorf("ValidHost(%q) = %v, want %v", host, got, want)
		}
	}
}

func TestCanonicalHost(t *testing.T) {
	for _, row := range []struct{ host, scheme, want string }{
		{"a.test", "http", "a.test"}, {"A.Test", "https", "a.test"}, {"a.test.", "http", "a.test"},
		{"a.test:", "http", "a.test"}, {"a.test:80", "http", "a.test"}, {"a.test:00080", "http", "a.test"},
		{"a.test.:080", "http", "a.test"},
		{"a.test:80", "https", "a.test:80"}, {"a.test:443", "https", "a.test"}, {"a.test:443", "http", "a.test:443"},
		{"a.test:08080", "http", "a.test:8080"}, {"a.test:0", "http", "a.test:0"}, {"a.test:000", "http", "a.test:0"},
		{"192.0.2.1:80", "http", "192.0.2.1"}, {"[::1]", "http", "[::1]"}, {"[0:0::0001]:0443", "https", "[::1]"},
		{"[2001:DB8::1]:8443", "https", "[2001:db8::1]:8443"}, {"[::ffff:192.0.2.1]", "http", "[::ffff:192.0.2.1]"},
		{"a.test..", "http", "a.test"}, {".", "http", "."}, {"", "http", ""},
	} {
		if got := CanonicalHost(row.host, row.scheme); got != row.want {
			t.Errorf("CanonicalHost(%q, %s) = %q, want %q", row.host, row.scheme, got, row.want)
		}
	}
}

// A canonical host has no other canonical form, and names the same host: only case, dots at the
// end, zeros and a default port differ.
func FuzzCanonicalHost(f *testing.F) {
	for _, host := range []string{"a.test:00080", "A.test.", "[0::1]:443", "[::1]", "a:b", ":", "..", "a.test.:"} {
		f.Add(host, "http")
		f.Add(host, "https")
	}
	f.Fuzz(func(t *testing.T, host, scheme string) {
		if !ValidHost(host) {
			return
		}
		one := CanonicalHost(host, scheme)
		if again := CanonicalHost(one, scheme); again != one {
			t.Fatalf("%q with %s is %q, which is %q", host, scheme, one, again)
		}
		if _, port := SplitHost(one); strings.HasPrefix(port, "0") && port != "0" || !ValidHost(one) {
			t.Fatalf("%q is %q", host, one)
		}
	})
}
