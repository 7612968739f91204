package apps

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/iconedge/iconedge/test/harness"
)

// discSize is the length of the largest file of a mirror, in bytes.
const discSize = 100 << 20

var mirror = recipe{
	title: "A download mirror", server: "a folder", client: "curl, wget, aria2, apt and Chromium",
	did: "a file of 100 MB whole, ten times at once, in eight parts, broken off and resumed, and replaced during a download; " +
		"apt-get update and download; listings; a folder for others",
	versions: func(t *testing.T) (string, string) { return "", "" },
	start: func(v *visit) []string {
		v.fillMirror(filepath.Join(v.dir, "www"))
		return []string{"/srv/www", filepath.Join(v.dir, "www")}
	},
	visit: func(v *visit) {
		v.visitMirror()
		if resp := v.statusOf("GET", "/private/plans.txt"); resp.StatusCode != http.StatusForbidden {
			v.Errorf("the private folder has status %d", resp.StatusCode)
		}
		v.replaced(filepath.Join(v.dir, "www", "discs", "disc.iso"))
	},
}

// upstreamFolder is the folder of the mirror behind the edge.
var upstreamFolder string

var pullMirror = recipe{
	title: "A mirror of another mirror", server: "nginx with autoindex", client: "curl, wget, aria2, apt and Chromium",
	did:      "the same, and nginx sends each byte of the file once",
	versions: func(t *testing.T) (string, string) { return versionOf(t, nginxPath(), "-v"), "" },
	start: func(v *visit) []string {
		upstreamFolder = filepath.Join(harness.OpenDir(v.T), "www")
		v.fillMirror(upstreamFolder)
		return []string{"http://deb.example.net", startServer(v.T, "nginx-mirror.conf", upstreamFolder, nginxPath(), "-c", "{config}"),
			"/var/cache/iconedge", filepath.Join(v.dir, "cache")}
	},
	visit: func(v *visit) {
		v.visitMirror()
		if sent := sentBy(v.T, "/discs/disc.iso"); sent < discSize || sent > discSize*11/10 {
			v.Errorf("nginx sent %d bytes of a file of %d", sent, discSize)
		}
	},
}

// sentBy returns how many bytes of a file the server behind a mirror sent.
func sentBy(t *testing.T, path string) (n int) {
	t.Helper()
	log, err := os.ReadFile(upstreamFolder + ".log")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^GET (\S+) \d+ (\d+)$`).FindAllStringSubmatch(string(log), -1) {
		if m[1] == path {
			sent, _ := strconv.Atoi(m[2])
			n += sent
		}
	}
	return n
}

// fillMirror makes a folder with a large file, a Debian repository and a folder for others.
func (v *visit) fillMirror(dir string) {
	v.Helper()
	inside := &visit{T: v.T, dir: dir}
	inside.write("discs/disc.iso", random(1, discSize))
	inside.write("discs/read me.txt", []byte("how to verify"))
	inside.write("private/plans.txt", []byte("private"))
	writeRepository(v.T, dir, 20)
	if err := exec.Command("chmod", "-R", "a+rX", dir).Run(); err != nil {
		v.Fatal(err)
	}
}

func (v *visit) visitMirror() {
	v.Helper()
	disc := v.base + "/discs/disc.iso"
	want := sha256.Sum256(random(1, discSize))
	whole := func(what, name string) {
		v.Helper()
		content, err := os.ReadFile(filepath.Join(v.dir, name))
		if err != nil || sha256.Sum256(content) != want {
			v.Errorf("%s has %d bytes that are not the file: %v", what, len(content), err)
		}
		os.Remove(filepath.Join(v.dir, name))
	}

	// Broken off and resumed, the first of all, so that a cache has nothing yet.
	v.breakOff("resumed.iso", disc)
	v.curl("-f", "-C", "-", "-o", "resumed.iso", disc)
	whole("curl -C -", "resumed.iso")
	v.curl("-f", "-o", "whole.iso", disc)
	whole("curl", "whole.iso")
	var all sync.WaitGroup
	for i := range 10 {
		all.Go(func() {
			if sum := v.curl("-f", "-o", fmt.Sprintf("%d.iso", i), "-w", "%{http_code}", disc); sum != "200" {
				v.Errorf("one of ten at once has status %s", sum)
			}
		})
	}
	all.Wait()
	for i := range 10 {
		whole("one of ten at once", fmt.Sprintf("%d.iso", i))
	}
	if v.authority == "" {
		v.run("aria2c", "-q", "-x8", "-s8", "-k1M", "-o", "parts.iso", disc)
		whole("aria2c", "parts.iso")
		v.breakOff("wget.iso", disc)
		v.run("wget", "-q", "-c", "-O", "wget.iso", disc)
		whole("wget -c", "wget.iso")
		apt := v.apt(v.base)
		apt("update", "-q")
		apt("download", "-q", "package0", "package7", "package19")
		v.sawTree("downloads", filepath.Join(v.dir, "downloads"))
		apt("update", "-q")
	}

	b := v.person()
	b.open(v.base + "/")
	for _, name := range []string{"discs/", "read me.txt"} {
		link := `Array.from(document.querySelectorAll("a")).find(a => a.textContent == "` + name + `")`
		b.until(link)
		do(b, chromedp.Evaluate[any](link+".click()"))
	}
	b.until(`document.body.textContent == "how to verify"`)
}

// breakOff begins a download with curl, and ends curl when it has a part.
func (v *visit) breakOff(name, address string) {
	v.Helper()
	args := []string{"-sS", "--limit-rate", "30M", "--connect-to", "::" + v.edge, "-o", name, address}
	if v.authority != "" {
		args = append(args, "--cacert", v.authority)
	}
	cmd := exec.CommandContext(v.Context(), "curl", args...)
	cmd.Dir = v.dir
	if err := cmd.Start(); err != nil {
		v.Fatal(err)
	}
	harness.Eventually(v.T, "a part of the file", func() bool {
		info, err := os.Stat(filepath.Join(v.dir, name))
		return err == nil && info.Size() > 5<<20
	})
	cmd.Process.Kill()
	cmd.Wait()
	if info, err := os.Stat(filepath.Join(v.dir, name)); err != nil || info.Size() >= discSize {
		v.Fatalf("the download was not broken off: %v", err)
	}
}

// replaced puts a new file into the place of one while it is downloaded: the download ends with the
// old one, and a client that resumes by If-Range gets the new one whole.
func (v *visit) replaced(file string) {
	v.Helper()
	old := v.statusOf("HEAD", "/discs/disc.iso")
	req, err := http.NewRequestWithContext(v.Context(), "GET", v.base+"/discs/disc.iso", nil)
	if err != nil {
		v.Fatal(err)
	}
	resp, err := v.httpClient().Do(req)
	if err != nil {
		v.Fatal(err)
	}
	defer resp.Body.Close()
	err = os.WriteFile(file+".new", random(2, 2<<20), 0o644)
	if err == nil {
		err = os.Rename(file+".new", file)
	}
	if err != nil {
		v.Fatal(err)
	}
	sum := sha256.New()
	if n, err := io.Copy(sum, resp.Body); err != nil || [32]byte(sum.Sum(nil)) != sha256.Sum256(random(1, discSize)) {
		v.Errorf("the download of the old file ended with %d bytes, which are not the file: %v", n, err)
	}
	etag := old.Header.Get("ETag")
	harness.Eventually(v.T, "the new file", func() bool {
		resp := v.statusOf("GET", "/discs/disc.iso", "Range", "bytes=1000-", "If-Range", etag)
		return resp.StatusCode == http.StatusOK && resp.ContentLength == 2<<20
	})
}
