package objectstore_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/iconedge/iconedge/objectstore"
	"github.com/iconedge/iconedge/objectstore/storetest"
)

// open opens the store of an address.
func open(t *testing.T, address string) objectstore.Bucket {
	t.Helper()
	b, err := objectstore.Address(address)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestS3(t *testing.T) {
	address, n := storetest.S3(t), 0
	storetest.Run(t, func(t *testing.T) objectstore.Bucket {
		n++
		return open(t, strings.Replace(address, "?", fmt.Sprintf("/some/prefix-%d?", n), 1))
	})
	t.Run("prefixes", func(t *testing.T) { prefixes(t, address) })
	t.Run("what is wrong is told apart", func(t *testing.T) { toldApart(t, address) })
}

// prefixes: stores with different prefixes in one bucket see nothing of each other.
func prefixes(t *testing.T, address string) {
	a, ab := open(t, strings.Replace(address, "?", "/a?", 1)), open(t, strings.Replace(address, "?", "/ab?", 1))
	store(t, a, "x", "of a")
	store(t, ab, "x", "of ab")
	if content(t, a, "x") != "of a" || content(t, ab, "x") != "of ab" {
		t.Error("the two have the same object")
	}
	var got []string
	for info, err := range a.List(t.Context(), "") {
		got = append(got, fmt.Sprint(info.Key, err))
	}
	if len(got) != 1 || got[0] != "x<nil>" {
		t.Errorf("List of /a: %q", got)
	}
}

// toldApart: each call says which of bucket, credentials and endpoint is wrong, in one line that names the place and has no secret.
func toldApart(t *testing.T, address string) {
	env := map[string]string{"AWS_SHARED_CREDENTIALS_FILE": "/nonexistent", "AWS_CONFIG_FILE": "/nonexistent"}
	with := func(name, value string) map[string]string {
		return map[string]string{name: value, "AWS_SHARED_CREDENTIALS_FILE": "/nonexistent", "AWS_CONFIG_FILE": "/nonexistent"}
	}
	endpoint := address[strings.Index(address, "endpoint=")+len("endpoint=") : strings.Index(address, "&")]
	for _, c := range []struct {
		name, address string
		env           map[string]string
		want          error
		says          []string
	}{
		{"no bucket", strings.Replace(address, "icons", "other", 1), env, objectstore.ErrNoBucket, []string{"s3://other at " + endpoint}},
		{"no bucket, region asked for", strings.Replace(strings.Replace(address, "icons", "other", 1), "&region=us-east-1", "", 1), env,
			objectstore.ErrNoBucket, []string{"s3://other at " + endpoint}},
		{"wrong secret", address, with("AWS_SECRET_ACCESS_KEY", "a-wrong-secret"), objectstore.ErrDenied, []string{"s3://icons at " + endpoint}},
		{"wrong key", address, with("AWS_ACCESS_KEY_ID", "a-wrong-key"), objectstore.ErrDenied, []string{"s3://icons at " + endpoint}},
		{"wrong key, region asked for", strings.Replace(address, "&region=us-east-1", "", 1), with("AWS_ACCESS_KEY_ID", "a-wrong-key"),
			objectstore.ErrDenied, []string{"s3://icons at " + endpoint}},
		{"no credentials", address, with("AWS_ACCESS_KEY_ID", ""), objectstore.ErrDenied, []string{"s3://icons at " + endpoint, "no credentials"}},
		{"no such endpoint", strings.Replace(address, endpoint, closed(t), 1), env, objectstore.ErrUnreachable, []string{"s3://icons at 127.0.0.1:", "refused"}},
		{"no TLS there", strings.Replace(address, "&tls=false", "", 1), env, objectstore.ErrUnreachable, []string{"s3://icons at " + endpoint, "HTTP response to HTTPS client"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for name, value := range c.env {
				t.Setenv(name, value)
			}
			for call, err := range everyCall(t, open(t, c.address)) {
				for _, kind := range []error{objectstore.ErrNoBucket, objectstore.ErrDenied, objectstore.ErrUnreachable, objectstore.ErrNotExist, objectstore.ErrChanged} {
					if errors.Is(err, kind) != (kind == c.want) {
						t.Errorf("%s: %v, want %v alone", call, err, c.want)
					}
				}
				if err == nil {
					continue
				}
				for _, word := range c.says {
					if !strings.Contains(err.Error(), word) {
						t.Errorf("%s: %v, want %q in it", call, err, word)
					}
				}
				for _, secret := range []string{"\n", storetest.SecretKey, "a-wrong-secret", "Signature=", "Credential="} {
					if strings.Contains(err.Error(), secret) {
						t.Errorf("%s: %v, has %q in it", call, err, secret)
					}
				}
			}
		})
	}
}

// closed is an address at which nobody listens.
func closed(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// The credentials of the AWS files are used where the environment has none.
func TestS3CredentialsFile(t *testing.T) {
	var auth string
	b := fake(t, func(w http.ResponseWriter, r *http.Request) { auth = r.Header.Get("Authorization") })
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	t.Setenv("AWS_CONFIG_FILE", "/nonexistent")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", write(t, "[default]\naws_access_key_id = FROMFILE\naws_secret_access_key = hush\n"))
	store(t, b, "a", "x")
	if !strings.Contains(auth, "Credential=FROMFILE/") {
		t.Errorf("Authorization: %s, want the key of the file", auth)
	}
}

// fake opens a store whose endpoint is a handler, for what a sound service does not do.
func fake(t *testing.T, h http.HandlerFunc) objectstore.Bucket {
	t.Setenv("AWS_ACCESS_KEY_ID", storetest.AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", storetest.SecretKey)
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return open(t, "s3://icons?tls=false&region=us-east-1&endpoint="+srv.Listener.Addr().String())
}

// Bodies go out as they are, and signed: no aws-chunked, which some services store with the object.
func TestS3SendsPlainBodies(t *testing.T) {
	var mu sync.Mutex
	var got []string
	b := fake(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		sum := sha256.Sum256(body)
		signed := r.Header.Get("X-Amz-Content-Sha256")
		if signed == hex.EncodeToString(sum[:]) {
			signed = "its hash"
		}
		mu.Lock()
		defer mu.Unlock()
		got = append(got, fmt.Sprintf("%s %q %s %s", r.Method, body, signed, r.Header.Get("Content-Encoding")+
			r.Header.Get("If-None-Match")+r.Header.Get("If-Match")))
	})
	store(t, b, "a", "plain")
	for _, tag := range []string{"", "tag"} {
		if err := b.PutIf(t.Context(), "a", strings.NewReader("on condition"), 12, tag); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{`PUT "plain" its hash `, `PUT "on condition" its hash *`, `PUT "on condition" its hash "tag"`}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the service got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A service that is busy is asked again, a few times; but a conditional write is sent once, as it may have happened.
func TestS3Retries(t *testing.T) {
	var mu sync.Mutex
	asked, busy := map[string]int{}, 2
	b := fake(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		body, _ := io.ReadAll(r.Body)
		asked[r.Method+" "+string(body)]++
		if asked[r.Method+" "+string(body)] <= busy {
			w.WriteHeader(http.StatusServiceUnavailable)
			io.WriteString(w, "<Error><Code>SlowDown</Code><Message>a\nb</Message></Error>")
			return
		}
		w.Header().Set("Last-Modified", "Sat, 21 Nov 2026 00:00:00 GMT")
		io.WriteString(w, "ok")
	})
	if got := content(t, b, "a"); got != "ok" {
		t.Errorf("read %q", got)
	}
	store(t, b, "a", "plain")
	err := b.PutIf(t.Context(), "a", strings.NewReader("on condition"), 12, "")
	if !errors.Is(err, objectstore.ErrUnreachable) || !strings.Contains(err.Error(), "503 (SlowDown)") {
		t.Errorf("PutIf: %v, want ErrUnreachable, with what the service said", err)
	}
	if asked["GET "] != 3 || asked["PUT plain"] != 3 || asked["PUT on condition"] != 1 {
		t.Errorf("requests: %v, want 3, 3 and, on condition, 1", asked)
	}
	busy = 1 << 30
	if _, err := b.Open(t.Context(), "a"); !errors.Is(err, objectstore.ErrUnreachable) {
		t.Errorf("Open: %v, want ErrUnreachable", err)
	}
	if asked["GET "] > 6 {
		t.Errorf("%d requests for one Open: they must have an end", asked["GET "]-3)
	}
}

// A body that breaks off is an error when it is read, and not a shorter object.
func TestS3BrokenBody(t *testing.T) {
	b := fake(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Last-Modified", "Sat, 21 Nov 2026 00:00:00 GMT")
		w.Header().Set("Content-Length", "100")
		io.WriteString(w, "half")
	})
	_, err := objectstore.ReadAll(t.Context(), b, "a", 1000)
	if !errors.Is(err, objectstore.ErrUnreachable) || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("ReadAll: %v, want ErrUnreachable", err)
	}
}

// A service that answers the whole object where a part is asked for must not pass for one that did as it was told.
func TestS3WithoutRanges(t *testing.T) {
	b := fake(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Last-Modified", "Sat, 21 Nov 2026 00:00:00 GMT")
		io.WriteString(w, "whole")
	})
	if _, err := b.OpenRange(t.Context(), "a", 1, 2); err == nil {
		t.Error("OpenRange: no error")
	}
}
