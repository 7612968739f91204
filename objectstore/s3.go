package objectstore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/s3utils"
)

// Timeouts of an endpoint. An endpoint that does not answer costs at most 8 s: attempts times the
// connect timeout, and pauses of less than a second between the attempts.
const (
	attempts       = 3
	connectTimeout = 2 * time.Second
	answerTimeout  = 20 * time.Second // from the end of the request to the head of the answer
)

// partSize is the largest body of one request, in bytes. Larger objects are uploaded in parts of
// this size.
const partSize = MaxPutIf

// An s3Store keeps objects in a bucket, under a prefix. Conditional writes need an endpoint that
// supports them, as Amazon, MinIO, versitygw, Ceph and R2 do.
type s3Store struct {
	core   minio.Core // each method makes one request, and fetches nothing else
	creds  *credentials.Credentials
	bucket string
	prefix string // "" or ending in a slash
	where  string // description of the store in errors
}

func openS3(a s3Address) (Bucket, error) {
	if err := s3utils.CheckValidBucketName(a.bucket); err != nil || strings.Contains(a.bucket, ":") {
		return nil, fmt.Errorf("%w: the bucket's name is invalid", ErrAddress)
	}
	creds := credentials.NewChainCredentials([]credentials.Provider{&credentials.EnvAWS{}, newAWSFiles()})
	client, err := minio.New(a.endpoint, &minio.Options{
		Creds: creds, Secure: a.tls, Region: a.region, Transport: transport(), MaxRetries: attempts,
	})
	if err != nil {
		return nil, fmt.Errorf("%w: the endpoint is invalid", ErrAddress)
	}
	s := &s3Store{core: minio.Core{Client: client}, creds: creds, bucket: a.bucket}
	s.where = fmt.Sprintf("s3://%s at %s", a.bucket, a.endpoint)
	if a.prefix != "" {
		s.prefix = a.prefix + "/"
	}
	return s, nil
}

func transport() *http.Transport {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: connectTimeout, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:   connectTimeout,
		ResponseHeaderTimeout: answerTimeout,
		MaxIdleConnsPerHost:   16,
		IdleConnTimeout:       time.Minute,
		DisableCompression:    true, // get objects exactly as stored
		ForceAttemptHTTP2:     true,
	}
}

// object returns the name of the object in the bucket.
func (s *s3Store) object(key string) (string, error) {
	if err := checkKey(key); err != nil {
		return "", err
	}
	return s.prefix + key, checkKey(s.prefix + key)
}

func (s *s3Store) Open(ctx context.Context, key string) (io.ReadCloser, error) {
	f, _, err := s.get(ctx, key, minio.GetObjectOptions{})
	if err != nil {
		return nil, s.fail(ctx, "opening", key, err)
	}
	return f, nil
}

func (s *s3Store) OpenRange(ctx context.Context, key string, off, n int64) (io.ReadCloser, error) {
	switch {
	case off < 0:
		return nil, s.fail(ctx, "opening", key, fmt.Errorf("negative offset %d", off))
	case n == 0: // HTTP has no empty range (RFC 9110, section 14.1.1), but the object must exist
		if _, err := s.Stat(ctx, key); err != nil {
			return nil, err
		}
		return http.NoBody, nil
	}
	var o minio.GetObjectOptions
	if n < 0 {
		o.Set("Range", fmt.Sprintf("bytes=%d-", off))
	} else {
		o.Set("Range", fmt.Sprintf("bytes=%d-%d", off, off+min(n, math.MaxInt64-off)-1))
	}
	f, header, err := s.get(ctx, key, o)
	if minio.ToErrorResponse(err).StatusCode == http.StatusRequestedRangeNotSatisfiable {
		return http.NoBody, nil // at or past the end
	}
	if err == nil && header.Get("Content-Range") == "" {
		f.Close()
		err = errors.New("the endpoint does not support range requests")
	}
	if err != nil {
		return nil, s.fail(ctx, "opening", key, err)
	}
	return f, nil
}

func (s *s3Store) get(ctx context.Context, key string, o minio.GetObjectOptions) (io.ReadCloser, http.Header, error) {
	object, err := s.object(key)
	if err != nil {
		return nil, nil, err
	}
	f, _, header, err := s.core.GetObject(ctx, s.bucket, object, o)
	if err != nil {
		return nil, nil, err
	}
	return &s3Body{f, func(err error) error { return s.fail(ctx, "reading", key, &url.Error{Err: err}) }}, header, nil
}

// An s3Body is the body of an answer. It reports a truncated body as a failure of the network.
type s3Body struct {
	io.ReadCloser
	fail func(error) error
}

func (b *s3Body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = b.fail(err)
	}
	return n, err
}

func (s *s3Store) Stat(ctx context.Context, key string) (Info, error) {
	object, err := s.object(key)
	if err != nil {
		return Info{}, s.fail(ctx, "looking at", key, err)
	}
	o, err := s.core.StatObject(ctx, s.bucket, object, minio.StatObjectOptions{})
	if minio.ToErrorResponse(err).StatusCode == http.StatusNotFound {
		// The answer to HEAD has no body to say whether the object or the bucket is missing. The
		// answer to a short listing has one.
		if e := s.listOne(ctx, object); minio.ToErrorResponse(e).StatusCode == http.StatusNotFound {
			err = e
		}
	}
	if err != nil {
		return Info{}, s.fail(ctx, "looking at", key, err)
	}
	return Info{Key: key, Size: o.Size, Modified: o.LastModified, ETag: o.ETag}, nil
}

// listOne lists at most one object and returns the error.
func (s *s3Store) listOne(ctx context.Context, prefix string) error {
	for o := range s.core.ListObjectsIter(ctx, s.bucket, minio.ListObjectsOptions{Prefix: prefix, Recursive: true, MaxKeys: 1}) {
		return o.Err
	}
	return nil
}

// Put uploads an object that fits into one request at once, signed with its hash, and a larger one
// in parts.
func (s *s3Store) Put(ctx context.Context, key string, r io.Reader, size int64) error {
	object, err := s.object(key)
	if err == nil {
		err = s.put(ctx, object, &source{ctx: ctx, r: r, size: size})
	}
	if err != nil {
		return s.fail(ctx, "writing", key, err)
	}
	return nil
}

func (s *s3Store) put(ctx context.Context, object string, content *source) error {
	var head bytes.Buffer
	if content.size > 0 {
		head.Grow(int(min(content.size, partSize)) + bytes.MinRead)
	}
	if _, err := head.ReadFrom(io.LimitReader(content, partSize+1)); err != nil {
		return err
	}
	if head.Len() <= partSize {
		return s.putOne(ctx, object, head.Bytes(), bytes.NewReader(head.Bytes()), minio.PutObjectOptions{})
	}
	// PutObject does not learn the size, so that it reads content to its end, where content reports
	// whether it was complete. An MD5 protects each part: without signed chunks (see putOne),
	// nothing else would over plain HTTP.
	_, err := s.core.Client.PutObject(ctx, s.bucket, object, io.MultiReader(&head, content), -1, minio.PutObjectOptions{
		PartSize: partSize, DisableContentSha256: true, SendContentMd5: true,
	})
	return err
}

// putOne uploads b, which r reads, in one request. The signature covers its hash. Over plain HTTP,
// minio-go would otherwise sign it chunk by chunk, and some services store the chunk headers
// (Content-Encoding: aws-chunked) as part of the object.
func (s *s3Store) putOne(ctx context.Context, object string, b []byte, r io.Reader, o minio.PutObjectOptions) error {
	o.DisableContentSha256 = true
	sum := sha256.Sum256(b)
	_, err := s.core.PutObject(ctx, s.bucket, object, r, int64(len(b)), "", hex.EncodeToString(sum[:]), o)
	return err
}

func (s *s3Store) PutIf(ctx context.Context, key string, r io.Reader, size int64, tag string) error {
	object, err := s.object(key)
	if err == nil {
		err = s.putIf(ctx, object, &source{ctx: ctx, r: r, size: size}, tag)
	}
	if err != nil {
		return s.fail(ctx, "writing", key, err)
	}
	return nil
}

func (s *s3Store) putIf(ctx context.Context, object string, content *source, tag string) error {
	b, err := readSmall(content)
	if err != nil {
		return err
	}
	var o minio.PutObjectOptions
	if tag == "" {
		o.SetMatchETagExcept("*")
	} else {
		o.SetMatchETag(tag)
	}
	// With a reader that can't seek, minio-go does not retry. If the answer to a successful write
	// were lost, a retry would find the object of the first attempt, and report that another writer
	// had won.
	err = s.putOne(ctx, object, b, struct{ io.Reader }{bytes.NewReader(b)}, o)
	switch e := minio.ToErrorResponse(err); {
	case e.StatusCode == http.StatusPreconditionFailed,
		// Another write was in progress (Amazon S3, "Conditional writes").
		e.Code == "ConditionalRequestConflict",
		e.Code == minio.NoSuchKey: // there is a tag but no object
		return ErrChanged
	}
	return err
}

func (s *s3Store) Delete(ctx context.Context, key string) error {
	object, err := s.object(key)
	if err == nil {
		err = s.core.RemoveObject(ctx, s.bucket, object, minio.RemoveObjectOptions{})
	}
	if err != nil {
		if err = s.fail(ctx, "deleting", key, err); errors.Is(err, ErrNotExist) {
			return nil
		}
	}
	return err
}

func (s *s3Store) List(ctx context.Context, prefix string) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		if err := checkPrefix(prefix); err != nil {
			yield(Info{}, s.fail(ctx, "listing", prefix, err))
			return
		}
		noOwner := false
		o := minio.ListObjectsOptions{Prefix: s.prefix + prefix, Recursive: true, FetchOwner: &noOwner}
		for object := range s.core.ListObjectsIter(ctx, s.bucket, o) {
			if object.Err != nil {
				yield(Info{}, s.fail(ctx, "listing", prefix, object.Err))
				return
			}
			key := strings.TrimPrefix(object.Key, s.prefix)
			// "folder/", which some tools create, and other foreign objects.
			if checkKey(key) != nil {
				continue
			}
			if !yield(Info{Key: key, Size: object.Size, Modified: object.LastModified, ETag: object.ETag}, nil) {
				return
			}
		}
		if err := ctx.Err(); err != nil { // the listing ends without an error when ctx does
			yield(Info{}, s.fail(ctx, "listing", prefix, err))
		}
	}
}

// fail adds the operation and the place to an error, and translates it to one of this package.
func (s *s3Store) fail(ctx context.Context, doing, key string, err error) error {
	where := strings.TrimSpace(doing+" "+key) + " in " + s.where
	if errors.Is(err, ErrKey) { // omit the key: it may contain anything
		return fmt.Errorf("%s in %s: %w", doing, s.where, err)
	}
	if e := ctx.Err(); e != nil {
		return fmt.Errorf("%s: %w", where, e)
	}
	switch e := err.(type) {
	case minio.ErrorResponse:
		return fmt.Errorf("%s: %w", where, s3Failure(e.StatusCode, e.Code, e.Message, s.anonymous()))
	case *url.Error: // its text would repeat the whole address of the request
		if errors.Is(err, http.ErrSchemeMismatch) {
			return fmt.Errorf("%s: %w: the service speaks HTTP without TLS: add tls=false to the address of the store (%w)", where,
				ErrUnreachable, e.Err)
		}
		return fmt.Errorf("%s: %w: %w", where, ErrUnreachable, e.Err)
	}
	return fmt.Errorf("%s: %w", where, err)
}

// anonymous reports whether there are no credentials.
func (s *s3Store) anonymous() bool {
	v, err := s.creds.GetWithContext(nil)
	return err != nil || v.SignerType.IsAnonymous()
}
