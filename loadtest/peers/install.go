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

// A Package is a Debian package of a program.
type Package struct {
	Name, Program string
	version       []string // arguments that print the version
}

// Packages are the programs to install: servers, and the load tester for TLS.
var Packages = []Package{
	{"nginx", "nginx", []string{"-v"}}, {"varnish", "varnishd", []string{"-V"}}, {"haproxy", "haproxy", []string{"-v"}},
	{"h2o", "h2o", []string{"--version"}}, {"nghttp2-client", "h2load", []string{"--version"}},
}

// Version returns the first line of the program's version output.
func (p Package) Version() (string, error) {
	path, err := find(p.Program)
	if err != nil {
		return "", err
	}
	out, err := exec.Command(path, p.version...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("running %s for its version: %w", p.Program, err)
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return strings.TrimSpace(line), nil
}

// Install installs the missing programs from Debian's packages without starting their services. It
// needs root and apt-get. Their output goes to w.
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

// policy is the program that decides whether Debian's packages may start services; exit status 101
// denies it (invoke-rc.d(8)).
const policy = "/usr/sbin/policy-rc.d"

// forbidServices denies it until allow is called. It leaves an existing policy alone.
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
