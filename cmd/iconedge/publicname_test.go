package main

import (
	"bytes"
	"fmt"
	"io"
	"net/url"
	"strings"
	"testing"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/iconedge/iconedge/objectstore/storetest"
	"github.com/iconedge/iconedge/test/harness"
)

// TestS3BehindTheEdge puts an edge before an S3 server. Clients sign the Host of each request, so
// the server accepts a signature only if it gets the Host that the client used.
func TestS3BehindTheEdge(t *testing.T) {
	store, err := url.Parse(storetest.S3(t))
	if err != nil {
		t.Fatal(err)
	}
	start := func(flags ...string) *minio.Client {
		args := append([]string{"edge", "--proxy-all", "--origin", "http://" + store.Query().Get("endpoint"),
			"--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"}, flags...)
		s := harness.Start(t, t.TempDir(), args...)
		c, err := minio.New(s.Address("public"), &minio.Options{Creds: credentials.NewStaticV4(storetest.AccessKey,
			storetest.SecretKey, ""), Region: "us-east-1", MaxRetries: 1})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c, ctx := start(), t.Context()
	for i, size := range []int{0, 5, 300 << 10, 3 << 20} {
		name, want := fmt.Sprintf("folder/object %d+ü.bin", i), bytes.Repeat([]byte("iconedge"), size/8+1)[:size]
		if _, err := c.PutObject(ctx, store.Host, name, bytes.NewReader(want), int64(size), minio.PutObjectOptions{}); err != nil {
			t.Fatalf("put of %d bytes: %v", size, err)
		}
		for range 2 {
			o, err := c.GetObject(ctx, store.Host, name, minio.GetObjectOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(o); err != nil || !bytes.Equal(got, want) {
				t.Fatalf("get of %d bytes: %d bytes, %v", size, len(got), err)
			}
		}
	}
	names := 0
	for o := range c.ListObjects(ctx, store.Host, minio.ListObjectsOptions{Recursive: true}) {
		if o.Err != nil {
			t.Fatal(o.Err)
		}
		names++
	}
	if names != 4 {
		t.Errorf("%d objects listed, want 4", names)
	}
	if err := c.RemoveObject(ctx, store.Host, "folder/object 0+ü.bin", minio.RemoveObjectOptions{}); err != nil {
		t.Error(err)
	}

	// Another Host breaks the signature, as it did for every client before the Host was passed on.
	_, err = start("--origin-host", "origin").PutObject(ctx, store.Host, "x", strings.NewReader("x"), 1, minio.PutObjectOptions{})
	if code := minio.ToErrorResponse(err).Code; code != "SignatureDoesNotMatch" {
		t.Errorf("with --origin-host origin: %v, want SignatureDoesNotMatch", err)
	}
}
