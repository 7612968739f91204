//go:build linux

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
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

// A flagSet reads the flags of one command.
type flagSet struct {
	*flag.FlagSet
	explain string // what it does, and an example
}

func newFlags(name, explain string) *flagSet {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(io.Discard) // errors are printed once, by call
	return &flagSet{fs, strings.TrimSpace(explain)}
}

// parse reads args. No command takes arguments besides flags.
func (f *flagSet) parse(std streams, args []string) error {
	err := f.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		f.help(std.out)
		return errHelp
	case err != nil:
		return errUsage(oneLine(err) + "; see loadtest " + f.Name() + " --help")
	case f.NArg() > 0:
		return errUsage("loadtest " + f.Name() + " takes no arguments but flags; see --help")
	}
	return nil
}

func (f *flagSet) help(w io.Writer) {
	fmt.Fprintf(w, "usage: loadtest %s [flags]\n\n%s\n\nflags:\n", f.Name(), f.explain)
	f.VisitAll(func(fl *flag.Flag) {
		kind, text := flag.UnquoteUsage(fl)
		fmt.Fprintf(w, "  --%s %s\n        %s", fl.Name, kind, text)
		if fl.DefValue != "" && fl.DefValue != "0" && fl.DefValue != "0s" && fl.DefValue != "false" {
			fmt.Fprintf(w, " (default %s)", fl.DefValue)
		}
		fmt.Fprintln(w)
	})
}

// texts are the values of a flag that may be repeated.
type texts []string

func (t *texts) String() string { return strings.Join(*t, " ") }

// Set adds a value.
func (t *texts) Set(s string) error {
	*t = append(*t, s)
	return nil
}
