package apps

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"golang.org/x/net/webdav"

	"github.com/iconedge/iconedge/objectstore/storetest"
	"github.com/iconedge/iconedge/test/harness"
)

const bucket = "files"

// startS3 starts versitygw and returns its address.
func startS3(t *testing.T) string {
	t.Helper()
	address, err := url.Parse(storetest.S3(t))
	if err != nil {
		t.Fatal(err)
	}
	return "http://" + address.Query().Get("endpoint")
}

func minioClient(v *visit) *minio.Client {
	v.Helper()
	transport, err := minio.DefaultTransport(v.authority != "")
	if err == nil && v.authority != "" {
		transport.TLSClientConfig = trust(v.T, v.authority)
	}
	if err != nil {
		v.Fatal(err)
	}
	client, err := minio.New(v.host(), &minio.Options{Creds: credentials.NewStaticV4(storetest.AccessKey, storetest.SecretKey, ""),
		Secure: v.authority != "", Region: "us-east-1", Transport: transport, MaxRetries: 1})
	if err != nil {
		v.Fatal(err)
	}
	return client
}

const versityVersion = "1.8.0"

var s3 = application{
	name: "versitygw (S3)", client: "minio-go", tls: true, alone: true,
	nginx: `proxy_set_header Host $http_host; proxy_http_version 1.1; client_max_body_size 0; proxy_request_buffering off; proxy_buffering off;`,
	did:   "puts, a multipart upload of 21 MB, gets, ranges, conditions, copies, lists, presigned URLs, tags, deletes",
	versions: func(t *testing.T) (string, string) {
		return versityVersion, moduleVersion(t, "github.com/minio/minio-go/v7")
	},
	start: startS3,
	visit: func(v *visit) {
		ctx, c := v.Context(), minioClient(v)
		v.same = s3IDs
		must := func(err error) {
			v.Helper()
			if err != nil {
				v.Fatal(err)
			}
		}
		must(c.MakeBucket(ctx, bucket, minio.MakeBucketOptions{}))
		put := func(key string, content []byte, more minio.PutObjectOptions) {
			v.Helper()
			info, err := c.PutObject(ctx, bucket, key, bytes.NewReader(content), int64(len(content)), more)
			must(err)
			v.saw("put "+key, fmt.Append(nil, info.ETag, info.Size))
		}
		get := func(key string, o minio.GetObjectOptions) {
			v.Helper()
			object, err := c.GetObject(ctx, bucket, key, o)
			must(err)
			content, err := io.ReadAll(object)
			v.saw(fmt.Sprint("get ", key, o.Header()), content)
			if err != nil {
				v.saw("error", []byte(minio.ToErrorResponse(err).Code))
			}
		}
		put("empty", nil, minio.PutObjectOptions{})
		put("folder/a b+c%é.txt", []byte("odd"), minio.PutObjectOptions{ContentType: "text/plain",
			UserMetadata: map[string]string{"colour": "green"}, CacheControl: "public, max-age=60"})
		put("large", random(4, 21<<20), minio.PutObjectOptions{PartSize: 8 << 20})
		put("unsigned", random(5, 3<<20), minio.PutObjectOptions{DisableContentSha256: true, SendContentMd5: true})
		for range 2 {
			for _, key := range []string{"empty", "folder/a b+c%é.txt", "large", "unsigned", "none"} {
				get(key, minio.GetObjectOptions{})
			}
		}
		var part, match, noMatch minio.GetObjectOptions
		must(part.SetRange(9<<20, 12<<20))
		get("large", part)
		must(match.SetMatchETag("0123"))
		get("unsigned", match)
		info, err := c.StatObject(ctx, bucket, "unsigned", minio.StatObjectOptions{})
		must(err)
		must(noMatch.SetMatchETagExcept(info.ETag))
		get("unsigned", noMatch)
		_, err = c.CopyObject(ctx, minio.CopyDestOptions{Bucket: bucket, Object: "copy"},
			minio.CopySrcOptions{Bucket: bucket, Object: "unsigned"})
		must(err)
		get("copy", minio.GetObjectOptions{})
		signed, err := c.PresignedGetObject(ctx, bucket, "folder/a b+c%é.txt", time.Hour,
			url.Values{"response-content-disposition": {`attachment; filename="x"`}})
		must(err)
		v.fetch("GET", signed.String(), nil)
		signed, err = c.PresignedPutObject(ctx, bucket, "presigned", time.Hour)
		must(err)
		v.fetch("PUT", signed.String(), []byte("uploaded by a browser"))
		v.fetch("GET", v.base+"/"+bucket+"/presigned", nil) // not signed: 403
		get("presigned", minio.GetObjectOptions{})
		for object := range c.ListObjects(ctx, bucket, minio.ListObjectsOptions{Recursive: true, WithMetadata: true}) {
			must(object.Err)
			v.saw("list", fmt.Append(nil, object.Key, object.Size, object.ETag))
		}
		must(c.RemoveObject(ctx, bucket, "copy", minio.RemoveObjectOptions{}))
		get("copy", minio.GetObjectOptions{})
		keys := c.ListObjects(ctx, bucket, minio.ListObjectsOptions{Recursive: true})
		for e := range c.RemoveObjects(ctx, bucket, keys, minio.RemoveObjectsOptions{}) {
			must(e.Err)
		}
		must(c.RemoveBucket(ctx, bucket))
	},
}

// fetch sends a request and records status and body of the response.
func (v *visit) fetch(method, address string, body []byte, fields ...string) *http.Response {
	v.Helper()
	ctx, cancel := context.WithTimeout(v.Context(), harness.Longest)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		v.Fatal(err)
	}
	for i := 0; i+1 < len(fields); i += 2 {
		req.Header.Set(fields[i], fields[i+1])
	}
	resp, err := v.httpClient().Do(req)
	if err != nil {
		v.Fatal(err)
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	if err != nil {
		v.Fatal(err)
	}
	path, _, _ := strings.Cut(address, "?")
	v.saw(method+" "+strings.TrimPrefix(path, v.base)+" "+strconv.Itoa(resp.StatusCode), content)
	return resp
}

var s3Rclone = application{
	name: "versitygw (S3) with rclone", client: "rclone", large: true,
	nginx:    `proxy_set_header Host $http_host; proxy_http_version 1.1; client_max_body_size 0; proxy_request_buffering off; proxy_buffering off;`,
	did:      "a folder of 60 files up to 20 MB copied, checked with --download, changed, synchronised, and copied back",
	versions: func(t *testing.T) (string, string) { return versityVersion, debianVersion(t, "rclone") },
	start: func(t *testing.T) string {
		need(t, "rclone")
		return startS3(t)
	},
	visit: func(v *visit) {
		remote := ":s3,provider=Other,access_key_id=" + storetest.AccessKey + ",secret_access_key=" +
			storetest.SecretKey + ",endpoint='" + v.base + "':" + bucket
		v.run("rclone", "mkdir", remote)
		v.rclone(remote)
	},
}

// rclone copies a folder to a remote, changes it, synchronises it, and copies it back.
func (v *visit) rclone(remote string) {
	local, back := filepath.Join(v.dir, "local"), filepath.Join(v.dir, "back")
	for i := range 60 {
		v.write(filepath.Join("local", fmt.Sprint("folder ", i%5), fmt.Sprintf("file+%d é.bin", i)), random(byte(i), 1+i*i*50))
	}
	v.write("local/large", random(100, 20<<20))
	v.run("rclone", "copy", "--retries=1", local, remote)
	v.run("rclone", "check", "--download", "--one-way", local, remote)
	if err := os.RemoveAll(filepath.Join(local, "folder 1")); err != nil {
		v.Fatal(err)
	}
	v.write("local/folder 2/new", []byte("new"))
	v.write("local/large", random(101, 9<<20))
	v.run("rclone", "sync", "--retries=1", local, remote)
	v.run("rclone", "check", "--download", local, remote)
	list := strings.Split(v.run("rclone", "lsf", "--recursive", "--format=ps", remote), "\n")
	slices.Sort(list)
	v.saw("list", []byte(strings.Join(list, "\n")))
	v.run("rclone", "copy", "--retries=1", remote, back)
	v.sawTree("copied back", back)
}

// write writes a file in the folder of the client.
func (v *visit) write(name string, content []byte) {
	v.Helper()
	path := filepath.Join(v.dir, filepath.FromSlash(name))
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, content, 0o644)
	}
	if err == nil {
		err = os.Chtimes(path, fixedTime, fixedTime)
	}
	if err != nil {
		v.Fatal(err)
	}
}

var gitHTTP = application{
	name: "Git over HTTP (git http-backend)", client: "git", tls: true,
	nginx:    `proxy_set_header Host $http_host; proxy_http_version 1.1; client_max_body_size 0; proxy_request_buffering off;`,
	did:      "clones, whole and shallow, pushes of 12 MB in chunks and with their length, tags, a rebased branch, a fetch, git fsck",
	versions: func(t *testing.T) (string, string) { return versionOf(t, "git", "--version"), "" },
	start: func(t *testing.T) string {
		need(t, "git")
		root := t.TempDir()
		v := &visit{T: t, dir: root}
		v.run("git", "init", "--quiet", "--bare", "--initial-branch=main", "project.git")
		programs := strings.TrimSpace(v.run("git", "--exec-path"))
		backend := &cgi.Handler{Path: filepath.Join(programs, "git-http-backend"),
			Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=ada",
				"HOME=" + root, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"},
			InheritEnv: []string{"GIT_PROTOCOL"}}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			// CGI has no chunks: the handler collects them, as web servers do for CGI.
			body, err := io.ReadAll(r.Body)
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
			backend.Env = backend.Env[:len(backend.Env):len(backend.Env)]
			one := *backend
			one.Env = append(one.Env, "GIT_PROTOCOL="+r.Header.Get("Git-Protocol"))
			one.ServeHTTP(w, r)
		}))
		t.Cleanup(server.Close)
		return server.URL
	},
	visit: func(v *visit) {
		remote := v.base + "/project.git"
		day := 0
		git := func(folder string, args ...string) string {
			v.Helper()
			day++
			date := fmt.Sprintf("2026-01-01T%02d:%02d:00Z", day/60, day%60)
			environment := []string{"GIT_AUTHOR_DATE=" + date, "GIT_COMMITTER_DATE=" + date, "GIT_AUTHOR_NAME=Ada",
				"GIT_AUTHOR_EMAIL=ada@example.org", "GIT_COMMITTER_NAME=Ada",
				"GIT_COMMITTER_EMAIL=ada@example.org", "GIT_TERMINAL_PROMPT=0", "GIT_SSL_CAINFO=" + v.authority,
				"GIT_CONFIG_GLOBAL=/dev/null"}
			output, err := v.try(environment, "git", append([]string{"-C", filepath.Join(v.dir, folder)}, args...)...)
			if err != nil {
				v.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, output)
			}
			return output
		}
		git("", "clone", "--quiet", remote, "first") // empty
		git("first", "checkout", "--quiet", "-B", "main")
		commit := func(folder, message string) {
			git(folder, "add", ".")
			git(folder, "commit", "--quiet", "-m", message)
		}
		v.write("first/readme", []byte("a project"))
		commit("first", "small")
		git("first", "push", "--quiet", "origin", "main")
		large, commits := 3, 4
		if whole() {
			large, commits = 12, 30
		}
		// The first of the large pushes goes in chunks, because it is longer than http.postBuffer,
		// the second with its length, over HTTP/2 where the server speaks that. In chunks over
		// HTTP/2, Git with libcurl 7.84 to 8.1.2 waits for itself without end if its socket is full
		// at the end of the push, with nginx too (https://github.com/git/git/pull/1608).
		for i, by := range []string{"http.version=HTTP/1.1", "http.postBuffer=64m"} {
			for j := range large {
				n := i*large + j // new files, because Git sees no change within a second
				v.write(fmt.Sprintf("first/large/%d", n), random(byte(n), 1<<20))
			}
			commit("first", fmt.Sprint("large ", i))
			git("first", "-c", by, "push", "--quiet", "origin", "main")
		}
		git("", "clone", "--quiet", remote, "second")
		for i := range commits {
			v.write("second/readme", bytes.Repeat([]byte("change\n"), i+1))
			commit("second", fmt.Sprint("change ", i))
			git("second", "tag", fmt.Sprint("v", i))
		}
		git("second", "push", "--quiet", "origin", "main", "--tags")
		git("first", "pull", "--quiet", "--ff-only", "origin", "main")
		git("first", "fetch", "--quiet", "--tags")
		git("second", "commit", "--quiet", "--amend", "-m", "rebased")
		git("second", "push", "--quiet", "--force", "origin", "main", ":v0")
		git("", "clone", "--quiet", "--depth=3", remote, "shallow")
		git("shallow", "fetch", "--quiet", "--unshallow")
		for _, folder := range []string{"first", "second", "shallow"} {
			git(folder, "fetch", "--quiet", "--prune", "origin")
			v.saw(folder, []byte(git(folder, "log", "--format=%H %s", "origin/main")+
				git(folder, "fsck", "--full", "--no-progress", "--no-dangling")+git(folder, "rev-parse", "HEAD^{tree}")))
			v.sawTree(folder, filepath.Join(v.dir, folder), ".git")
		}
		v.saw("ls-remote", []byte(git("", "ls-remote", remote)))
		v.saw("ls-remote, version 0", []byte(git("", "-c", "protocol.version=0", "ls-remote", remote)))
	},
}

// webDAVGo needs no installation: its client is this test.
var webDAVGo = application{
	name: "WebDAV of golang.org/x/net", client: "net/http", tls: true,
	nginx:    `proxy_set_header Host $http_host; proxy_http_version 1.1; client_max_body_size 0; proxy_request_buffering off;`,
	did:      "OPTIONS, MKCOL, PUT of 10 MB, PROPFIND, PROPPATCH, LOCK, COPY, MOVE, UNLOCK, DELETE",
	versions: func(t *testing.T) (string, string) { return moduleVersion(t, "golang.org/x/net"), "" },
	start: func(t *testing.T) string {
		server := httptest.NewServer(&webdav.Handler{FileSystem: webdav.Dir(t.TempDir()), LockSystem: webdav.NewMemLS()})
		t.Cleanup(server.Close)
		return server.URL
	},
	visit: func(v *visit) {
		resp := v.fetch("OPTIONS", v.base+"/", nil)
		v.saw("Allow", []byte(resp.Header.Get("Allow")+resp.Header.Get("DAV")))
		v.fetch("MKCOL", v.base+"/folder", nil)
		v.fetch("MKCOL", v.base+"/folder", nil) // 405
		v.fetch("PUT", v.base+"/folder/large", random(1, 10<<20))
		v.fetch("GET", v.base+"/folder/large", nil)
		v.fetch("GET", v.base+"/folder/large", nil, "Range", "bytes=5000000-5000999")
		const lock = `<?xml version="1.0"?><lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype><owner>ada</owner></lockinfo>`
		resp = v.lock("/folder/large", lock)
		token := resp.Header.Get("Lock-Token")
		v.fetch("PUT", v.base+"/folder/large", []byte("locked")) // 423
		v.fetch("PUT", v.base+"/folder/large", []byte("changed"), "If", "("+token+")")
		v.fetch("GET", v.base+"/folder/large", nil)
		v.fetch("UNLOCK", v.base+"/folder/large", nil, "Lock-Token", token)
		v.fetch("COPY", v.base+"/folder", nil, "Destination", v.base+"/copy", "Depth", "infinity")
		v.fetch("MOVE", v.base+"/copy/large", nil, "Destination", v.base+"/copy/small", "Overwrite", "F")
		v.fetch("GET", v.base+"/copy/small", nil)
		v.fetch("GET", v.base+"/copy/large", nil)
		v.fetch("PROPFIND", v.base+"/copy", []byte(
			`<?xml version="1.0"?><propfind xmlns="DAV:"><prop><getcontentlength/><resourcetype/></prop></propfind>`), "Depth", "1")
		v.fetch("DELETE", v.base+"/copy", nil)
		v.fetch("PROPFIND", v.base+"/copy", nil, "Depth", "0")
	},
}

// lock sends a LOCK; its response has a random token, which is not compared.
func (v *visit) lock(path, body string) *http.Response {
	v.Helper()
	req, err := http.NewRequestWithContext(v.Context(), "LOCK", v.base+path, strings.NewReader(body))
	if err != nil {
		v.Fatal(err)
	}
	req.Header.Set("Timeout", "Second-600")
	resp, err := v.httpClient().Do(req)
	if err != nil {
		v.Fatal(err)
	}
	resp.Body.Close()
	v.saw("LOCK", []byte(resp.Status))
	return resp
}

// need skips the test if a program is not installed.
func need(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		harness.Missing(t, "%s is not installed: `make apps` installs it as root", program)
	}
}

// debianVersion returns the version of an installed Debian package, without Debian's own revision.
func debianVersion(t *testing.T, name string) string {
	t.Helper()
	output, err := exec.Command("dpkg-query", "--show", "--showformat=${Version}", name).Output()
	if err != nil {
		t.Fatalf("reading the version of %s: %v", name, err)
	}
	return number.FindString(string(output))
}

func moduleVersion(t *testing.T, module string) string {
	t.Helper()
	output, err := exec.Command("go", "list", "-m", "-f", "{{.Version}}", module).Output()
	if err != nil {
		t.Fatalf("reading the version of %s: %v", module, err)
	}
	return strings.TrimPrefix(strings.TrimSpace(string(output)), "v")
}
