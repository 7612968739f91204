package apps

import (
	"bytes"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/signer"

	"github.com/iconedge/iconedge/objectstore/storetest"
)

// sameNginx replaces the boundaries of several ranges, and Expires, which is an hour after the
// response.
func sameNginx(text string) string { return nginxIDs.ReplaceAllString(text, "…") }

var nginxIDs = regexp.MustCompile(`boundary=\d+|(?m)^--\d+|Expires: .*`)

var differNginx = differ{
	name:    "nginx, static files",
	version: func(t *testing.T) string { return versionOf(t, nginxPath(), "-v") },
	large:   true,
	start:   func(t *testing.T) string { return startNginx(t, staticFiles(t)) },
	corpus: func(t *testing.T, origin string) corpus {
		c := corpus{did: "files with and without a lifetime, listings, gzip, redirects, errors", same: sameNginx}
		for _, folder := range []string{"", "/expires", "/listed", "/gzip"} {
			for _, file := range []string{"/page.html", "/folder/", "/folder", "/style.css", "/data.json",
				"/empty.txt", "/one.txt", "/a%20b+c%2520%C3%A9.txt", "/script.js", "/large.bin", "/none", "/", "/video.webm"} {
				c.pages = append(c.pages, folder+file)
			}
		}
		c.pages = append(c.pages, "/gone/a", "/moved/a?b=c", "/page.html?v=1", "/expires/page.html?v=2")
		c.uploads = []string{"/page.html", "/expires/style.css", "/none"}
		c.odd = []string{"/./page.html", "/folder/../page.html", "/%70age.html", "/page.html/", "/page.html%00",
			"/%zz", "/page.html?", "/page.html;a=b", "/../page.html", "/folder/%2e%2e/page.html",
			"/PAGE.html", "/folder%2Findex.html", "/" + strings.Repeat("long", 500)}
		return c
	},
}

var differNext = differ{
	name:    "Next.js, pages",
	version: func(t *testing.T) string { return npmVersion(t, npmLarge(t, "next")) },
	large:   true,
	start:   startNext,
	corpus: func(t *testing.T, origin string) corpus {
		c := corpus{did: "static, revalidated, and dynamic pages, their data (RSC), images, routes, redirects", same: sameNext}
		c.pages = []string{"/", "/isr", "/isr?q=1", "/dynamic", "/dynamic?q=%C3%BC", "/dynamic?q=<b>", "/picture",
			"/actions", "/picture.png", "/api/data", "/api/data?a=1&b=2", "/rewritten?c=3", "/none", "/old/a/b",
			"/_next/image?url=%2Fpicture.png&w=256&q=75", "/_next/image?url=%2Fpicture.png&w=1&q=75",
			"/_next/static/none.js", "/isr/", "/favicon.ico", "/api/data/"}
		c.uploads = []string{"/api/data", "/none"}
		c.odd = []string{"/%69sr", "/isr;a=b", "/isr?", "/dynamic?q=a&q=b", "/dynamic?q=a+b%20c", "/_next/image",
			"/_next/image?url=http%3A%2F%2Fother.example%2Fa.png&w=256&q=75", "/DYNAMIC"}
		return c
	},
}

// sameNext replaces the identifiers of each rendering, and a member of Vary that Next.js adds to a
// 200 but not to its 304.
func sameNext(text string) string { return nextIDs.ReplaceAllString(text, "") }

var nextIDs = regexp.MustCompile(`"digest":"\d+"|, Accept-Encoding$`)

var differS3 = differ{
	name:    "versitygw, signed requests",
	version: func(t *testing.T) string { return versityVersion },
	large:   true,
	start:   startS3,
	corpus: func(t *testing.T, origin string) corpus {
		v := &visit{T: t, base: origin}
		client := minioClient(v)
		put := func(key string, content []byte, o minio.PutObjectOptions) {
			t.Helper()
			if _, err := client.PutObject(t.Context(), bucket, key, bytes.NewReader(content), int64(len(content)), o); err != nil {
				t.Fatal(err)
			}
		}
		if err := client.MakeBucket(t.Context(), bucket, minio.MakeBucketOptions{}); err != nil {
			t.Fatal(err)
		}
		put("page.html", []byte("<p>a page"), minio.PutObjectOptions{ContentType: "text/html", CacheControl: "public, max-age=60"})
		put("folder/a b+c%é", random(1, 5000), minio.PutObjectOptions{UserMetadata: map[string]string{"colour": "green"}})
		put("large", random(2, 400_000), minio.PutObjectOptions{})
		put("empty", nil, minio.PutObjectOptions{CacheControl: "no-cache"})
		c := corpus{did: "objects, their parts, lists, errors", same: sameS3, sign: signS3, name: publicly}
		for _, key := range []string{"page.html", "folder/a%20b%2Bc%25%C3%A9", "large", "empty", "none", "folder/"} {
			c.pages = append(c.pages, "/"+bucket+"/"+key)
		}
		c.pages = append(c.pages, "/", "/"+bucket, "/"+bucket+"?list-type=2",
			"/"+bucket+"?list-type=2&prefix=folder%2F&delimiter=%2F", "/"+bucket+"?location=", "/none",
			"/"+bucket+"/large?partNumber=1", "/"+bucket+"/page.html?response-content-type=text%2Fplain")
		return c
	},
}

// signS3 returns the fields of a signed request without a body.
func signS3(method, target string) (fields [][2]string) {
	u, err := url.ParseRequestURI(target)
	if err != nil {
		return nil
	}
	u.Scheme, u.Host = "http", publicly
	req := &http.Request{Method: method, URL: u, Host: publicly, Header: http.Header{"X-Amz-Content-Sha256": {"UNSIGNED-PAYLOAD"}}}
	signed := signer.SignV4(*req, storetest.AccessKey, storetest.SecretKey, "", "us-east-1")
	for _, name := range []string{"X-Amz-Content-Sha256", "X-Amz-Date", "Authorization"} {
		fields = append(fields, [2]string{name, signed.Header.Get(name)})
	}
	return fields
}

// sameS3 replaces the identifiers of each response, and the time in errors.
func sameS3(text string) string { return s3IDs.ReplaceAllString(text, "…") }

var s3IDs = regexp.MustCompile(`<(RequestId|HostId)>[^<]*|X-Amz-(Request-Id|Id-2): .*|<CreationDate>[^<]*`)
