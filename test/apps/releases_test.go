package apps

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/iconedge/iconedge/test/devtools"
	"github.com/iconedge/iconedge/test/harness"
)

// releaseFolder is the folder that nginx serves.
var releaseFolder string

var releases = recipe{
	title: "Deployments that cost visitors little", server: "nginx with a React application built by Vite", client: "Chromium",
	did: "three releases, two people at once: each bundle after the first comes as a difference (`dcz`) of at most a twentieth, " +
		"and runs",
	schemes: []string{"https"}, // without TLS browsers have no dictionaries
	versions: func(t *testing.T) (string, string) {
		return npmVersion(t, npm(t, "vite")), chromiumVersion(t)
	},
	start: func(v *visit) []string {
		releaseFolder = filepath.Join(harness.OpenDir(v.T), "www")
		return []string{"http://10.0.0.5:3000", startServer(v.T, "nginx-mirror.conf", releaseFolder, nginxPath(), "-c", "{config}")}
	},
	visit: visitReleases,
}

// release builds a release of the application, and returns the path and the content of its bundle.
// The files of the release before are gone, as after most deployments.
func (v *visit) release(n int) (path string, bundle []byte) {
	v.Helper()
	source := filepath.Join(v.dir, fmt.Sprint("source", n))
	if err := os.CopyFS(source, os.DirFS(testdata(v.T, "releases"))); err != nil {
		v.Fatal(err)
	}
	v.write(fmt.Sprint("source", n, "/release.js"), fmt.Appendf(nil, "export const release = %d\n", n))
	if err := os.Symlink(filepath.Dir(npmLarge(v.T, "react")), filepath.Join(source, "node_modules")); err != nil {
		v.Fatal(err)
	}
	v.run("node", filepath.Join(npm(v.T, "vite"), "bin", "vite.js"), "build", source, "--outDir", releaseFolder, "--emptyOutDir",
		"--logLevel", "warn")
	files, err := filepath.Glob(filepath.Join(releaseFolder, "assets", "*.js"))
	if err != nil || len(files) != 1 {
		v.Fatalf("the build has %v, want one bundle: %v", files, err)
	}
	if bundle, err = os.ReadFile(files[0]); err != nil {
		v.Fatal(err)
	}
	return "/assets/" + filepath.Base(files[0]), bundle
}

func visitReleases(v *visit) {
	people := []tab{v.person(), v.person()}
	var received []func(string) devtools.Response
	for _, b := range people {
		received = append(received, devtools.Record(v.T, b.ctx))
	}
	var before []byte
	for n := 1; n <= 3; n++ {
		path, bundle := v.release(n)
		dictionary := ""
		if before != nil {
			sum := sha256.Sum256(before)
			dictionary = base64.StdEncoding.EncodeToString(sum[:])
			harness.AwaitDifference(v.T, v.httpClient(), v.base+path, dictionary)
		}
		var all sync.WaitGroup
		for _, b := range people {
			all.Go(func() {
				b.open(fmt.Sprint(v.base, "/?", n))
				b.until(fmt.Sprintf(`document.querySelector("h1").textContent == "release %d"`, n))
			})
		}
		all.Wait()
		for i := range people {
			got := received[i](path)
			if dictionary != "" && (got.Coding != "dcz" || got.Dictionary != dictionary || got.Bytes > len(bundle)/20) {
				v.Errorf("person %d got release %d as %+v, of %d bytes; want dcz by the dictionary %s", i, n, got, len(bundle), dictionary)
			}
			v.Logf("person %d, release %d: %d bytes of %d as %s", i, n, got.Bytes, len(bundle), got.Coding)
		}
		before = bundle
	}
}
