package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// A described is one word that a shell completes, with its description.
type described struct{ Name, Does string }

// flagLine is a flag in the help of a command; the next line describes it.
var flagLine = regexp.MustCompile(`(?m)^  --([a-z0-9-]+) .*\n        (.*)$`)

// helpOf returns the help of a command; empty for a command without flags.
func helpOf(c Command) string {
	var help bytes.Buffer
	if err := c.Run(context.Background(), Streams{&help, io.Discard}, []string{"--help"}); !errors.Is(err, ErrHelp) {
		return ""
	}
	return help.String()
}

// flagsOf returns the flags of a command, from its help.
func flagsOf(c Command) (flags []described) {
	for _, m := range flagLine.FindAllStringSubmatch(helpOf(c), -1) {
		flags = append(flags, described{"--" + m[1], m[2]})
	}
	return flags
}

// Documented returns commands and two more, which describe them: completion and man.
func (p *Program) Documented(commands []Command) []Command {
	var all []Command
	page := func(_ context.Context, std Streams, args []string) error {
		if err := p.Flags("man", "", "Prints the manual page, for man(1).\n\n  "+p.Name+" man | man -l -").Parse(std, args); err != nil {
			return err
		}
		return p.manual(std.Out, all)
	}
	script := func(_ context.Context, std Streams, args []string) error {
		fs := p.Flags("completion", strings.Join(shells, "|"),
			"Prints a script that makes a shell complete commands and flags.\n\n  "+p.Name+
				" completion bash >~/.local/share/bash-completion/completions/"+p.Name)
		if err := fs.Parse(std, args); err != nil {
			return err
		}
		return p.completion(std.Out, all, fs.Arg(0))
	}
	all = append(slices.Clone(commands), Command{"completion",
		"print a script that makes a shell complete commands and flags", script}, Command{"man", "print the manual page", page})
	return all
}

// shells are those for which there is a script.
var shells = []string{"bash", "zsh", "fish"}

func (p *Program) completion(w io.Writer, commands []Command, shell string) error {
	write := map[string]func(io.Writer, *Program, []Command){"bash": bash, "zsh": zsh, "fish": fish}[shell]
	if write == nil {
		return Usage(fmt.Sprintf("no completion for %q; must be %s", shell, strings.Join(shells, ", ")))
	}
	write(w, p, commands)
	return nil
}

func bash(w io.Writer, p *Program, commands []Command) {
	var names []string
	cases := ""
	for _, c := range commands {
		names = append(names, c.Name)
		var own []string
		for _, f := range flagsOf(c) {
			own = append(own, f.Name)
		}
		cases += fmt.Sprintf("    %s) words='%s' ;;\n", c.Name, strings.Join(own, " "))
	}
	function := "_" + strings.ReplaceAll(p.Name, "-", "_")
	fmt.Fprintf(w, `# bash completion of %[1]s: source it, or put it into /usr/share/bash-completion/completions/%[1]s
%[2]s() {
  local words='' current=${COMP_WORDS[COMP_CWORD]}
  COMPREPLY=()
  if [ "$COMP_CWORD" = 1 ]; then
    COMPREPLY=($(compgen -W '%[3]s' -- "$current"))
    return
  fi
  case $current in -*) ;; *) return ;; esac
  case ${COMP_WORDS[1]} in
%[4]s  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F %[2]s %[1]s
`, p.Name, function, strings.Join(names, " "), cases)
}

// quoted makes a text one word of zsh and fish, within single quotes.
func quoted(s string) string {
	return strings.NewReplacer(`\`, `\\`, "'", `’`, "[", "(", "]", ")", ":", `\:`).Replace(s)
}

func zsh(w io.Writer, p *Program, commands []Command) {
	var list, cases strings.Builder
	for _, c := range commands {
		fmt.Fprintf(&list, "    '%s:%s'\n", c.Name, quoted(c.Does))
		fmt.Fprintf(&cases, "    %s) _arguments", c.Name)
		for _, f := range flagsOf(c) {
			fmt.Fprintf(&cases, " \\\n      '*%s[%s]:value:_files'", f.Name, quoted(f.Does))
		}
		fmt.Fprintf(&cases, " \\\n      '*:argument:_files' ;;\n")
	}
	fmt.Fprintf(w, `#compdef %[1]s
# zsh completion of %[1]s: put it as _%[1]s into a folder of $fpath
local -a commands=(
%[2]s)
if (( CURRENT == 2 )); then
  _describe command commands
  return
fi
local command=$words[2]
shift words
(( CURRENT-- ))
case $command in
%[3]sesac
`, p.Name, list.String(), cases.String())
}

func fish(w io.Writer, p *Program, commands []Command) {
	escape := strings.NewReplacer(`\`, `\\`, "'", `\'`)
	fmt.Fprintf(w, "# fish completion of %[1]s: put it into ~/.config/fish/completions/%[1]s.fish\n", p.Name)
	for _, c := range commands {
		fmt.Fprintf(w, "complete -c %s -n __fish_use_subcommand -f -a %s -d '%s'\n", p.Name, c.Name, escape.Replace(c.Does))
		for _, f := range flagsOf(c) {
			fmt.Fprintf(w, "complete -c %s -n '__fish_seen_subcommand_from %s' -r -l %s -d '%s'\n", p.Name, c.Name,
				strings.TrimPrefix(f.Name, "--"), escape.Replace(f.Does))
		}
	}
}
