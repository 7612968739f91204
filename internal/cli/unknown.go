package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
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
	all := f.program.unknown(environ)
	if strict := f.Lookup("strict-env"); strict != nil && strict.Value.String() == "true" && len(all) > 0 {
		return Usage(OneLine(errors.Join(all...)))
	}
	for _, err := range all {
		fmt.Fprintf(w, "%s: warning: %v\n", f.program.Name, err)
	}
	return nil
}

// undefined is how the errors of package flag begin for a flag that does not exist.
const undefined = "flag provided but not defined: -"

// explainFlag returns an error of package flag, with the nearest flag if there is no such one.
func (f *Flags) explainFlag(err error) string {
	name, found := strings.CutPrefix(err.Error(), undefined)
	if !found {
		return OneLine(err)
	}
	var names []string
	f.VisitAll(func(fl *flag.Flag) { names = append(names, "--"+fl.Name) })
	return "no flag --" + name + didYouMean("--"+name, names)
}
