package apps

import (
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"text/template"

	"github.com/chromedp/chromedp"

	"github.com/iconedge/iconedge/test/harness"
)

const mariaDB = "/usr/sbin/mariadbd"

// stopDatabase ends the database of the WordPress that runs.
var stopDatabase func()

var wordPress = recipe{
	title: "WordPress", server: "WordPress with Apache, PHP and MariaDB", client: "Chromium and net/http",
	did: "two people at once: log in, a post and a film of 100 MB by the interface of the editor, the bar with their name; readers: " +
		"pages from the cache, a comment that waits, a post with a password, 400 pages of all three at the same time in content " +
		"codings; the database down",
	versions: func(t *testing.T) (string, string) { return debianVersion(t, "wordpress"), chromiumVersion(t) },
	start:    startWordPress,
	visit:    visitWordPress,
}

// startWordPress installs WordPress into an empty database, at the public address.
func startWordPress(v *visit) []string {
	for _, program := range []string{mariaDB, "mariadb-install-db", "php"} {
		need(v.T, program)
	}
	if _, err := os.Stat("/usr/share/wordpress/wp-load.php"); err != nil {
		harness.Missing(v.T, "WordPress is not installed: run `make apps` as root, which installs it")
	}
	dir := harness.OpenDir(v.T)
	www, data, socket := filepath.Join(dir, "www"), filepath.Join(dir, "data"), filepath.Join(dir, "socket")
	v.run("cp", "-rL", "/usr/share/wordpress", www)
	v.run("chmod", "-R", "a+rwX", www)
	v.run("mariadb-install-db", "--no-defaults", "--datadir="+data, "--auth-root-authentication-method=normal", "--skip-test-db",
		"--user=root")
	ctx, stop := context.WithCancel(v.Context())
	log := harness.StartOther(v.T, exec.CommandContext(ctx, mariaDB, "--no-defaults", "--user=root", "--datadir="+data, "--skip-networking",
		"--socket="+socket, "--pid-file="+filepath.Join(dir, "pid"), "--innodb-flush-log-at-trx-commit=0"))
	stopDatabase = stop
	harness.Eventually(v.T, "MariaDB answers", func() bool {
		_, err := v.try(nil, "mariadb", "--no-defaults", "--socket="+socket, "--user=root", "-e",
			"CREATE DATABASE IF NOT EXISTS wordpress CHARACTER SET utf8mb4")
		return err == nil
	})
	text, err := template.ParseFiles(testdata(v.T, "wp-config.php"))
	if err != nil {
		v.Fatal(err)
	}
	out, err := os.Create(filepath.Join(www, "wp-config.php"))
	if err == nil {
		err = text.Execute(out, map[string]string{"Socket": socket, "Address": v.base})
		out.Close()
	}
	if err != nil {
		v.Fatal(err)
	}
	if output := v.run("php", testdata(v.T, "wordpress.php"), www, v.base); !strings.HasSuffix(output, "installed") {
		v.Fatalf("installing WordPress: %s\n%s", output, log)
	}
	rewrite := "RewriteEngine On\nRewriteCond %{REQUEST_FILENAME} !-f\nRewriteCond %{REQUEST_FILENAME} !-d\nRewriteRule . /index.php [L]\n"
	if err := os.WriteFile(filepath.Join(www, ".htaccess"), []byte(rewrite), 0o644); err != nil {
		v.Fatal(err)
	}
	v.run("chmod", "-R", "a+rwX", www)
	return []string{"http://10.0.0.5:8080", startServer(v.T, "httpd-php.conf", www, apache, "-D", "FOREGROUND", "-f", "{config}")}
}

func visitWordPress(v *visit) {
	reader := v.reader()
	first := reader.page("/")
	harness.Eventually(v.T, "a hit for readers", func() bool {
		again := reader.page("/")
		return strings.Contains(again.status, "; hit") && again.text == first.text
	})
	people := map[string]tab{"ada": v.person(), "bob": v.person()}
	var all sync.WaitGroup
	for name, b := range people {
		all.Go(func() { v.useWordPress(name, b) })
	}
	all.Wait()
	if v.Failed() {
		return
	}
	for name := range people {
		page := reader.page("/post-of-" + name + "/")
		if page.code != http.StatusOK || !strings.Contains(page.text, "Words of "+name) || strings.Contains(page.text, "wpadminbar") {
			v.Errorf("a reader gets the post of %s with status %d: %.200s", name, page.code, page.text)
		}
	}
	v.comment(reader)
	v.friends(reader)
	v.readAtOnce(people)

	stopDatabase() // visitors still see the pages that were stored
	tries := 0
	harness.Eventually(v.T, "the end of the database", func() bool {
		tries++
		return v.reader().page("/?not-stored="+strconv.Itoa(tries)).code == http.StatusInternalServerError
	})
	if page := reader.page("/"); page.code != http.StatusOK || !strings.Contains(page.text, "A blog") {
		v.Errorf("without the database a reader gets status %d", page.code)
	}
}

// useWordPress is what a person with an account does.
func (v *visit) useWordPress(name string, b tab) {
	b.open(v.base + "/wp-login.php?redirect_to=" + url.QueryEscape(v.base+"/wp-admin/post-new.php"))
	b.until(`document.querySelector("#loginform") && document.cookie.includes("wordpress_test_cookie")`)
	do(b, chromedp.Evaluate[any](`(() => {
		document.querySelector("#user_login").value = "`+name+`"
		document.querySelector("#user_pass").value = "secret of `+name+`"
		document.querySelector("#wp-submit").click()
	})()`))
	b.until(`window.wp && window.wp.apiFetch && location.pathname.endsWith("post-new.php")`)
	do(b, chromedp.Evaluate[any](`window.app = { keep: name => { window[name] = "pending"; return value => { window[name] = value } } }`))
	post := b.wait(`wp.apiFetch({ path: "/wp/v2/posts", method: "POST", data: { title: "Post of ` + name + `", content: "Words of ` + name +
		`", status: "publish", comment_status: "open" } }).then(p => p.link)`)
	if post != `"`+v.base+`/post-of-`+name+`/"` {
		v.Errorf("%s published %s", name, post)
		return
	}
	film := b.wait(`(() => { const form = new FormData(); form.append("file", new File([new Uint8Array(100 << 20)], "film-of-` + name +
		`.mp4", { type: "video/mp4" })); return wp.apiFetch({ path: "/wp/v2/media", method: "POST", body: form }) })().then(m => m.source_url)`)
	if !strings.Contains(film, "film-of-"+name) {
		v.Errorf("%s uploaded %s", name, film)
	} else if size := v.statusOf("HEAD", strings.TrimPrefix(strings.Trim(film, `"`), v.base)).ContentLength; size != 100<<20 {
		v.Errorf("the film of %s has %d bytes", name, size)
	}
	b.open(v.base + "/")
	if greeting := b.text(`document.querySelector("#wp-admin-bar-my-account").innerText`); !strings.Contains(greeting, name) {
		v.Errorf("%s is greeted with %q", name, greeting)
	}
}

// A reader is a client without an account.
type reader struct {
	*visit
	c *http.Client
}

type readPage struct {
	code         int
	status, text string // status: Cache-Status
}

func (v *visit) reader() reader {
	v.Helper()
	c := v.httpClient()
	c.Jar, _ = cookiejar.New(nil)
	return reader{v, c}
}

// page fetches a page in a content coding.
func (r reader) page(path string) (p readPage) {
	r.Helper()
	req, err := http.NewRequestWithContext(r.Context(), "GET", r.base+path, nil)
	if err != nil {
		r.Error(err)
		return
	}
	req.Header.Set("Accept-Encoding", "br, gzip")
	resp, err := r.c.Do(req)
	if err != nil {
		r.Error(err)
		return
	}
	defer resp.Body.Close()
	body, _, err := readDecoded(resp)
	if err != nil {
		r.Error(err)
	}
	return readPage{resp.StatusCode, resp.Header.Get("Cache-Status"), string(body)}
}

func (r reader) post(path string, form url.Values) {
	r.Helper()
	resp, err := r.c.PostForm(r.base+path, form)
	if err != nil {
		r.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK {
		r.Errorf("POST %s: status %d, %v: %.300s", path, resp.StatusCode, err, body)
	}
}

// comment: only its writer sees a comment that waits for approval.
func (v *visit) comment(other reader) {
	v.Helper()
	writer := v.reader()
	page := writer.page("/post-of-ada/").text
	_, rest, _ := strings.Cut(page, "name='comment_post_ID' value='")
	id, _, _ := strings.Cut(rest, "'")
	writer.post("/wp-comments-post.php", url.Values{"comment": {"a word of a reader"}, "author": {"Cleo"}, "email": {"cleo@example.org"},
		"comment_post_ID": {id}, "comment_parent": {"0"}, "wp-comment-cookies-consent": {"yes"}})
	if !strings.Contains(writer.page("/post-of-ada/").text, "a word of a reader") {
		v.Error("the writer of a comment does not see that it waits")
	}
	if page := other.page("/post-of-ada/").text; strings.Contains(page, "a word of a reader") || strings.Contains(page, "cleo@") {
		v.Error("another reader sees a comment that waits")
	}
}

// friends: a reader with the password sees the post, and nobody else does, although it was stored
// before as others see it.
func (v *visit) friends(other reader) {
	v.Helper()
	const secret = "the secret of friends"
	if strings.Contains(other.page("/for-friends/").text, secret) {
		v.Error("the post with a password is open")
	}
	friend := v.reader()
	friend.page("/for-friends/")
	friend.post("/wp-login.php?action=postpass", url.Values{"post_password": {"friend"}, "Submit": {"Enter"}})
	if !strings.Contains(friend.page("/for-friends/").text, secret) {
		v.Error("the password does not open the post")
	}
	if strings.Contains(other.page("/for-friends/").text, secret) {
		v.Error("the post with a password is open to others")
	}
}

// readAtOnce fetches a page as both people and as a reader, at the same time.
func (v *visit) readAtOnce(people map[string]tab) {
	v.Helper()
	readers := map[string]reader{"": v.reader()}
	for name := range people {
		r := v.reader()
		r.page("/wp-login.php") // sets the test cookie
		r.post("/wp-login.php", url.Values{"log": {name}, "pwd": {"secret of " + name}, "wp-submit": {"Log In"}, "testcookie": {"1"}})
		readers[name] = r
	}
	var all sync.WaitGroup
	slots := make(chan struct{}, 12)
	for i := range 120 {
		for name, r := range readers {
			slots <- struct{}{}
			all.Go(func() {
				defer func() { <-slots }()
				p := r.page([]string{"/", "/post-of-ada/", "/post-of-bob/", "/?s=post"}[i%4])
				greeted := ""
				if _, rest, found := strings.Cut(p.text, `<span class="display-name">`); found {
					greeted, _, _ = strings.Cut(rest, "<")
				}
				if p.code != http.StatusOK || greeted != name {
					v.Errorf("%q got status %d with the bar of %q; %s", name, p.code, greeted, p.status)
				}
			})
		}
	}
	all.Wait()
}
