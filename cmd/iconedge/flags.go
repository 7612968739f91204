package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
)

// errUsage is a wrong call of the program: exit status 2.
type errUsage string

func (e errUsage) Error() string { return string(e) }

// errHelp says that help was asked for and has been printed.
var errHelp = errors.New("help")

// oneLine is the words of an error in one line, also where several were joined.
func oneLine(err error) string {
	return strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "; ")
}

// A flagSet reads the flags of one command, then the environment. This is the one place that reads the environment for flags.
type flagSet struct {
	*flag.FlagSet
	usage   string // arguments after the flags
	explain string // what it does, and an example
}

func newFlags(name, usage, explain string) *flagSet {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(io.Discard) // errors are printed once, by call
	return &flagSet{fs, usage, strings.TrimSpace(explain)}
}

// parse reads args, and fills from the environment what they did not give. It must come after: before, a flag that may be
// repeated would add to the variable's values.
func (f *flagSet) parse(std streams, args []string) error {
	err := f.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		f.help(std.out)
		return errHelp
	}
	if err != nil {
		return errUsage(oneLine(err) + "; see iconedge " + f.Name() + " --help")
	}
	return f.environment(os.LookupEnv)
}

func (f *flagSet) environment(lookup func(string) (string, bool)) (err error) {
	given := map[string]bool{}
	f.Visit(func(fl *flag.Flag) { given[fl.Name] = true })
	f.VisitAll(func(fl *flag.Flag) {
		value, set := lookup(variable(fl.Name))
		if given[fl.Name] || !set || value == "" {
			return
		}
		for _, v := range values(fl, value) {
			if e := f.Set(fl.Name, v); e != nil {
				err = errors.Join(err, fmt.Errorf("%s: %w", variable(fl.Name), e))
			}
		}
	})
	if err != nil {
		return errUsage(oneLine(err))
	}
	return nil
}

// variable is the environment variable of a flag: --admin-listen is ICONEDGE_ADMIN_LISTEN.
func variable(flag string) string {
	return "ICONEDGE_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// values are those of a variable: a repeatable flag's are separated by spaces.
func values(fl *flag.Flag, value string) []string {
	if r, ok := fl.Value.(interface{ Repeatable() bool }); ok && r.Repeatable() {
		return strings.Fields(value)
	}
	return []string{value}
}

func (f *flagSet) help(w io.Writer) {
	fmt.Fprintf(w, "usage: iconedge %s [flags] %s\n\n%s\n\nflags (each has an environment variable: --admin-listen is ICONEDGE_ADMIN_LISTEN):\n", f.Name(), f.usage, f.explain)
	f.VisitAll(func(fl *flag.Flag) {
		kind, text := flag.UnquoteUsage(fl)
		fmt.Fprintf(w, "  --%s %s\n        %s", fl.Name, kind, strings.ReplaceAll(text, "\n", "\n        "))
		if fl.DefValue != "" && fl.DefValue != "0" && fl.DefValue != "false" {
			fmt.Fprintf(w, " (default %s)", fl.DefValue)
		}
		fmt.Fprintln(w)
	})
}

// preset gives a flag another default than the room that defines it has.
func (f *flagSet) preset(name, value string) {
	fl := f.Lookup(name)
	if err := fl.Value.Set(value); err != nil {
		panic(err) // a default that its own flag refuses
	}
	fl.DefValue = value
}

// logFlags adds the flags by which every long-running command logs, and returns what makes the logger.
func (f *flagSet) logFlags(std streams) func() (*slog.Logger, error) {
	format := f.String("log-format", "text", "`form` of the log on stderr: text or json")
	level := f.String("log-level", "info", "least `level` that is logged: debug, info, warn or error")
	return func() (*slog.Logger, error) {
		var l slog.Level
		if err := l.UnmarshalText([]byte(*level)); err != nil {
			return nil, errUsage("--log-level must be debug, info, warn or error")
		}
		options := &slog.HandlerOptions{Level: l}
		switch *format {
		case "text":
			return slog.New(slog.NewTextHandler(std.err, options)), nil
		case "json":
			return slog.New(slog.NewJSONHandler(std.err, options)), nil
		}
		return nil, errUsage("--log-format must be text or json")
	}
}

// dataDir is where `run` keeps everything unless told otherwise: the user's data folder (XDG Base Directory Specification).
func dataDir() string {
	base := os.Getenv("XDG_DATA_HOME")
	if !filepath.IsAbs(base) {
		home, err := os.UserHomeDir()
		if err != nil {
			home = "."
		}
		base = filepath.Join(home, ".local", "share")
	}
	return filepath.Join(base, "iconedge")
}

// storeOf is the address of the store that `run` keeps under its data folder.
func storeOf(data string) string { return "dir:" + filepath.Join(data, "store") }
