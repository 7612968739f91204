package main

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// TestLists: a running edge denies whom its list names, and reads the list again when it is told to.
func TestLists(t *testing.T) {
	home := t.TempDir()
	file := filepath.Join(home, "deny")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("192.0.2.0/24\n")
	s := start(t, home, "edge", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--deny-file", file, "--trusted-proxies", "127.0.0.1")
	status := func(client string) int {
		resp, _ := get(t, s.address("public"), "/", "X-Forwarded-For", client)
		return resp.StatusCode
	}
	if status("192.0.2.1") != http.StatusForbidden || status("198.51.100.1") != http.StatusOK {
		t.Error("the list does not hold")
	}
	write("198.51.100.0/24\n")
	if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	s.log.wait(regexp.MustCompile(`msg="a list was read" list=deny ranges=1`))
	if status("192.0.2.1") != http.StatusOK || status("198.51.100.1") != http.StatusForbidden {
		t.Error("the list was not read again")
	}
	write("nobody\n")
	if _, stderr, code := callProgram(t, home, "edge", "--deny-file", file); code != 2 || !strings.Contains(stderr, "line 1") {
		t.Errorf("a broken list at the start: %d %s", code, stderr)
	}
}
