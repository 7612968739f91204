package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A clone is a repository with one file and the scripts of a release.
type clone struct {
	t   *testing.T
	dir string
}

func newClone(t *testing.T) clone {
	t.Helper()
	c := clone{t, t.TempDir()}
	for _, name := range []string{"version.sh", "sign.sh", "allowed_signers"} {
		c.write("deploy/"+name, string(read(t, name)))
	}
	c.write("internal/cli/version.txt", "1.2.3\n")
	c.write(".gitignore", "dist\nkey*\n")
	c.run("git", "init", "-q")
	c.run("git", "add", ".")
	c.commit()
	return c
}

func (c clone) write(name, text string) {
	c.t.Helper()
	path := filepath.Join(c.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		c.t.Fatal(err)
	}
}

// try returns what a command prints, and its error.
func (c clone) try(args ...string) (string, error) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	text, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(text)), err
}

func (c clone) run(args ...string) string {
	c.t.Helper()
	text, err := c.try(args...)
	if err != nil {
		c.t.Fatalf("%q: %v\n%s", args, err, text)
	}
	return text
}

func (c clone) commit() {
	c.t.Helper()
	c.run("git", "-c", "user.name=a", "-c", "user.email=a@b.test", "commit", "-q", "--allow-empty", "-am", "more")
}

// A fresh clone has the number alone. The commit stands behind it if the clone has changes, and if
// the tag of the number names another commit.
func TestVersionOfClone(t *testing.T) {
	c := newClone(t)
	want := func(when, want string) {
		t.Helper()
		if got := c.run("deploy/version.sh"); got != want {
			t.Errorf("%s: %s, want %s", when, got, want)
		}
	}
	commit := func() string { return c.run("git", "rev-parse", "--short=12", "HEAD") }
	want("without a tag", "1.2.3")
	c.write("other", "not in the repository")
	want("with another file", "1.2.3")
	c.write(".gitignore", "changed")
	want("with a change", "1.2.3+"+commit()+".dirty")
	c.commit()
	c.run("git", "tag", "v1.2.3")
	want("with its tag", "1.2.3")
	c.commit()
	want("behind its tag", "1.2.3+"+commit())
}

// A version is signed only by a key that everybody knows, and only if each file is that of its
// checksum.
func TestSign(t *testing.T) {
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		t.Skip("SKIPPED: ssh-keygen is not installed")
	}
	c := newClone(t)
	c.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "key")
	c.write("dist/a.tar.gz", "bytes")
	c.write("dist/SHA256SUMS", c.run("sh", "-c", "cd dist && sha256sum a.tar.gz")+"\n")
	signed := func() bool {
		_, err := os.Stat(filepath.Join(c.dir, "dist", "SHA256SUMS.sig"))
		return err == nil
	}
	if text, err := c.try("deploy/sign.sh", "key"); err == nil ||
		!strings.Contains(text, "add a line to deploy/allowed_signers: release namespaces=\"iconedge\" ssh-ed25519 ") || signed() {
		t.Errorf("by a key that nobody knows: %v, signed %v\n%s", err, signed(), text)
	}
	c.write("deploy/allowed_signers", string(read(t, "allowed_signers"))+"release namespaces=\"iconedge\" "+
		c.run("ssh-keygen", "-y", "-f", "key")+"\n")
	if text, err := c.try("deploy/sign.sh", "key"); err != nil || !signed() {
		t.Errorf("by a known key: %v\n%s", err, text)
	}
	c.write("dist/a.tar.gz", "other bytes")
	if text, err := c.try("deploy/sign.sh", "key"); err == nil || !strings.Contains(text, "a.tar.gz") {
		t.Errorf("a changed file: %v\n%s", err, text)
	}
}
