package apps

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/iconedge/iconedge/test/harness"
)

const apache = "/usr/sbin/apache2"

var cloud = recipe{
	title: "Nextcloud and other WebDAV servers", server: "sabre/dav with Apache and PHP", client: "Chromium, curl and rclone",
	did: "two people at once, under the same addresses: folders, an upload of 100 MB by a form and by PUT with and without its length, a " +
		"download broken off and resumed, moved, copied and deleted; lists in content codings 200 times at once; a folder " +
		"of 60 files synchronised",
	versions: func(t *testing.T) (string, string) { return debianVersion(t, "php-sabre-dav"), "" },
	start: func(v *visit) []string {
		need(v.T, "rclone")
		root := harness.OpenDir(v.T)
		v.install(filepath.Join(root, "www", "remote.php"), testdata(v.T, "cloud.php"))
		if err := os.Mkdir(filepath.Join(root, "files"), 0o777); err != nil {
			v.Fatal(err)
		}
		os.Chmod(filepath.Join(root, "files"), 0o777)
		server := startServer(v.T, "httpd-php.conf", filepath.Join(root, "www"), apache, "-D", "FOREGROUND", "-f", "{config}")
		return []string{"http://10.0.0.5:8080", server}
	},
	visit: visitCloud,
}

// install copies a file, with the folders above it.
func (v *visit) install(to, from string) {
	v.Helper()
	content, err := os.ReadFile(from)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(to), 0o755)
	}
	if err == nil {
		err = os.WriteFile(to, content, 0o644)
	}
	if err != nil {
		v.Fatal(err)
	}
}

func visitCloud(v *visit) {
	if location := v.noFollow("/.well-known/caldav").Header.Get("Location"); location != "/remote.php/dav/" {
		v.Errorf("caldav is at %q", location)
	}
	var all sync.WaitGroup
	for i, name := range []string{"ada", "bob"} {
		b := v.person()
		all.Go(func() { v.useCloud(name, b, random(byte(i), 100<<20)) })
	}
	all.Wait()
	if v.Failed() {
		return
	}
	v.listsAtOnce()
	if v.authority == "" {
		password := strings.TrimSpace(v.run("rclone", "obscure", "secret"))
		v.rclone(":webdav,url='" + v.base + "/remote.php/dav/',vendor=nextcloud,user=cleo,pass=" + password + ":")
	}
}

// noFollow returns the response to a GET, also if it is a redirect.
func (v *visit) noFollow(path string) *http.Response {
	v.Helper()
	c := v.httpClient()
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := c.Get(v.base + path)
	if err != nil {
		v.Fatal(err)
	}
	resp.Body.Close()
	return resp
}

// useCloud is what one person does.
func (v *visit) useCloud(name string, b tab, film []byte) {
	root := v.base + "/remote.php/dav/"
	curl := func(args ...string) string {
		v.Helper()
		return v.curl(append([]string{"-u", name + ":secret"}, args...)...)
	}
	sum := fmt.Sprintf("%x", sha256.Sum256(film))
	v.write(name+".film", film)

	// By the pages of the browser: a folder, and an upload by a form.
	b.open(strings.Replace(root, "://", "://"+name+":secret@", 1))
	b.until(`document.forms.length == 2`)
	do(b, chromedp.Evaluate[any](`(() => {
		const form = document.querySelector("[value=mkcol]").form
		form.elements.name.value = "films of `+name+`"
		form.submit()
	})()`))
	b.until(`document.body.innerText.includes("films of ` + name + `")`)
	b.open(root + "films%20of%20" + name + "/")
	b.until(`document.forms.length == 2`)
	do(b, chromedp.Evaluate[any](`(() => {
		const form = document.querySelector("[value=put]").form, transfer = new DataTransfer()
		transfer.items.add(new File([new Uint8Array(100 << 20)], "zeros.bin"))
		form.elements.file.files = transfer.files
		form.submit()
	})()`))
	b.until(`document.body.innerText.includes("zeros.bin")`)

	// By PUT, with its length and in chunks, broken off and resumed.
	for i, how := range [][]string{nil, {"-H", "Transfer-Encoding: chunked"}} {
		to := fmt.Sprintf("%sfilms%%20of%%20%s/%d.bin", root, name, i)
		if v.authority != "" {
			how = nil // HTTP/2 has no chunks
		}
		args := append([]string{"-o", "/dev/null", "-w", "%{http_code}", "-T", name + ".film", to}, how...)
		if status := curl(args...); status != "201" {
			v.Errorf("%s: the upload has status %s", name, status)
			return
		}
	}
	for _, step := range []struct{ method, from, to, want string }{
		{"MOVE", "0.bin", "moved.bin", "201"},
		{"COPY", "moved.bin", "copy.bin", "201"},
		{"DELETE", "1.bin", "", "204"},
	} {
		at := root + "films%20of%20" + name + "/"
		status := curl("-o", "/dev/null", "-w", "%{http_code}", "-X", step.method, "-H", "Destination: "+at+step.to, at+step.from)
		if status != step.want {
			v.Errorf("%s %s has status %s", step.method, step.from, status)
		}
	}
	from := root + "films%20of%20" + name + "/copy.bin"
	part := name + ".part"
	v.write(part, film[:30<<20]) // as of a download that was broken off
	curl("-f", "-C", "-", "-o", part, from)
	if got, err := os.ReadFile(filepath.Join(v.dir, part)); err != nil || fmt.Sprintf("%x", sha256.Sum256(got)) != sum {
		v.Errorf("%s: the resumed download has %d bytes that are not the film: %v", name, len(got), err)
	}
	b.open(root)
	other := map[string]string{"ada": "bob", "bob": "ada"}[name]
	if page := b.text(`document.body.innerText`); !strings.Contains(page, "films of "+name) || strings.Contains(page, "films of "+other) {
		v.Errorf("%s sees %s", name, page)
	}
}

// listsAtOnce lists the folders of both people at the same time, with every content coding, and
// fails the test if one got the list of the other.
func (v *visit) listsAtOnce() {
	v.Helper()
	c := v.httpClient()
	var all sync.WaitGroup
	slots, coded := make(chan struct{}, 20), make(chan struct{}, 1000)
	for i := range 200 {
		name, other := "ada", "bob"
		if i%2 == 1 {
			name, other = other, name
		}
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			req, err := http.NewRequestWithContext(v.Context(), "PROPFIND", v.base+"/remote.php/dav/", nil)
			if i%4 > 1 {
				req, err = http.NewRequestWithContext(v.Context(), "GET", v.base+"/remote.php/dav/", nil)
			}
			if err != nil {
				v.Error(err)
				return
			}
			req.Header.Set("Depth", "1")
			req.Header.Set("Accept-Encoding", []string{"br", "zstd", "gzip"}[i%3])
			req.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(name+":secret")))
			resp, err := c.Do(req)
			if err != nil {
				v.Error(err)
				return
			}
			defer resp.Body.Close()
			body, coding, err := readDecoded(resp)
			if coding != "" {
				coded <- struct{}{}
			}
			mine, others := bytes.Contains(body, []byte("films%20of%20"+name)), bytes.Contains(body, []byte(other))
			if err != nil || resp.StatusCode >= 300 || !mine || others {
				v.Errorf("%s got status %d, %v: %.300s", name, resp.StatusCode, err, body)
			}
		})
	}
	all.Wait()
	if len(coded) == 0 {
		v.Error("no list came in a content coding")
	}
}
