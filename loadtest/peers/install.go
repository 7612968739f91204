//go:build linux

package peers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"
)

// A Package is what Debian calls a program, and how it tells its version.
type Package struct {
	Name, Program string
	version       []string // its arguments
}

// Packages are the programs that are taken from Debian: servers, and the load tester for TLS.
var Packages = []Package{
	{"nginx", "nginx", []string{"-v"}}, {"varnish", "varnishd", []string{"-V"}}, {"haproxy", "haproxy", []string{"-v"}},
	{"nghttp2-client", "h2load", []string{"--version"}},
}

// Version is the first line of what the program says of itself.
func (p Package) Version() (string, error) {
	path, err := find(p.Program)
	if err != nil {
		return "", err
	}
	out, err := exec.Command(path, p.version...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("asking %s for its version: %w", p.Program, err)
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return strings.TrimSpace(line), nil
}

// Install takes what is missing from Debian's packages, and sees to it that none of it is started as a service: that only root can do,
// and only where there is apt-get. What they print goes to w.
func Install(ctx context.Context, w io.Writer) (err error) {
	var names []string
	for _, p := range Packages {
		if _, err := find(p.Program); err != nil {
			names = append(names, p.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	if _, err := exec.LookPath("apt-get"); err != nil || os.Geteuid() != 0 {
		return fmt.Errorf("installing %s: this needs root and apt-get", strings.Join(names, ", "))
	}
	allow, err := forbidServices()
	if err != nil {
		return fmt.Errorf("installing %s: %w", strings.Join(names, ", "), err)
	}
	defer func() { err = errors.Join(err, allow()) }()
	cmd := exec.CommandContext(ctx, "apt-get", append([]string{"install", "-y", "-q", "--no-install-recommends"}, names...)...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("installing %s: %w (apt-get update may help)", strings.Join(names, ", "), err)
	}
	return nil
}

// policy is the program that Debian's packages ask whether they may start their service; 101 says no (invoke-rc.d(8)).
const policy = "/usr/sbin/policy-rc.d"

// forbidServices says no for as long as packages are installed. A policy that is there already is left to its owner.
func forbidServices() (allow func() error, err error) {
	f, err := os.OpenFile(policy, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if errors.Is(err, fs.ErrExist) {
		return func() error { return nil }, nil
	}
	if err != nil {
		return nil, err
	}
	_, err = io.WriteString(f, "#!/bin/sh\nexit 101\n")
	return func() error { return os.Remove(policy) }, errors.Join(err, f.Close())
}
