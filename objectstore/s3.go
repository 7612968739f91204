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

// How long an endpoint is waited for. One that does not answer at all costs attempts times the time to connect, and the
// pauses between, under a second each: 8 s at the most.
const (
	attempts       = 3
	connectTimeout = 2 * time.Second
	answerTimeout  = 20 * time.Second // from the end of the request to the head of the answer
)

// partSize is what one request carries, in bytes. What is larger goes in parts of this size, and is joined at the end.
const partSize = MaxPutIf

// An s3Store keeps objects in a bucket, under a prefix. Conditional writes need an endpoint that has them: Amazon's, MinIO,
// versitygw, Ceph and R2 do.
type s3Store struct {
	core   minio.Core // one method a request: nothing is fetched that was not asked for
	creds  *credentials.Credentials
	bucket string
	prefix string // "" or ending in a slash
	where  string // for messages
}

func openS3(a s3Address) (Bucket, error) {
	if err := s3utils.CheckValidBucketName(a.bucket); err != nil || strings.Contains(a.bucket, ":") {
		return nil, fmt.Errorf("%w: the bucket's name is not a possible one", ErrAddress)
	}
	creds := credentials.NewChainCredentials([]credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}})
	client, err := minio.New(a.endpoint, &minio.Options{
		Creds: creds, Secure: a.tls, Region: a.region, Transport: transport(), MaxRetries: attempts,
	})
	if err != nil {
		return nil, fmt.Errorf("%w: the endpoint is not a possible one", ErrAddress)
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
		DisableCompression:    true, // objects come as they were stored
		ForceAttemptHTTP2:     true,
	}
}

// object is the key in the bucket.
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
	case n == 0: // no range of HTTP is empty (RFC 9110, section 14.1.1), but the object must be there
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
		err = errors.New("the endpoint does not know ranges")
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

// An s3Body is the body of an answer; that it breaks off is a failure of the network.
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
		// The answer to HEAD has no body that could say what is missing; that to a short listing has.
		if e := s.listOne(ctx, object); minio.ToErrorResponse(e).StatusCode == http.StatusNotFound {
			err = e
		}
	}
	if err != nil {
		return Info{}, s.fail(ctx, "looking at", key, err)
	}
	return Info{Key: key, Size: o.Size, Modified: o.LastModified, ETag: o.ETag}, nil
}

// listOne lists at most one object, for the error that comes of it.
func (s *s3Store) listOne(ctx context.Context, prefix string) error {
	for o := range s.core.ListObjectsIter(ctx, s.bucket, minio.ListObjectsOptions{Prefix: prefix, Recursive: true, MaxKeys: 1}) {
		return o.Err
	}
	return nil
}

// Put sends what fits into one request as one, signed with its hash, and all else in parts.
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
	// The size is not passed on, so that content is read to its end, where it tells whether it was complete. An MD5 guards
	// each part: without signed chunks (see putOne) nothing else would over plain HTTP.
	_, err := s.core.Client.PutObject(ctx, s.bucket, object, io.MultiReader(&head, content), -1, minio.PutObjectOptions{
		PartSize: partSize, DisableContentSha256: true, SendContentMd5: true,
	})
	return err
}

// putOne sends b, which r reads, in one request. The signature covers its hash. Over plain HTTP minio-go would otherwise sign
// chunk by chunk, and some services store the marks between the chunks (Content-Encoding: aws-chunked) with the object.
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
	// A reader that can't seek is sent once: after a write whose answer was lost, a second try would meet its own object
	// and report that another writer had won.
	err = s.putOne(ctx, object, b, struct{ io.Reader }{bytes.NewReader(b)}, o)
	switch e := minio.ToErrorResponse(err); {
	case e.StatusCode == http.StatusPreconditionFailed,
		e.Code == "ConditionalRequestConflict", // another write was under way (Amazon S3, "Conditional writes")
		e.Code == minio.NoSuchKey:              // a tag was given, and there is no object
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
			if checkKey(key) != nil { // "folder/" that some tools make, and what is not ours
				continue
			}
			if !yield(Info{Key: key, Size: object.Size, Modified: object.LastModified, ETag: object.ETag}, nil) {
				return
			}
		}
		if err := ctx.Err(); err != nil { // at which the listing has just ended
			yield(Info{}, s.fail(ctx, "listing", prefix, err))
		}
	}
}

// fail says what was being done where, and tells apart what went wrong.
func (s *s3Store) fail(ctx context.Context, doing, key string, err error) error {
	where := strings.TrimSpace(doing+" "+key) + " in " + s.where
	if errors.Is(err, ErrKey) { // the key itself may be anything, and is left out
		return fmt.Errorf("%s in %s: %w", doing, s.where, err)
	}
	if e := ctx.Err(); e != nil {
		return fmt.Errorf("%s: %w", where, e)
	}
	switch e := err.(type) {
	case minio.ErrorResponse:
		return fmt.Errorf("%s: %w", where, s3Failure(e.StatusCode, e.Code, e.Message, s.anonymous()))
	case *url.Error: // whose own text has the whole address of the request in it
		return fmt.Errorf("%s: %w: %w", where, ErrUnreachable, e.Err)
	}
	return fmt.Errorf("%s: %w", where, err)
}

// anonymous reports whether no credentials were found.
func (s *s3Store) anonymous() bool {
	v, err := s.creds.GetWithContext(nil)
	return err != nil || v.SignerType.IsAnonymous()
}
