package objectstore

import (
	"errors"
	"strings"
	"testing"
)

func TestAddress(t *testing.T) {
	t.Setenv("AWS_REGION", "")
	t.Setenv("AWS_DEFAULT_REGION", "")
	for _, c := range []struct {
		address string
		want    s3Address
	}{
		{"s3://icons", s3Address{bucket: "icons", endpoint: "s3.amazonaws.com", tls: true}},
		{"s3://icons/", s3Address{bucket: "icons", endpoint: "s3.amazonaws.com", tls: true}},
		{"s3://icons/a/b/", s3Address{bucket: "icons", prefix: "a/b", endpoint: "s3.amazonaws.com", tls: true}},
		{"s3://icons?endpoint=127.0.0.1:9000&tls=false", s3Address{bucket: "icons", endpoint: "127.0.0.1:9000"}},
		{"s3://icons/p?endpoint=s3.example.com&region=eu-west-1",
			s3Address{bucket: "icons", prefix: "p", endpoint: "s3.example.com", region: "eu-west-1", tls: true}},
		{"s3://icons?endpoint=[::1]:9000&tls=true", s3Address{bucket: "icons", endpoint: "[::1]:9000", tls: true}},
		{"s3://icons/%F0%9F%8F%A0", s3Address{bucket: "icons", prefix: "🏠", endpoint: "s3.amazonaws.com", tls: true}},
	} {
		got, err := parseS3(c.address)
		if err != nil || got != c.want {
			t.Errorf("parseS3(%s) = %+v, %v, want %+v", c.address, got, err, c.want)
		}
		// This must not use the network: none of these exist.
		if _, err := Address(c.address); err != nil {
			t.Errorf("Address(%s): %v", c.address, err)
		}
	}
	if b, err := Address("dir:some/where"); err != nil || b.(*DirStore).path != "some/where" {
		t.Errorf("Address(dir:some/where) = %+v, %v", b, err)
	}
}

func TestAddressRegion(t *testing.T) {
	t.Setenv("AWS_REGION", "eu-north-1")
	if a, err := parseS3("s3://icons"); err != nil || a.region != "eu-north-1" {
		t.Errorf("region %q (%v), want the one of AWS_REGION", a.region, err)
	}
	if a, err := parseS3("s3://icons?region=us-west-2"); err != nil || a.region != "us-west-2" {
		t.Errorf("region %q (%v), want the one of the address", a.region, err)
	}
}

func TestBadAddress(t *testing.T) {
	for _, address := range []string{
		"", "dir:", "dir:a\x00b", "icons", "/var/lib/icons", "https://icons", "s3:", "s3://", "s3:icons",
		"s3:///prefix", "s3://icons%3A9000",
		"s3://x", "s3://icons:9000", "s3://hush:hush@icons", "s3://hush@icons", "s3://icons#hush", "s3://icons/../other",
		"s3://icons/a//b", "s3://icons?endpoint=https://hush", "s3://icons?endpoint=", "s3://icons?endpoint=h:0",
		"s3://icons?endpoint=h:hush",
		"s3://icons?endpoint=h:99999", "s3://icons?endpoint=h/hush", "s3://icons?endpoint=hush@h",
		"s3://icons?tls=hush", "s3://icons?secret=hush",
		"s3://icons?tls=true&tls=true", "s3://icons?%zz=hush", "s3://icons/%zz", "s3://icons/\x7f",
	} {
		b, err := Address(address)
		if !errors.Is(err, ErrAddress) || b != nil {
			t.Errorf("Address(%q) = %v, %v, want ErrAddress", address, b, err)
		} else if strings.Contains(err.Error(), "hush") || strings.ContainsAny(err.Error(), "\n") {
			t.Errorf("Address(%q): %v: repeats a possible secret, or has several lines", address, err)
		}
	}
}

// FuzzAddress checks that every accepted address is usable: it has a bucket, an endpoint without a
// path, and a valid prefix.
func FuzzAddress(f *testing.F) {
	f.Add("s3://icons/p?endpoint=127.0.0.1:9000&tls=false&region=x")
	f.Add("dir:a")
	f.Fuzz(func(t *testing.T, s string) {
		b, err := Address(s)
		if (err == nil) != (b != nil) {
			t.Fatalf("Address(%q) = %v, %v", s, b, err)
		}
		if err != nil && !errors.Is(err, ErrAddress) {
			t.Fatalf("Address(%q): %v, want ErrAddress", s, err)
		}
		if a, err := parseS3(s); err == nil && (a.bucket == "" || strings.ContainsAny(a.endpoint, "/@?# ") ||
			checkPrefix(a.prefix) != nil) {
			t.Fatalf("parseS3(%q) = %+v", s, a)
		}
	})
}
