package publish

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// npmPrefix begins a source that is an npm package.
const npmPrefix = "npm:"

// ErrNPM means that an npm package can't be had. It wraps ErrSource.
var ErrNPM = fmt.Errorf("%w: an npm package", ErrSource)

// npmSpec matches a package with or without a version, a range or a tag. It matches no path,
// address or option, which npm would accept too.
var npmSpec = regexp.MustCompile(`^((?:@[a-z0-9][a-z0-9._~-]*/)?[a-z0-9][a-z0-9._~-]*)(?:@([0-9A-Za-z^~][0-9A-Za-z.+~-]*))?$`)

// npmPackage returns the folder and the name of an npm package: that in a folder node_modules, of
// the current folder or one above it, if it is there in the wanted version. Otherwise the program
// npm fetches the package from its registry, and checks it as it does for an installation. No
// script runs, because the package is unpacked here and not installed.
func (p *publication) npmPackage(ctx context.Context, spec string) (folder, name string, err error) {
	m := npmSpec.FindStringSubmatch(spec)
	if m == nil {
		return "", "", fmt.Errorf("%w: %s%s is not one; it has the form npm:lucide-static@1.62.0", ErrNPM, npmPrefix, printable(spec))
	}
	name = m[1]
	here, err := os.Getwd()
	if err != nil {
		return "", "", err
	}
	if folder, has := p.installed(ctx, here, name, m[2]); folder != "" {
		p.notef("source", "%s%s: %s, version %s", npmPrefix, spec, folder, has)
		return folder, name, nil
	}
	folder, err = p.download(ctx, spec)
	if err == nil {
		p.notef("source", "%s%s: from the registry of npm", npmPrefix, spec)
	}
	return folder, name, err
}

// installed returns the folder of a package in node_modules, with its version. A version that is a
// range or a tag is never the one there.
func (p *publication) installed(ctx context.Context, from, name, version string) (folder, has string) {
	for dir := from; ; dir = filepath.Dir(dir) {
		folder := filepath.Join(dir, "node_modules", filepath.FromSlash(name))
		if t, err := p.openTree(ctx, folder); err == nil {
			var about packageFile
			if readJSON(t, packageFileName, &about) == nil && (version == "" || version == about.Version) {
				return folder, line(about.Version)
			}
		}
		if dir == filepath.Dir(dir) {
			return "", ""
		}
	}
}

// download fetches a package with npm and unpacks it into the folder for temporary files.
func (p *publication) download(ctx context.Context, spec string) (folder string, err error) {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return "", fmt.Errorf("%w: %s%s is in no folder node_modules, and the program npm, which would fetch it, is not on PATH",
			ErrNPM, npmPrefix, spec)
	}
	p.Progress.Step("fetching "+npmPrefix+spec, 0)
	tarballs, err := os.MkdirTemp(p.work, "npm-")
	if err != nil {
		return "", err
	}
	var stdout, stderr bytes.Buffer
	call := exec.CommandContext(ctx, npm, "pack", "--ignore-scripts", "--loglevel=error", "--pack-destination", tarballs, "--", spec)
	call.Stdout, call.Stderr = &stdout, &stderr
	call.Cancel = func() error { return call.Process.Signal(os.Interrupt) }
	call.WaitDelay = 5 * time.Second
	if err := call.Run(); err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		return "", fmt.Errorf("%w: npm pack %s: %s", ErrNPM, spec, npmFault(stderr.String(), err))
	}
	files, err := filepath.Glob(filepath.Join(globQuote(tarballs), "*.tgz"))
	if err != nil || len(files) != 1 {
		return "", fmt.Errorf("%w: npm pack %s made %d archives, not one", ErrNPM, spec, len(files))
	}
	folder = filepath.Join(tarballs, "package")
	if err := unpack(ctx, files[0], folder); err != nil {
		return "", fmt.Errorf("%w: %s%s: %w", ErrNPM, npmPrefix, spec, err)
	}
	return folder, os.Remove(files[0])
}

// npmFault returns the first lines of npm's own message about a failure, as one line.
func npmFault(stderr string, err error) string {
	var said []string
	for text := range strings.Lines(stderr) {
		text = strings.TrimSpace(text)
		for _, prefix := range []string{"npm error ", "npm ERR! "} {
			text = strings.TrimPrefix(text, prefix)
		}
		text = line(strings.TrimPrefix(text, "code "))
		if text == "" || strings.HasPrefix(text, "npm error") || strings.HasPrefix(text, "A complete log") {
			continue
		}
		if said = append(said, text); len(said) == 3 {
			break
		}
	}
	if exit := (*exec.ExitError)(nil); len(said) == 0 || !errors.As(err, &exit) {
		return err.Error()
	}
	return strings.Join(said, "; ")
}
