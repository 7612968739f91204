package harness

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Program returns the command of an iconedge process. Its data and home folders belong to the test.
func Program(t *testing.T, home string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(executable(t), args...)
	cmd.Env = []string{asProgram + "=1", "HOME=" + home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + t.TempDir()}
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "GOMEMLIMIT", "ICONEDGE_LOOP"} {
		if v, set := os.LookupEnv(name); set {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	return cmd
}

// Call runs a command to its end.
func Call(t *testing.T, home string, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := Program(t, home, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !asExit(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

func asExit(err error, exit **exec.ExitError) bool {
	e, ok := err.(*exec.ExitError)
	*exit = e
	return ok
}

// Must runs a command that has to succeed, and returns its stdout.
func Must(t *testing.T, home string, args ...string) string {
	t.Helper()
	stdout, stderr, status := Call(t, home, args...)
	if status != 0 {
		t.Fatalf("iconedge %s: status %d\n%s", strings.Join(args, " "), status, stderr)
	}
	return stdout
}
