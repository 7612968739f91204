package objectstore_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/iconedge/iconedge/objectstore"
	"github.com/iconedge/iconedge/objectstore/storetest"
)

// open opens the store with an address.
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
	t.Run("errors are distinguished", func(t *testing.T) { testErrors(t, address) })
}

// prefixes checks that stores with different prefixes in one bucket are independent.
func prefixes(t *testing.T, address string) {
	a, ab := open(t, strings.Replace(address, "?", "/a?", 1)), open(t, strings.Replace(address, "?", "/ab?", 1))
	store(t, a, "x", "of a")
	store(t, ab, "x", "of ab")
	if content(t, a, "x") != "of a" || content(t, ab, "x") != "of ab" {
		t.Error("the two stores share an object")
	}
	var got []string
	for info, err := range a.List(t.Context(), "") {
		got = append(got, fmt.Sprint(info.Key, err))
	}
	if len(got) != 1 || got[0] != "x<nil>" {
		t.Errorf("List of /a: %q", got)
	}
}

// testErrors checks that each error says which of bucket, credentials and endpoint is wrong, in one
// line that names the place and contains no secret.
func testErrors(t *testing.T, address string) {
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
		{"no bucket, region from the service", strings.Replace(strings.Replace(address, "icons", "other", 1),
			"&region=us-east-1", "", 1), env,
			objectstore.ErrNoBucket, []string{"s3://other at " + endpoint}},
		{"wrong secret", address, with("AWS_SECRET_ACCESS_KEY", "a-wrong-secret"), objectstore.ErrDenied,
			[]string{"s3://icons at " + endpoint}},
		{"wrong key", address, with("AWS_ACCESS_KEY_ID", "a-wrong-key"), objectstore.ErrDenied, []string{"s3://icons at " + endpoint}},
		{"wrong key, region from the service", strings.Replace(address, "&region=us-east-1", "", 1),
			with("AWS_ACCESS_KEY_ID", "a-wrong-key"),
			objectstore.ErrDenied, []string{"s3://icons at " + endpoint}},
		{"no credentials", address, with("AWS_ACCESS_KEY_ID", ""), objectstore.ErrDenied,
			[]string{"s3://icons at " + endpoint, "no credentials"}},
		{"no such endpoint", strings.Replace(address, endpoint, nobody, 1), env, objectstore.ErrUnreachable,
			[]string{"s3://icons at 127.0.0.1:", "refused"}},
		{"no TLS there", strings.Replace(address, "&tls=false", "", 1), env, objectstore.ErrUnreachable,
			[]string{"s3://icons at " + endpoint, "HTTP response to HTTPS client", "add tls=false to the address of the store"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for name, value := range c.env {
				t.Setenv(name, value)
			}
			for call, err := range everyCall(t, open(t, c.address)) {
				for _, kind := range []error{objectstore.ErrNoBucket, objectstore.ErrDenied,
					objectstore.ErrUnreachable, objectstore.ErrNotExist, objectstore.ErrChanged} {
					if errors.Is(err, kind) != (kind == c.want) {
						t.Errorf("%s: %v, want only %v", call, err, c.want)
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
						t.Errorf("%s: %v, must not contain %q", call, err, secret)
					}
				}
			}
		})
	}
}

// nobody is an address at which no program listens. A free port would soon be another test's.
const nobody = "127.0.0.1:1"

// TestS3CredentialsFile checks that the store uses the credentials of the AWS files if the
// environment has none.
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

// TestS3CredentialsAreReadAgain checks that an open store uses the credentials that the AWS files
// have at each request, and the previous ones while the files have none.
func TestS3CredentialsAreReadAgain(t *testing.T) {
	var auth string
	address := endpoint(t, func(w http.ResponseWriter, r *http.Request) { auth = r.Header.Get("Authorization") })
	path := write(t, "[default]\naws_access_key_id = FIRST\naws_secret_access_key = hush\n")
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "",
		"AWS_CONFIG_FILE": "/nonexistent", "AWS_SHARED_CREDENTIALS_FILE": path} {
		t.Setenv(name, value)
	}
	b := open(t, address)
	for _, step := range []struct{ text, want string }{
		{"", "FIRST"},
		{"[default]\naws_access_key_id = SECOND\naws_secret_access_key = hush2\n", "SECOND"},
		{"[default]\naws_access_key_id = HALF", "SECOND"},
		{"not an INI file\n", "SECOND"},
		{"[default]\naws_access_key_id = LAST\naws_secret_access_key = hush3\n", "LAST"},
	} {
		if step.text != "" {
			if err := os.WriteFile(path, []byte(step.text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		store(t, b, "a", "x")
		if !strings.Contains(auth, "Credential="+step.want+"/") {
			t.Errorf("after %q the Authorization is %s, want the key %s", step.text, auth, step.want)
		}
	}
}

// fake opens a store whose endpoint is h, for behaviour that a real service does not show.
func fake(t *testing.T, h http.HandlerFunc) objectstore.Bucket {
	t.Setenv("AWS_ACCESS_KEY_ID", storetest.AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", storetest.SecretKey)
	return open(t, endpoint(t, h))
}

// endpoint returns the address of a store whose endpoint is h.
func endpoint(t *testing.T, h http.HandlerFunc) string {
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return "s3://icons?tls=false&region=us-east-1&endpoint=" + srv.Listener.Addr().String()
}

// TestS3SendsPlainBodies checks that bodies are sent as they are, with a signature, and not as
// aws-chunked, which some services store as part of the object.
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
		t.Errorf("the service received\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestS3Retries checks that the store retries a few times if the service is busy, but sends a
// conditional write only once, because it may have succeeded.
func TestS3Retries(t *testing.T) {
	var mu sync.Mutex
	requests, busy := map[string]int{}, 2
	b := fake(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		body, _ := io.ReadAll(r.Body)
		requests[r.Method+" "+string(body)]++
		if requests[r.Method+" "+string(body)] <= busy {
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
		t.Errorf("PutIf: %v, want ErrUnreachable with the answer of the service", err)
	}
	if requests["GET "] != 3 || requests["PUT plain"] != 3 || requests["PUT on condition"] != 1 {
		t.Errorf("requests: %v, want 3, 3 and, on condition, 1", requests)
	}
	busy = 1 << 30
	if _, err := b.Open(t.Context(), "a"); !errors.Is(err, objectstore.ErrUnreachable) {
		t.Errorf("Open: %v, want ErrUnreachable", err)
	}
	if requests["GET "] > 6 {
		t.Errorf("%d requests for one Open, want at most 3", requests["GET "]-3)
	}
}

// TestS3BrokenBody checks that reading a truncated body returns an error, and not a shorter object.
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

// TestS3WithoutRanges checks that the store refuses the whole object as the answer to a range
// request.
func TestS3WithoutRanges(t *testing.T) {
	b := fake(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Last-Modified", "Sat, 21 Nov 2026 00:00:00 GMT")
		io.WriteString(w, "whole")
	})
	if _, err := b.OpenRange(t.Context(), "a", 1, 2); err == nil {
		t.Error("OpenRange: no error")
	}
}
