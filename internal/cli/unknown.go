package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"
)

// kubernetes matches the variables that Kubernetes sets for each service in the namespace of a pod,
// without their prefix: a service named iconedge-edge gives ICONEDGE_EDGE_SERVICE_HOST,
// ICONEDGE_EDGE_PORT_80_TCP_ADDR and others.
var kubernetes = regexp.MustCompile(`(^|_)(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT(_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$`)

// unknown returns an error for each variable of the environment that has the prefix of the program
// and is not known. The error repeats no value, because that may be a secret.
func (p *Program) unknown(environ []string) (all []error) {
	for _, line := range environ {
		name, _, _ := strings.Cut(line, "=")
		rest, ours := strings.CutPrefix(name, p.Env+"_")
		if p.Env == "" || len(p.Variables) == 0 || !ours || slices.Contains(p.Variables, name) || kubernetes.MatchString(rest) {
			continue
		}
		all = append(all, fmt.Errorf("no flag has the environment variable %s%s", name, didYouMean(name, p.Variables)))
	}
	return all
}

// checkVariables writes a warning to w for each unknown variable; with the flag --strict-env, the
// unknown variables are an error.
func (f *Flags) checkVariables(w io.Writer, environ []string) error {
	if err := f.Strict(environ); err != nil {
		return err
	}
	for _, err := range f.program.unknown(environ) {
		fmt.Fprintf(w, "%s: warning: %v\n", f.program.Name, err)
	}
	return nil
}

// Strict returns an error if there are unknown variables and the flag --strict-env is set, which
// may have happened after Parse, by a file.
func (f *Flags) Strict(environ []string) error {
	strict := f.Lookup("strict-env")
	if strict == nil || strict.Value.String() != "true" {
		return nil
	}
	if all := f.program.unknown(environ); len(all) > 0 {
		return Usage(OneLine(errors.Join(all...)))
	}
	return nil
}

// undefined is how the errors of package flag begin for a flag that does not exist.
const undefined = "flag provided but not defined: -"

// invalid matches the errors of package flag for the value of a flag.
var invalid = regexp.MustCompile(`^invalid (?:boolean )?value (".*") for (?:flag )?-([a-z0-9-]+): (.*)$`)

// isVague reports whether an error of package flag does not say what the value must be.
func isVague(err string) bool { return err == "parse error" || err == "value out of range" }

// explainFlag returns an error of package flag in the words of the person who reads it.
func (f *Flags) explainFlag(err error) string {
	if name, found := strings.CutPrefix(err.Error(), undefined); found {
		var names []string
		f.VisitAll(func(fl *flag.Flag) { names = append(names, "--"+fl.Name) })
		return "no flag --" + name + didYouMean("--"+name, names)
	}
	if m := invalid.FindStringSubmatch(OneLine(err)); m != nil {
		if isVague(m[3]) {
			return fmt.Sprintf("--%s: %s", m[2], wrongValue(f.Lookup(m[2]), m[1]))
		}
		return fmt.Sprintf("--%s: %s", m[2], m[3])
	}
	return OneLine(err)
}

// wrongValue returns an error of the value of a flag of one of the types of package flag.
func wrongValue(fl *flag.Flag, quoted string) error {
	g, _ := fl.Value.(flag.Getter)
	switch g.Get().(type) {
	case time.Duration:
		return fmt.Errorf("%s is no time; must be a number with ms, s, m or h, such as 15s or 1h30m", quoted)
	case bool:
		return fmt.Errorf("%s is unknown; must be true or false", quoted)
	}
	return fmt.Errorf("%s is no number; must be one, such as 10", quoted)
}
