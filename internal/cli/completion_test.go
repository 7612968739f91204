package cli

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
)

// out returns what a program prints.
func out(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	p := program()
	if status := p.Run(t.Context(), p.Documented(commands(p)), Streams{&out, &errs}, args); status != 0 {
		t.Fatalf("prog %v: status %d, %s", args, status, &errs)
	}
	return out.String()
}

// TestCompletion: each shell completes commands, and the flags of a command, by its script. A shell
// that is not installed is skipped; bash is everywhere.
func TestCompletion(t *testing.T) {
	for _, row := range []struct{ shell, script, want string }{
		{"bash", "eval \"$0\"; COMP_WORDS=(prog ec); COMP_CWORD=1; _prog; echo ${COMPREPLY[@]}", "echo"},
		{"bash", "eval \"$0\"; COMP_WORDS=(prog bare --); COMP_CWORD=2; _prog; echo ${COMPREPLY[@]}", "--admin-listen --wait"},
		{"bash", "eval \"$0\"; COMP_WORDS=(prog bare x); COMP_CWORD=2; _prog; echo ${COMPREPLY[@]}", ""},
		{"zsh", "print -r -- \"$0\" | zsh -n", ""},
		{"fish", "eval $argv[1]; complete -C 'prog ec'", "echo\tprints its arguments"},
		{"fish", "eval $argv[1]; complete -C 'prog bare --w'", "--wait\ttime to wait"},
	} {
		path, err := exec.LookPath(row.shell)
		if err != nil {
			t.Logf("NOT TESTED: %s is not installed", row.shell)
			continue
		}
		got, err := exec.Command(path, "-c", row.script, out(t, "completion", row.shell)).CombinedOutput()
		if err != nil || strings.TrimSpace(string(got)) != row.want {
			t.Errorf("%s: %q gives %q, %v; want %q", row.shell, row.script, got, err, row.want)
		}
	}
	var errs bytes.Buffer
	p := program()
	if status := p.Run(t.Context(), p.Documented(nil), Streams{&errs, &errs},
		[]string{"completion", "csh"}); status != 2 || !strings.Contains(errs.String(), "must be bash, zsh, fish") {
		t.Errorf("csh: status %d, %s", status, &errs)
	}
}

// TestManual: the page has every command and flag, and no line of text is taken for a request.
func TestManual(t *testing.T) {
	page := out(t, "man")
	for _, want := range []string{".Dt PROG 1", ".Ss bare", ".It Fl -admin-listen\naddress\n", ".Ss works\nsucceeds", "PROG_ADMIN_LISTEN"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	if got := roff("a\\b\n.c\n'd\ne."); got != "a\\eb\n\\&.c\n\\&'d\ne." {
		t.Errorf("roff: %q", got)
	}
	if path, err := exec.LookPath("mandoc"); err == nil {
		cmd := exec.Command(path, "-T", "lint", "-W", "error")
		cmd.Stdin = strings.NewReader(page)
		if report, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("mandoc: %s", report)
		}
	}
}
