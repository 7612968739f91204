package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Flags are the flags of one command. Parse reads them from the command line, then from the
// environment.
type Flags struct {
	*flag.FlagSet
	program *Program
	usage   string
	explain string
	args    []string // the arguments that are no flags
	groups  []group  // for help
}

// A group is a part of the flags of a command, with a title in its help.
type group struct {
	title string
	flags map[string]bool
}

// Begin begins a group: flags that are defined from now on belong to it. Flags from before the
// first group have none.
func (f *Flags) Begin(title string) {
	f.fill()
	if len(f.groups) == 0 {
		f.groups = append(f.groups, group{title: "", flags: f.ungrouped()})
	}
	f.groups = append(f.groups, group{title, map[string]bool{}})
}

// fill adds the flags that have no group yet to the last group.
func (f *Flags) fill() {
	if n := len(f.groups); n > 0 {
		maps.Copy(f.groups[n-1].flags, f.ungrouped())
	}
}

func (f *Flags) ungrouped() map[string]bool {
	rest := map[string]bool{}
	f.VisitAll(func(fl *flag.Flag) {
		if !slices.ContainsFunc(f.groups, func(g group) bool { return g.flags[fl.Name] }) {
			rest[fl.Name] = true
		}
	})
	return rest
}

// Flags returns an empty set of flags for a command. Usage names the arguments that follow the
// flags; with an empty usage Parse rejects arguments. Explain says what the command does, and ends
// with an example.
func (p *Program) Flags(command, usage, explain string) *Flags {
	fs := flag.NewFlagSet(command, flag.ContinueOnError)
	fs.SetOutput(io.Discard) // Run prints each error once
	return &Flags{FlagSet: fs, program: p, usage: usage, explain: strings.TrimSpace(explain)}
}

// Parse reads args, in which flags may also follow arguments, up to "--"; then it fills the flags
// that args did not set from the environment. With --help it prints the help of the command on
// std.Out and returns ErrHelp. Every other error is a Usage. Variables with the prefix of the
// program that no flag has are a warning on std.Err, or an error with --strict-env.
func (f *Flags) Parse(std Streams, args []string) error {
	err := f.interspersed(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		f.help(std.Out)
		return ErrHelp
	case err != nil:
		return Usage(fmt.Sprintf("%s; see %s %s --help", f.explainFlag(err), f.program.Name, f.Name()))
	case f.usage == "" && f.NArg() > 0:
		return Usage(fmt.Sprintf("%s %s takes no arguments but flags; see --help", f.program.Name, f.Name()))
	}
	if err := f.Environment(os.LookupEnv); err != nil {
		return err
	}
	return f.checkVariables(std.Err, os.Environ())
}

// interspersed parses args although package flag stops at the first argument.
func (f *Flags) interspersed(args []string) error {
	for f.args = nil; ; {
		if err := f.FlagSet.Parse(args); err != nil {
			return err
		}
		rest := f.FlagSet.Args()
		ended := len(rest) < len(args) && args[len(args)-len(rest)-1] == "--"
		if ended || len(rest) == 0 {
			f.args = append(f.args, rest...)
			return nil
		}
		f.args, args = append(f.args, rest[0]), rest[1:]
	}
}

// Args returns the arguments that are no flags.
func (f *Flags) Args() []string { return f.args }

// NArg returns the number of arguments that are no flags.
func (f *Flags) NArg() int { return len(f.args) }

// Arg returns argument i, or "" if there are fewer.
func (f *Flags) Arg(i int) string {
	if i < 0 || i >= len(f.args) {
		return ""
	}
	return f.args[i]
}

// Given returns the names of the flags that were set, on the command line or by the environment.
func (f *Flags) Given() map[string]bool {
	given := map[string]bool{}
	f.Visit(func(fl *flag.Flag) { given[fl.Name] = true })
	return given
}

// Environment sets each flag that is not set yet from its variable; an empty variable counts as
// none. It runs after the command line is read: the other way round, a repeatable flag would add
// its values to those of the variable instead of replacing them.
func (f *Flags) Environment(lookup func(string) (string, bool)) error {
	if f.program.Env == "" {
		return nil
	}
	given := f.Given()
	var errs []error
	f.VisitAll(func(fl *flag.Flag) {
		name := f.program.Variable(fl.Name)
		value, set := lookup(name)
		if given[fl.Name] || !set || value == "" {
			return
		}
		for _, v := range values(fl, value) {
			if err := f.Set(fl.Name, v); err != nil {
				if isVague(err.Error()) {
					err = wrongValue(fl, strconv.Quote(v))
				}
				errs = append(errs, fmt.Errorf("%s: %w", name, err))
			}
		}
	})
	if len(errs) > 0 {
		return Usage(OneLine(errors.Join(errs...)))
	}
	return nil
}

// Variable returns the name of a flag's environment variable: with the prefix ICONEDGE,
// --admin-listen is ICONEDGE_ADMIN_LISTEN.
func (p *Program) Variable(flag string) string {
	return p.Env + "_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

func (p *Program) exampleVariable() string {
	const example = "admin-listen"
	return "--" + example + " is " + p.Variable(example)
}

// values splits the value of a variable at its spaces if the flag is repeatable.
func values(fl *flag.Flag, value string) []string {
	if r, ok := fl.Value.(interface{ Repeatable() bool }); ok && r.Repeatable() {
		return strings.Fields(value)
	}
	return []string{value}
}

func (f *Flags) help(w io.Writer) {
	usage := ""
	if f.usage != "" {
		usage = " " + f.usage
	}
	fmt.Fprintf(w, "usage: %s %s [flags]%s\n\n%s\n\nflags", f.program.Name, f.Name(), usage, f.explain)
	if f.program.Env != "" {
		fmt.Fprintf(w, " (each has an environment variable: %s)", f.program.exampleVariable())
	}
	fmt.Fprintln(w, ":")
	if f.fill(); len(f.groups) == 0 {
		f.list(w, f.ungrouped())
	}
	for _, g := range f.groups {
		if len(g.flags) == 0 {
			continue
		}
		if g.title != "" {
			fmt.Fprintf(w, "\n%s:\n", g.title)
		}
		f.list(w, g.flags)
	}
}

// list writes the help of some flags.
func (f *Flags) list(w io.Writer, names map[string]bool) {
	f.VisitAll(func(fl *flag.Flag) {
		if !names[fl.Name] {
			return
		}
		kind, text := flag.UnquoteUsage(fl)
		fmt.Fprintf(w, "  --%s %s\n        %s", fl.Name, kind, strings.ReplaceAll(text, "\n", "\n        "))
		switch fl.DefValue {
		case "", "0", "0s", "false":
		default:
			fmt.Fprintf(w, " (default %s)", fl.DefValue)
		}
		fmt.Fprintln(w)
	})
}

// Preset replaces the default of a flag. It panics if the flag rejects the value.
func (f *Flags) Preset(name, value string) {
	fl := f.Lookup(name)
	if err := fl.Value.Set(value); err != nil {
		panic(err)
	}
	fl.DefValue = value
}

// List is the value of a flag that may be repeated. In the environment, spaces separate the values.
type List []string

func (l *List) String() string { return strings.Join(*l, " ") }

// Set adds a value.
func (l *List) Set(value string) error {
	*l = append(*l, value)
	return nil
}

// Repeatable reports that several values may be given.
func (l *List) Repeatable() bool { return true }
