package cli

import (
	"io"
	"strings"
	"text/template"
)

// page is the manual page in the language of mdoc(7).
var page = template.Must(template.New("man").Funcs(template.FuncMap{"text": roff, "help": helpOf, "body": body, "flags": flagsOf}).Parse(`.Dd $Mdocdate$
.Dt {{.Title}} 1
.Os
.Sh NAME
.Nm {{.Program.Name}}
.Nd {{text .Program.Does}}
.Sh SYNOPSIS
.Nm
.Ar command
.Op Ar flags
.Sh DESCRIPTION
{{if .Program.Env}}Every flag has an environment variable:
.Fl -admin-listen
is
.Ev {{.Program.Env}}_ADMIN_LISTEN .
A flag wins.
{{end}}{{range .Commands}}{{if help .}}.Ss {{.Name}}
.Bd -literal
{{text (body .)}}
.Ed
{{if flags .}}.Bl -tag -width indent
{{range flags .}}.It Fl {{slice .Name 1}}
{{text .Does}}
{{end}}.El
{{end}}{{else}}.Ss {{.Name}}
{{text .Does}}
{{end}}{{end}}.Sh EXIT STATUS
0 for success, 2 for a wrong call, 1 for every other failure.
`))

// manual writes the manual page.
func (p *Program) manual(w io.Writer, commands []Command) error {
	return page.Execute(w, map[string]any{"Program": p, "Title": strings.ToUpper(p.Name), "Commands": commands})
}

// body returns the help of a command before its flags.
func body(c Command) string {
	before, _, _ := strings.Cut(helpOf(c), "\nflags")
	return strings.TrimSpace(before)
}

// roff escapes the signs of roff(7): backslashes, and a dot or an apostrophe at the beginning of a
// line.
func roff(s string) string {
	lines := strings.Split(strings.ReplaceAll(s, `\`, `\e`), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
