// Package cli runs programs that consist of commands: it finds the command, reads its flags and
// their environment variables, prints help, and chooses the exit status. iconedge and loadtest
// share it. It decides nothing about any one command, and imports only the standard library.
//
// Errors are one line on stderr. The exit status is 0 for success and for help, 2 for a call that
// is wrong (Usage), and 1 for every other failure.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// A Program has a name and commands. Its commands are an argument of Run rather than a field,
// because they need the Program for their flags.
type Program struct {
	Name string // the first word of the command line
	Does string // a sentence, for help
	Env  string // prefix of the flags' environment variables; empty if the flags have none
	// Variables are the environment variables of the flags of all commands; none: variables that no
	// flag has are ignored.
	Variables []string
}

// A Command is the second word of the command line. Run returns nil, ErrHelp, a Usage for a wrong
// call, or another error.
type Command struct {
	Name, Does string
	Run        func(ctx context.Context, std Streams, args []string) error
}

// Streams are the outputs of a command: results go to Out, everything else to Err.
type Streams struct{ Out, Err io.Writer }

// Usage is an error of the caller: a command, flag or argument that is wrong or missing.
type Usage string

func (u Usage) Error() string { return string(u) }

// ErrHelp means that a command has printed its help and has nothing else to do.
var ErrHelp = errors.New("help")

// ErrReported means that a call is wrong and that the command has printed why, one line an error.
// The exit status is 2.
var ErrReported = errors.New("reported")

// Run runs the command that args name, prints its error, and returns the exit status.
func (p *Program) Run(ctx context.Context, commands []Command, std Streams, args []string) int {
	err := p.dispatch(ctx, commands, std, args)
	switch {
	case err == nil, errors.Is(err, ErrHelp):
		return 0
	case errors.Is(err, ErrReported):
		return 2
	case errors.As(err, new(Usage)):
		fmt.Fprintf(std.Err, "%s: %s\n", p.Name, OneLine(err))
		return 2
	case errors.Is(err, context.Canceled):
		fmt.Fprintf(std.Err, "%s: stopped\n", p.Name)
	default:
		fmt.Fprintf(std.Err, "%s: %s\n", p.Name, OneLine(err))
	}
	return 1
}

func (p *Program) dispatch(ctx context.Context, commands []Command, std Streams, args []string) error {
	if len(args) == 0 {
		return Usage("no command given; see " + p.Name + " help")
	}
	name := args[0]
	switch name {
	case "help", "-h", "-help", "--help":
		p.help(std.Out, commands)
		return nil
	case "-version", "--version":
		name, args = "version", args[:1] // where the program has that command
	}
	for _, c := range commands {
		if c.Name == name {
			return c.Run(ctx, std, args[1:])
		}
	}
	var names []string
	for _, c := range commands {
		names = append(names, c.Name)
	}
	return Usage(fmt.Sprintf("no command %q%s; see %s help", args[0], strings.TrimSuffix(didYouMean(args[0], names), "?"), p.Name))
}

func (p *Program) help(w io.Writer, commands []Command) {
	fmt.Fprintf(w, "%s\n\nusage: %s COMMAND [flags]\n\n", p.Does, p.Name)
	for _, c := range commands {
		fmt.Fprintf(w, "  %-8s  %s\n", c.Name, c.Does)
	}
	fmt.Fprintf(w, "\n%s COMMAND --help explains one of them, with an example.", p.Name)
	if p.Env != "" {
		fmt.Fprintf(w, " Every flag has an environment variable:\n%s; a flag wins.", p.exampleVariable())
	}
	fmt.Fprintln(w)
}

// OneLine returns the text of an error as one line. Joined errors are separated by semicolons.
func OneLine(err error) string {
	return strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "; ")
}
