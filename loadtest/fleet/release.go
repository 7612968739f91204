//go:build linux

package fleet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	ownPack  = "iconedge-fleet" // the pack whose icons change in the second release
	ownIcons = 40
)

// The SVGs of our own pack in the two releases.
var packSVGs = [2]string{
	`<svg xmlns="http://www.w3.org/2000/svg" width="24" height="24" viewBox="0 0 24 24"><circle cx="12" cy="12" r="%d.5" fill="currentColor"/></svg>`,
	`<svg xmlns="http://www.w3.org/2000/svg" width="24" height="24" viewBox="0 0 24 24"><path fill="currentColor" d="M2 2h%d.5v20H2z"/></svg>`,
}

// writePack writes our own pack in its form for a release, and returns the folder to publish.
func (s *site) writePack(release int) (source string, err error) {
	source = filepath.Join(s.folder, fmt.Sprintf("pack-%d", release+1))
	dir := filepath.Join(source, ownPack)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	about := `{"name":"The fleet's own","license":{"title":"MIT License","spdx":"MIT","url":"https://spdx.org/licenses/MIT.html"},"author":{"name":"iconedge"}}`
	errs := []error{os.WriteFile(filepath.Join(dir, "pack.json"), []byte(about), 0o644)}
	for i := range ownIcons {
		svg := fmt.Sprintf(packSVGs[release], 2+i)
		errs = append(errs, os.WriteFile(filepath.Join(dir, fmt.Sprintf("own-%02d.svg", i)), []byte(svg), 0o644))
	}
	return source, errors.Join(errs...)
}

// publish makes the library with a version of our own pack the current release, and returns the
// program's output. It runs at low priority, because in a real fleet it would run on another
// machine.
func (r *run) publish(ctx context.Context, release int) (string, error) {
	source, err := r.writePack(release)
	if err != nil {
		return "", err
	}
	return r.call(ctx, "publish", "--store", r.storeURL(), "--work", r.folder, r.Library, source)
}

// call runs a command of the program that uses the store.
func (r *run) call(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "nice", append([]string{"-n", "19", r.Iconedge}, args...)...)
	cmd.Env = append(os.Environ(), credentials...)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("iconedge %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(said.String()))
	}
	return string(out), nil
}

// publishFirst publishes the first release, unless the store has it from an earlier run.
func (r *run) publishFirst(ctx context.Context) error {
	mark := filepath.Join(r.folder, "first-release")
	known, err := os.ReadFile(mark)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(known) > 0 {
		current, err := r.listed(ctx)
		if err != nil {
			return err
		}
		if current == string(known) {
			r.say.line("the store has release %s already", current)
			return nil
		}
	}
	r.say.line("publishing %s: about a minute", r.Library)
	if _, err := r.publish(ctx, 0); err != nil {
		return err
	}
	current, err := r.listed(ctx)
	if err != nil {
		return err
	}
	return os.WriteFile(mark, []byte(current), 0o644)
}

// listed returns the current release in the output of `publish --list`.
func (r *run) listed(ctx context.Context) (string, error) {
	out, err := r.call(ctx, "publish", "--store", r.storeURL(), "--list")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(out) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[len(fields)-1] == "current" {
			return fields[0], nil
		}
	}
	return "", nil
}

// flipped returns when the store's pointer was last replaced: the S3 server stores an object as a
// file.
func (s *site) flipped() (time.Time, error) {
	info, err := os.Stat(filepath.Join(s.folder, "s3", bucket, "current"))
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}
