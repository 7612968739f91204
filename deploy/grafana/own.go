package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// boardsAt is the address of Grafana in dashboard_url: that of the Compose file.
const boardsAt = "http://localhost:3000"

// An own fleet has other names of jobs, addresses and capacities than the files in this folder.
type own struct {
	edge, shield, origin string  // jobs
	runbooks, boards     string  // addresses
	bits                 float64 // what a node can send in a second
}

// replace returns the text of rules or of a dashboard with these names. A quote is one of JSON in
// dashboards.
func (o own) replace(text string) string {
	var pairs []string
	for _, quote := range []string{`"`, `\"`} {
		for from, to := range map[string]string{
			`job=` + quote + `iconedge-edge` + quote:           `job=` + quote + o.edge + quote,
			`job=` + quote + `iconedge-shield` + quote:         `job=` + quote + o.shield + quote,
			`job=` + quote + `iconedge-origin` + quote:         `job=` + quote + o.origin + quote,
			`job=~` + quote + `iconedge-(edge|shield)` + quote: `job=~` + quote + o.edge + `|` + o.shield + quote,
			`job=~` + quote + `iconedge-.+` + quote:            `job=~` + quote + o.edge + `|` + o.shield + `|` + o.origin + quote,
		} {
			pairs = append(pairs, from, to)
		}
	}
	pairs = append(pairs, runbooks, strings.TrimSuffix(o.runbooks, "/")+"/", boardsAt+"/", strings.TrimSuffix(o.boards, "/")+"/",
		"expr: vector(1e9)", "expr: vector("+strconv.FormatFloat(o.bits, 'g', -1, 64)+")")
	return strings.NewReplacer(pairs...).Replace(text)
}

// writeOwn writes rules and dashboards for an own fleet into dir, from those below the folder
// deploy.
func writeOwn(o own, deploy, dir string) error {
	for _, pattern := range []string{filepath.Join("prometheus", "rules", "*.rules.yaml"),
		filepath.Join("grafana", "dashboards", "*.json")} {
		files, err := filepath.Glob(filepath.Join(deploy, pattern))
		if err != nil || len(files) == 0 {
			return cmp.Or(err, fmt.Errorf("no files %s below %s; run it in the root of the repository", pattern, deploy))
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(dir, filepath.Base(file)), []byte(o.replace(string(text))), 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

// ownFlags defines the flags of an own fleet.
func ownFlags(fs *flag.FlagSet) (*own, *string) {
	o := &own{}
	fs.StringVar(&o.edge, "edge", "iconedge-edge", "`job` of the edges")
	fs.StringVar(&o.shield, "shield", "iconedge-shield", "`job` of the shields")
	fs.StringVar(&o.origin, "origin", "iconedge-origin", "`job` of the origins")
	fs.StringVar(&o.runbooks, "runbooks", runbooks, "`URL` of the folder with the runbooks")
	fs.StringVar(&o.boards, "boards", boardsAt, "`URL` of Grafana, for the links of alerts")
	fs.Float64Var(&o.bits, "bits", 1e9, "what a node can send, in `bit/s`")
	return o, fs.String("out", "", "existing `folder` for the rules and dashboards of an own fleet (default: write "+
		"the dashboards of this repository)")
}
