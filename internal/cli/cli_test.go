package cli

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
)

func program() *Program { return &Program{Name: "prog", Does: "prog does things.", Env: "PROG"} }

// commands returns one command for each kind of outcome, and commands with flags of every form.
func commands(p *Program) []Command {
	fails := func(err error) func(context.Context, Streams, []string) error {
		return func(context.Context, Streams, []string) error { return err }
	}
	return []Command{
		{"works", "succeeds", fails(nil)},
		{"fails", "fails", fails(errors.Join(errors.New("one"), errors.New("two")))},
		{"misuse", "is called wrongly", fails(Usage("wrong"))},
		{"stopped", "is interrupted", fails(context.Canceled)},
		{"echo", "prints its arguments", func(_ context.Context, std Streams, args []string) error {
			fs := p.Flags("echo", "WORD…", "Prints words.\n\n  prog echo a")
			last := fs.Bool("last", false, "only the last `word`")
			if err := fs.Parse(std, args); err != nil {
				return err
			}
			words := fs.Args()
			if *last {
				words = words[len(words)-1:]
			}
			_, err := std.Out.Write([]byte(strings.Join(words, " ") + "\n"))
			return err
		}},
		{"bare", "takes no arguments", func(_ context.Context, std Streams, args []string) error {
			fs := p.Flags("bare", "", "Takes none.")
			fs.Duration("wait", 0, "`time` to wait")
			fs.String("admin-listen", "", "`address`\nof the listener")
			fs.Preset("admin-listen", ":1")
			return fs.Parse(std, args)
		}},
		{"version", "prints the version", func(_ context.Context, std Streams, args []string) error {
			if len(args) > 0 {
				return Usage("too much")
			}
			_, err := std.Out.Write([]byte("prog 1\n"))
			return err
		}},
	}
}

// TestRun: results are on stdout, errors one line on stderr, and the exit status tells a wrong call
// from a failure.
func TestRun(t *testing.T) {
	for _, row := range []struct {
		args     string
		status   int
		out, err string
	}{
		{"works", 0, "", ""},
		{"fails", 1, "", "prog: one; two\n"},
		{"misuse", 2, "", "prog: wrong\n"},
		{"stopped", 1, "", "prog: stopped\n"},
		{"", 2, "", "prog: no command given; see prog help\n"},
		{"nonsense", 2, "", "prog: no command \"nonsense\"; see prog help\n"},
		{"version", 0, "prog 1\n", ""},
		{"--version", 0, "prog 1\n", ""},
		{"echo a b", 0, "a b\n", ""},
		{"echo --last a b", 0, "b\n", ""},
		{"echo a --last b", 0, "b\n", ""}, // flags may follow arguments
		{"echo a b --last", 0, "b\n", ""},
		{"echo a -- --last", 0, "a --last\n", ""},
		{"echo --nonsense", 2, "", "prog: no flag --nonsense; see prog echo --help\n"},
		{"bare a", 2, "", "prog: prog bare takes no arguments but flags; see --help\n"},
		{"echo --help", 0, "usage: prog echo [flags] WORD…\n\nPrints words.\n\n  prog echo a\n\n" +
			"flags (each has an environment variable: --admin-listen is PROG_ADMIN_LISTEN):\n  --last word\n        only the last word\n",
			""},
		{"bare --help", 0, "usage: prog bare [flags]\n\nTakes none.\n\n" +
			"flags (each has an environment variable: --admin-listen is PROG_ADMIN_LISTEN):\n" +
			"  --admin-listen address\n        address\n        of the listener (default :1)\n  --wait time\n        time to wait\n", ""},
		{"help", 0, "prog does things.\n\nusage: prog COMMAND [flags]\n\n" +
			"  works     succeeds\n  fails     fails\n  misuse    is called wrongly\n  stopped   is interrupted\n" +
			"  echo      prints its arguments\n  bare      takes no arguments\n  version   prints the version\n\n" +
			"prog COMMAND --help explains one of them, with an example. Every flag has an environment variable:\n" +
			"--admin-listen is PROG_ADMIN_LISTEN; a flag wins.\n", ""},
	} {
		var out, errs bytes.Buffer
		status := program().Run(t.Context(), commands(program()), Streams{&out, &errs}, strings.Fields(row.args))
		if status != row.status || out.String() != row.out || errs.String() != row.err {
			t.Errorf("prog %s: status %d, stdout %q, stderr %q; want %d, %q, %q", row.args, status, out.String(),
				errs.String(), row.status, row.out, row.err)
		}
	}
}

// TestEnvironment: a variable stands in for a flag that is not given; spaces separate the values of
// a repeatable flag; an empty variable counts as none; all errors are reported at once.
func TestEnvironment(t *testing.T) {
	for _, row := range []struct {
		name string
		args string
		env  map[string]string
		want string // the values of --admin-listen, --words and --number, or the error
	}{
		{"nothing is set", "", nil, ":1 [] 7"},
		{"variables stand in for flags", "", map[string]string{"PROG_ADMIN_LISTEN": ":2", "PROG_NUMBER": "8"}, ":2 [] 8"},
		{"a flag wins", "--admin-listen :3", map[string]string{"PROG_ADMIN_LISTEN": ":2"}, ":3 [] 7"},
		{"spaces separate repeated values", "", map[string]string{"PROG_WORDS": " a  b "}, ":1 [a b] 7"},
		{"but only those", "", map[string]string{"PROG_ADMIN_LISTEN": "a b"}, "a b [] 7"},
		{"a repeatable flag replaces its variable", "--words c", map[string]string{"PROG_WORDS": "a b"}, ":1 [c] 7"},
		{"an empty variable is none", "", map[string]string{"PROG_NUMBER": ""}, ":1 [] 7"},
		{"each wrong variable is named", "", map[string]string{"PROG_NUMBER": "x", "PROG_SIZE": "y"},
			`PROG_NUMBER: "x" is no number; must be one, such as 10; PROG_SIZE: "y" is no number; must be one, such as 10`},
	} {
		fs := program().Flags("bare", "", "")
		listen := fs.String("admin-listen", ":1", "")
		number := fs.Int("number", 7, "")
		fs.Int("size", 0, "")
		var words List
		fs.Var(&words, "words", "")
		err := fs.FlagSet.Parse(strings.Fields(row.args))
		if err == nil {
			err = fs.Environment(func(name string) (string, bool) { v, ok := row.env[name]; return v, ok })
		}
		got := *listen + " [" + words.String() + "] " + fs.Lookup("number").Value.String()
		if err != nil {
			got = err.Error()
		}
		if got != row.want {
			t.Errorf("%s: %s, want %s (number %d)", row.name, got, row.want, *number)
		}
		if err != nil && !errors.As(err, new(Usage)) {
			t.Errorf("%s: %v is not a Usage", row.name, err)
		}
	}
}

// TestWithoutEnvironment: a program without a prefix reads no variables and mentions none.
func TestWithoutEnvironment(t *testing.T) {
	p := program()
	p.Env = ""
	fs := p.Flags("bare", "", "")
	listen := fs.String("admin-listen", ":1", "")
	if err := fs.Environment(func(string) (string, bool) { return ":2", true }); err != nil || *listen != ":1" {
		t.Errorf("%v, %s; want :1", err, *listen)
	}
	for _, args := range []string{"help", "bare --help"} {
		var out bytes.Buffer
		p.Run(t.Context(), commands(p), Streams{&out, &out}, strings.Fields(args))
		if strings.Contains(out.String(), "environment") || !strings.Contains(out.String(), "usage: prog ") {
			t.Errorf("prog %s prints %q", args, out.String())
		}
	}
}

// The help of a command with groups has each flag once, under the title of its group, in the order
// of the groups.
func TestGroups(t *testing.T) {
	p := &Program{Name: "prog"}
	f := p.Flags("cmd", "", "Does it.")
	f.Bool("first", false, "before any group")
	f.Begin("Cache")
	f.Bool("size", false, "of the cache")
	f.Bool("dir", false, "of the cache")
	f.Begin("Empty")
	f.Begin("Log")
	f.Bool("level", false, "of the log")
	var out strings.Builder
	f.help(&out)
	want := "flags:\n  --first \n        before any group\n\nCache:\n  --dir \n        of the cache\n  --size \n" +
		"        of the cache\n\nLog:\n  --level \n        of the log\n"
	if !strings.HasSuffix(out.String(), want) {
		t.Errorf("%s, want at the end %s", out.String(), want)
	}
}
