package apps

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

var verdaccio = application{
	name: "verdaccio (npm registry)", client: "npm", large: true, tls: true,
	nginx: `proxy_set_header Host $http_host; proxy_set_header X-Forwarded-Proto $scheme; client_max_body_size 0;`,
	did:   "a user, npm publish of two packages, one of 9 MB, npm view, install, ci, dist-tag, unpublish",
	versions: func(t *testing.T) (string, string) {
		return npmVersion(t, npmLarge(t, "verdaccio")), versionOf(t, "npm", "--version")
	},
	start: func(t *testing.T) string {
		program := filepath.Join(npmLarge(t, "verdaccio"), "bin", "verdaccio")
		return startServer(t, "verdaccio.yml", "", "node", program, "--config", "{config}")
	},
	visit: func(v *visit) {
		var user struct{ Token string }
		text := v.put("/-/user/org.couchdb.user:ada", `{"name":"ada","password":"sesame-sesame"}`)
		if err := json.Unmarshal(text, &user); err != nil || user.Token == "" {
			v.Fatalf("adding a user: %v, %s", err, text)
		}
		rc := "registry=" + v.base + "/\n//" + v.host() + "/:_authToken=" + user.Token +
			"\nupdate-notifier=false\naudit=false\nfund=false\n"
		if v.authority != "" {
			rc += "cafile=" + v.authority + "\n"
		}
		v.write(".npmrc", []byte(rc))
		npm := func(folder string, args ...string) {
			v.Helper()
			output := v.run("npm", append(args, "--prefix", filepath.Join(v.dir, folder), "--loglevel=error")...)
			v.saw("npm "+args[0], []byte(duration.ReplaceAllString(output, "…")))
		}
		publish := func(name, version string, size int, dependencies string) {
			v.Helper()
			folder := name + "-" + version
			v.write(folder+"/package.json", fmt.Appendf(nil,
				`{"name":%q,"version":%q,"description":"a package","license":"MIT","dependencies":{%s}}`, name, version, dependencies))
			v.write(folder+"/index.js", []byte("module.exports = '"+version+"'\n"))
			v.write(folder+"/data.bin", random(byte(size), size))
			npm(folder, "publish", filepath.Join(v.dir, folder))
		}
		publish("tea", "1.0.0", 1000, "")
		publish("tea", "1.1.0", 9<<20, "")
		publish("@shop/cups", "2.0.0", 300_000, `"tea":"^1.0.0"`)
		npm(".", "view", "tea", "versions", "dist.integrity", "dist.tarball", "--json")
		npm(".", "dist-tag", "add", "tea@1.0.0", "old")
		npm(".", "view", "tea@old", "version")
		v.write("project/package.json", []byte(`{"name":"project","version":"1.0.0","dependencies":{"@shop/cups":"2.0.0"}}`))
		npm("project", "install")
		v.sawTree("installed", filepath.Join(v.dir, "project"), "node_modules/.package-lock.json")
		if err := os.RemoveAll(filepath.Join(v.dir, ".npm")); err != nil { // npm's cache
			v.Fatal(err)
		}
		npm("project", "ci")
		v.sawTree("installed again", filepath.Join(v.dir, "project"), "node_modules/.package-lock.json")
		npm(".", "unpublish", "tea@1.0.0", "--force")
		npm(".", "view", "tea", "versions", "--json")
	},
}

// duration matches the time that npm reports, and the names of its log files.
var duration = regexp.MustCompile(`in \d+m?s|\S+-debug-\d+\.log`)

// put sends JSON and returns the body of the response.
func (v *visit) put(path, body string) []byte {
	v.Helper()
	req, err := http.NewRequestWithContext(v.Context(), "PUT", v.base+path, strings.NewReader(body))
	if err != nil {
		v.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := v.httpClient().Do(req)
	if err != nil {
		v.Fatal(err)
	}
	defer resp.Body.Close()
	var text bytes.Buffer
	if _, err := text.ReadFrom(resp.Body); err != nil {
		v.Fatal(err)
	}
	return text.Bytes()
}

var registry = application{
	name: "docker-registry (distribution)", client: "skopeo", large: true, tls: true,
	nginx: `proxy_set_header Host $http_host; proxy_set_header X-Forwarded-Proto $scheme; proxy_http_version 1.1; client_max_body_size 0; proxy_request_buffering off;`,
	did:   "an image of three layers, one of 15 MB, copied in, inspected, tagged, copied out and deleted",
	versions: func(t *testing.T) (string, string) {
		return debianVersion(t, "docker-registry"), debianVersion(t, "skopeo")
	},
	start: func(t *testing.T) string {
		need(t, "skopeo")
		return startServer(t, "registry.yml", "", "docker-registry", "serve", "{config}")
	},
	visit: func(v *visit) {
		v.writeImage("image")
		certificates := filepath.Join(v.dir, "certificates")
		verify := "=false"
		if v.authority != "" {
			authority, err := os.ReadFile(v.authority)
			if err != nil {
				v.Fatal(err)
			}
			v.write("certificates/ca.crt", authority)
			verify = "=true"
		}
		v.write("certificates/none", nil)
		v.write("policy.json", []byte(`{"default":[{"type":"insecureAcceptAnything"}]}`))
		skopeo := func(args ...string) string {
			v.Helper()
			return v.run("skopeo", append([]string{"--policy", filepath.Join(v.dir, "policy.json"), "--tmpdir", v.dir}, args...)...)
		}
		image := "docker://" + v.host() + "/shop/tea"
		to := []string{"--dest-tls-verify" + verify, "--dest-cert-dir", certificates}
		from := []string{"--src-tls-verify" + verify, "--src-cert-dir", certificates}
		at := []string{"--tls-verify" + verify, "--cert-dir", certificates}
		join := func(args ...[]string) (all []string) {
			for _, a := range args {
				all = append(all, a...)
			}
			return all
		}
		skopeo(join([]string{"copy", "--quiet", "oci:" + filepath.Join(v.dir, "image") + ":latest", image + ":1"}, to)...)
		skopeo(join([]string{"copy", "--quiet", image + ":1", image + ":latest"}, to, from)...)
		for range 2 {
			v.saw("inspect", []byte(skopeo(join([]string{"inspect", "--raw", image + ":latest"}, at)...)))
			v.saw("inspect --config", []byte(skopeo(join([]string{"inspect", "--config", image + ":1"}, at)...)))
			v.saw("list-tags", []byte(skopeo(join([]string{"list-tags", image}, at)...)))
			out := filepath.Join(v.dir, "out")
			skopeo(join([]string{"copy", "--quiet", image + ":latest", "dir:" + out}, from)...)
			v.sawTree("copied out", out)
			if err := os.RemoveAll(out); err != nil {
				v.Fatal(err)
			}
		}
		skopeo(join([]string{"delete", image + ":1"}, at)...)
		output, err := v.try(nil, "skopeo", join([]string{"inspect", image + ":latest"}, at)...)
		v.saw("inspect after delete", []byte(fmt.Sprint(err, strings.Contains(output, "manifest unknown"))))
	},
}

// writeImage writes an image of three layers as an OCI layout.
func (v *visit) writeImage(folder string) {
	v.Helper()
	blob := func(content []byte) (digest string) {
		v.Helper()
		sum := sha256.Sum256(content)
		digest = hex.EncodeToString(sum[:])
		v.write(folder+"/blobs/sha256/"+digest, content)
		return "sha256:" + digest
	}
	descriptor := func(kind string, content []byte) map[string]any {
		return map[string]any{"mediaType": "application/vnd.oci.image." + kind, "digest": blob(content), "size": len(content)}
	}
	marshal := func(value any) []byte {
		v.Helper()
		text, err := json.Marshal(value)
		if err != nil {
			v.Fatal(err)
		}
		return text
	}
	var layers []map[string]any
	var ids []string
	for i, size := range []int{1000, 15 << 20, 300_000} {
		archive := v.tar(fmt.Sprint("file", i), random(byte(i), size))
		sum := sha256.Sum256(archive)
		ids = append(ids, "sha256:"+hex.EncodeToString(sum[:]))
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		w.Write(archive)
		w.Close()
		layers = append(layers, descriptor("layer.v1.tar+gzip", packed.Bytes()))
	}
	config := marshal(map[string]any{"architecture": "amd64", "os": "linux",
		"config": map[string]any{"Cmd": []string{"/file0"}}, "rootfs": map[string]any{"type": "layers", "diff_ids": ids}})
	manifest := marshal(map[string]any{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
		"config": descriptor("config.v1+json", config), "layers": layers})
	d := descriptor("manifest.v1+json", manifest)
	d["annotations"] = map[string]string{"org.opencontainers.image.ref.name": "latest"}
	v.write(folder+"/index.json", marshal(map[string]any{"schemaVersion": 2, "manifests": []any{d}}))
	v.write(folder+"/oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`))
}

// tar returns an archive of one file.
func (v *visit) tar(name string, content []byte) []byte {
	v.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content)), ModTime: fixedTime})
	if err == nil {
		_, err = w.Write(content)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		v.Fatal(err)
	}
	return b.Bytes()
}

// aptFolder is the folder of the repository that is served.
var aptFolder string

var apt = application{
	name: "A Debian repository of express.static", client: "apt", tls: true,
	nginx: `proxy_set_header Host $http_host;`,
	did: "apt-get update, download of 20 packages with their checksums, a second update (unchanged) and one after a " +
		"new package, in a root of its own",
	versions: func(t *testing.T) (string, string) {
		return npmVersion(t, npm(t, "express")), versionOf(t, "apt-get", "--version")
	},
	start: func(t *testing.T) string {
		need(t, "apt-get")
		need(t, "dpkg-deb")
		aptFolder = t.TempDir()
		writeRepository(t, aptFolder, 20)
		return startNode(t, "express.mjs", aptFolder)
	},
	visit: func(v *visit) {
		apt := v.apt(v.base + "/revalidated")
		apt("update", "-q")
		var wanted []string
		for i := range 20 {
			wanted = append(wanted, fmt.Sprint("package", i))
		}
		apt(append([]string{"download", "-q"}, wanted...)...)
		v.sawTree("downloads", filepath.Join(v.dir, "downloads"))
		apt("update", "-q")
		writeRepository(v.T, aptFolder, 21)
		apt("update", "-q")
		apt("download", "-q", "package20")
		v.sawTree("downloads", filepath.Join(v.dir, "downloads"))
		v.sawTree("lists", filepath.Join(v.dir, "state", "lists"), "lock", "partial")
	},
}

// apt returns a function that runs apt-get in a root of its own, with packages from one source.
func (v *visit) apt(source string) func(args ...string) {
	v.Helper()
	for _, folder := range []string{"etc/apt/preferences.d", "etc/apt/apt.conf.d", "etc/apt/trusted.gpg.d",
		"state/lists/partial", "cache/archives/partial", "downloads"} {
		if err := os.MkdirAll(filepath.Join(v.dir, folder), 0o755); err != nil {
			v.Fatal(err)
		}
	}
	proxy := "false"
	if v.edge != "" {
		proxy = "http://" + v.edge // there apt finds the site
	}
	v.write("state/status", nil)
	v.write("etc/apt/sources.list", []byte("deb [trusted=yes] "+source+" stable main\n"))
	return func(args ...string) {
		v.Helper()
		options := []string{"-o", "Dir=" + v.dir, "-o", "Dir::State=" + v.dir + "/state", "-o",
			"Dir::State::status=" + v.dir + "/state/status", "-o", "Dir::Cache=" + v.dir + "/cache",
			"-o", "Dir::Etc=" + v.dir + "/etc/apt", "-o", "APT::Architecture=amd64", "-o",
			"APT::Architectures=amd64", "-o", "APT::Sandbox::User=root", "-o", "Acquire::http::Proxy=" + proxy,
			"-o", "Acquire::https::Proxy=false", "-o", "Acquire::Languages=none", "-o", "Acquire::Retries=0",
			"-o", "Acquire::https::CAInfo=" + v.authority}
		output, err := v.try([]string{"APT_CONFIG=/dev/null"}, "sh",
			append([]string{"-c", `cd downloads && exec apt-get "$@"`, "sh"}, append(options, args...)...)...)
		if err != nil {
			v.Fatalf("apt-get %s: %v\n%s", strings.Join(args, " "), err, output)
		}
		v.saw("apt-get "+args[0], []byte(strings.Join(aptLine.FindAllString(output, -1), "\n")))
	}
}

// aptLine matches the lines of apt's output about a resource: whether it was fetched or unchanged.
var aptLine = regexp.MustCompile(`(?m)^(Get|Hit|Err|Ign):`)

// writeRepository writes n packages and the lists of a Debian repository. Each has a date of its
// own, because apt and HTTP see changes by the second.
func writeRepository(t *testing.T, dir string, n int) {
	t.Helper()
	date := fixedTime.Add(time.Duration(n) * time.Hour)
	v := &visit{T: t, dir: dir}
	var packages strings.Builder
	for i := range n {
		file := fmt.Sprintf("pool/package%d_1.0_all.deb", i)
		path := filepath.Join(dir, file)
		control := fmt.Sprintf("Package: package%d\nVersion: 1.0\nArchitecture: all\nMaintainer: Ada "+
			"<ada@example.org>\nDescription: a package\n", i)
		if _, err := os.Stat(path); err != nil {
			v.write(fmt.Sprintf("build%d/DEBIAN/control", i), []byte(control))
			v.write(fmt.Sprintf("build%d/usr/share/package%d", i, i), random(byte(i), 1+i*20_000))
			if err := os.MkdirAll(filepath.Join(dir, "pool"), 0o755); err != nil {
				t.Fatal(err)
			}
			built := exec.Command("dpkg-deb", "--build", "--root-owner-group", "-Znone", filepath.Join(dir, fmt.Sprint("build", i)), path)
			built.Env = append(os.Environ(), fmt.Sprint("SOURCE_DATE_EPOCH=", fixedTime.Unix()))
			if output, err := built.CombinedOutput(); err != nil {
				t.Fatalf("dpkg-deb: %v\n%s", err, output)
			}
		}
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		v.write(file, content) // with a fixed time
		fmt.Fprintf(&packages, "%sFilename: %s\nSize: %d\nSHA256: %x\n\n", control, file, len(content), sha256.Sum256(content))
	}
	write := func(name, content string) {
		t.Helper()
		v.write(name, []byte(content))
		if err := os.Chtimes(filepath.Join(dir, name), date, date); err != nil {
			t.Fatal(err)
		}
	}
	write("dists/stable/main/binary-amd64/Packages", packages.String())
	write("dists/stable/Release", fmt.Sprintf("Origin: test\nSuite: stable\nCodename: stable\nDate: "+
		"%s\nArchitectures: amd64\nComponents: main\nSHA256:\n %x %d main/binary-amd64/Packages\n",
		date.Format("Mon, 02 Jan 2006 15:04:05 UTC"), sha256.Sum256([]byte(packages.String())), packages.Len()))
}

var webDAV = application{
	name: "WebDAV (Apache mod_dav)", client: "litmus and rclone", large: true,
	nginx: `proxy_set_header Host $http_host; proxy_http_version 1.1; client_max_body_size 0; proxy_request_buffering off;`,
	did:   "litmus: basic, copymove, props, locks, http; a folder of 60 files synchronised by rclone",
	versions: func(t *testing.T) (string, string) {
		return debianVersion(t, "apache2-bin"), debianVersion(t, "litmus")
	},
	start: func(t *testing.T) string {
		need(t, "litmus")
		need(t, "rclone")
		return startServer(t, "httpd.conf", "", "/usr/sbin/apache2", "-D", "FOREGROUND", "-f", "{config}")
	},
	visit: func(v *visit) {
		output := v.run("litmus", v.base+"/")
		v.saw("litmus", []byte(strings.Join(litmusLine.FindAllString(output, -1), "\n")))
		v.rclone(":webdav,url='" + v.base + "/',vendor=other:")
	},
}

// litmusLine matches the result of a test of litmus, and of a suite.
var litmusLine = regexp.MustCompile(`(?m)^(\s*\d+\. .*|<- summary.*|WARNING.*)$`)
